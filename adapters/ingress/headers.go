package ingress

import (
	"net/http"
	"strings"

	"berth/adapters/contract"
	"berth/adapters/ingress/upstream"
)

// passed are the headers that go on to the control plane. Content-Length, Host and the assertion are written anew; every
// other header stays here, thus every way to say who one is (I2).
//
//nolint:gochecknoglobals // an immutable table
var passed = [...]string{
	"Accept", "Content-Type", contract.HeaderIdempotencyKey, "If-None-Match", contract.HeaderTraceparent, "Tracestate", "User-Agent",
	contract.HeaderRequestID,
}

// shaken are those of a WebSocket's opening handshake (RFC 6455 §11.3).
//
//nolint:gochecknoglobals // an immutable table
var shaken = [...]string{"Origin", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version"}

// pass lists the headers of a request that go on. What Connection names is meant for this hop only (RFC 9110 §7.6.1).
func pass(r *http.Request, fields []upstream.Field, upgrade bool) []upstream.Field {
	hop := r.Header["Connection"]
	for _, name := range passed {
		for _, v := range r.Header[name] {
			if len(hop) == 0 || !hasToken(hop, name) {
				fields = append(fields, upstream.Field{Name: name, Value: v})
			}
		}
	}
	if upgrade {
		for _, name := range shaken {
			for _, v := range r.Header[name] {
				fields = append(fields, upstream.Field{Name: name, Value: v})
			}
		}
	}
	return fields
}

// claims tells whether a header, in whatever spelling, says who sent a request: programs behind a proxy believe such.
func claims(name string) bool {
	if len(name) < len("via") {
		return false
	}
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	if name == "forwarded" || name == "x-real-ip" || name == "via" || name == "client-cert" || name == "client-cert-chain" {
		return true
	}
	for _, p := range [...]string{"berth-", "x-berth-", "x-forwarded-", "x-client-cert", "x-ssl-", "ssl-client-", "x-spiffe", "x-remote-", "remote-"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// countClaims counts the headers of a request that say who sent it, none of which goes on.
func countClaims(h http.Header) (n int) {
	for name, values := range h {
		if claims(name) {
			n += len(values)
		}
	}
	return n
}

// hopByHop are the headers of an answer that are about its own connection (RFC 9110 §7.6.1).
//
//nolint:gochecknoglobals // an immutable table
var hopByHop = [...]string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// giveBack takes over the headers of an answer for its client. An assertion never goes to anybody but the control plane.
func giveBack(to, from http.Header) {
	hop := from["Connection"]
	for name, values := range from {
		if claims(name) || len(hop) > 0 && hasToken(hop, name) {
			continue
		}
		to[name] = values
	}
	for _, name := range hopByHop {
		delete(to, name)
	}
}
