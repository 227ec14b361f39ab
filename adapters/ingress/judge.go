package ingress

import (
	"net/http"
	"strings"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/identity"
)

// prefix begins every target that is passed on. No other spelling of it gets past identity.CheckTarget.
const prefix = "/internal/v1/"

// maxHeader bounds a request's header, in bytes. The contract's bound leaves room for a browser; a node needs little.
const maxHeader = 32 << 10

// judge refuses a request that is not in the one form that nodes use (I2, I3). net/http has refused what it can not read,
// and each of these closes the connection.
func judge(r *http.Request) error {
	if err := judgeFraming(r); err != nil {
		return err
	}
	if err := identity.CheckTarget(r.RequestURI); err != nil {
		return closing(err)
	}
	if !validHost(r.Host) {
		return form(http.StatusBadRequest, "host_malformed", "the Host header is not a name or an address with at most a port")
	}
	if !strings.HasPrefix(r.RequestURI, prefix) {
		return fault.New(fault.NotFound, "path_unknown", "there is nothing at this path")
	}
	if err := judgeUpgrade(r); err != nil {
		return err
	}
	return judgeRepeats(r.Header)
}

// judgeFraming looks at what says where a request ends, and what it means.
func judgeFraming(r *http.Request) error {
	switch {
	case r.ProtoMajor != 1 || r.ProtoMinor != 1:
		return form(http.StatusHTTPVersionNotSupported, "http_version_unsupported", "only HTTP/1.1 is spoken here")
	case !methods[r.Method]:
		return form(http.StatusMethodNotAllowed, "method_not_allowed", "this method is not taken here")
	case len(r.TransferEncoding) > 0 || r.ContentLength < 0:
		return form(http.StatusLengthRequired, "length_required", "a body comes with its Content-Length, and without a transfer encoding").
			curable("send the body's length in Content-Length")
	case r.ContentLength > contract.MaxBody:
		return form(http.StatusRequestEntityTooLarge, "body_too_large", "a body has at most %d bytes", contract.MaxBody)
	case given(r.Header, "Content-Encoding"), given(r.Header, "Trailer"), len(r.Trailer) > 0:
		return closing(fault.New(fault.Forbidden, "encoding_refused", "content encodings and trailers are refused here"))
	}
	return nil
}

// curable says what would make the request succeed.
func (r *refusal) curable(cure string) *refusal {
	r.fault = r.fault.Curable("%s", cure)
	return r
}

//nolint:gochecknoglobals // an immutable table
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true}

func given(h http.Header, name string) bool {
	_, ok := h[name]
	return ok
}

// judgeUpgrade lets a request ask for a WebSocket (RFC 6455 §4.1), and for no other protocol: h2c above all would carry
// requests that are never seen here.
func judgeUpgrade(r *http.Request) error {
	if !given(r.Header, "Upgrade") && !given(r.Header, "Http2-Settings") && !hasToken(r.Header["Connection"], "upgrade") {
		return nil
	}
	if !upgrades(r) {
		return form(http.StatusBadRequest, "upgrade_refused", "a connection is upgraded to a WebSocket by GET, and to nothing else")
	}
	return nil
}

// upgrades tells whether a request asks for a WebSocket, and for that alone.
func upgrades(r *http.Request) bool {
	protocols := r.Header["Upgrade"]
	return len(protocols) == 1 && strings.EqualFold(protocols[0], websocket) && !given(r.Header, "Http2-Settings") &&
		r.Method == http.MethodGet && r.ContentLength == 0 && hasToken(r.Header["Connection"], "upgrade")
}

const websocket = "websocket"

// judgeRepeats refuses a header that decides something and is there twice: one reader takes the first, another the last.
func judgeRepeats(h http.Header) error {
	for _, name := range [...]string{"Content-Type", contract.HeaderIdempotencyKey, "Connection", "Expect"} {
		if len(h[name]) > 1 {
			return closing(fault.New(fault.Invalid, "header_duplicated", "the header %s is given twice", name).At("header." + name))
		}
	}
	return nil
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}
