package peering

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"berth/adapters/contract"
	"berth/ports/authority"
)

// passed are the headers of a device's request that go on. All else stays here: what is about this hop, what says who somebody is, and
// what nobody on the other side asks for.
//
//nolint:gochecknoglobals // an immutable table
var passed = [...]string{
	"Accept", "Authorization", "Content-Range", "Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range",
	"If-Unmodified-Since", "Origin", "Range", contract.HeaderTraceparent, "Tracestate",
}

// shaken are those of a WebSocket's opening handshake (RFC 6455 §11.3). Extensions are not among them: what the two ends agree
// on concerns nobody in between, and none is used.
//
//nolint:gochecknoglobals // an immutable table
var shaken = [...]string{"Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version"}

// pass is the header of a request on its way to the peer. What Connection names is meant for the hop before (RFC 9110 §7.6.1).
func pass(r *http.Request, to authority.Route, upgrade bool) http.Header {
	out := http.Header{
		contract.ForwardedGeneration: {strconv.FormatInt(to.Generation, 10)},
		"User-Agent":                 {""}, // net/http's own is not the device's
	}
	for _, name := range passed {
		if v := r.Header[name]; len(v) > 0 && !names(r.Header, name) {
			out[name] = v
		}
	}
	if !upgrade {
		return out
	}
	for _, name := range shaken {
		if v := r.Header[name]; len(v) > 0 {
			out[name] = v
		}
	}
	out["Connection"], out["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	return out
}

// names says whether a header's Connection lists a name.
func names(h http.Header, name string) bool {
	return slices.ContainsFunc(h["Connection"], func(list string) bool {
		for element := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.Trim(element, " \t"), name) {
				return true
			}
		}
		return false
	})
}

// upgrades says whether a request asks for a WebSocket.
func upgrades(r *http.Request) bool {
	return r.Method == http.MethodGet && names(r.Header, "Upgrade") && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// hopByHop are the headers of an answer that are about its own connection (RFC 9110 §7.6.1), and what nodes say to one another.
//
//nolint:gochecknoglobals // an immutable table
var hopByHop = [...]string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", contract.ForwardedGeneration,
}

// giveBack takes over the header of an answer for the device.
func giveBack(to, from http.Header) {
	for name, values := range from {
		if !slices.Contains(hopByHop[:], name) && !names(from, name) {
			to[name] = values
		}
	}
}
