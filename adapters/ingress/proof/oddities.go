package proof

import (
	"bytes"
	"strings"

	"golang.org/x/net/http2"
)

// unread is a request that HTTP/2 calls malformed: it may reach nobody (RFC 9113, 8.1.1).
func unread() []Expect {
	return []Expect{{Way: Reset}, {Way: Closed}, {Way: Answered, Status: []int{400, 405, 414, 421, 422, 431, 501}}}
}

// harmless is one that may be read, by a listener to which nobody has proved anything.
func harmless() []Expect {
	return append(unread(), Expect{Way: Answered, Status: []int{401, 404, 413}})
}

// pseudo spoils the fields of a sound request.
func pseudo(what, tries string, must []Expect, change func([]field) []field) oddity {
	return oddity{what: what, tries: tries, must: must, send: func(x *stream, sound []field) uint32 {
		x.headers(1, true, change(sound)...)
		return 1
	}}
}

func set(name, value string) func([]field) []field {
	return func(fields []field) []field {
		out := []field{}
		for _, f := range fields {
			if f.name == name {
				f.value = value
			}
			out = append(out, f)
		}
		return out
	}
}

func add(more ...field) func([]field) []field {
	return func(fields []field) []field { return append(fields, more...) }
}

func drop(name string) func([]field) []field {
	return func(fields []field) []field {
		out := []field{}
		for _, f := range fields {
			if f.name != name {
				out = append(out, f)
			}
		}
		return out
	}
}

func oddities() []oddity {
	return append(pseudoOddities(), append(fieldOddities(), frameOddities()...)...)
}

func pseudoOddities() []oddity {
	out := []oddity{
		pseudo("path-twice", ":path twice", unread(), add(field{":path", "/internal/v1/peers"})),
		pseudo("method-twice", ":method twice", unread(), add(field{":method", "POST"})),
		pseudo("authority-twice", ":authority twice", unread(), add(field{":authority", "other.example"})),
		pseudo("pseudo-late", "a pseudo-header behind a header", unread(), func(f []field) []field {
			return append([]field{f[0], f[1], f[2], {"x-a", "b"}}, f[3])
		}),
		pseudo("pseudo-unknown", "a pseudo-header that there is not", unread(), add(field{":berth", "x"})),
		pseudo("pseudo-status", ":status in a request", unread(), add(field{":status", "200"})),
		pseudo("pseudo-protocol", ":protocol without CONNECT", unread(), add(field{":protocol", "websocket"})),
		pseudo("no-path", "no :path", unread(), drop(":path")), pseudo("no-method", "no :method", unread(), drop(":method")),
		pseudo("no-scheme", "no :scheme", unread(), drop(":scheme")),
		pseudo("connect-with-path", "CONNECT with :path", unread(), set(":method", "CONNECT")),
		pseudo("method-with-space", "a method that is a request line", unread(), set(":method", "GET / HTTP/1.1\r\nX: y")),
		pseudo("scheme-odd", "a scheme that is none", harmless(), set(":scheme", "javascript")),
		pseudo("scheme-url", "a scheme that is a URL", harmless(), set(":scheme", "https://other.example/?")),
		pseudo("authority-user", "user information in :authority", harmless(), set(":authority", "u@other.example")),
		pseudo("authority-path", "a path in :authority", harmless(), set(":authority", "other.example/internal")),
		pseudo("authority-other-host", "a host other than :authority", harmless(), add(field{"host", "other.example"})),
	}
	for what, path := range map[string]string{
		"empty": "", "absolute": "https://other.example/internal/v1/peers", "asterisk": "*", "relative": "internal/v1",
		"space": "/internal/v1/peers HTTP/1.1", "crlf": "/a HTTP/1.1\r\nHost: b\r\n\r\nGET /internal/v1/peers", "nul": "/a\x00",
		"double-slash": "//other.example/a", "dots": "/a/../internal/v1/peers", "escaped-slash": "/internal%2fv1", "backslash": `/a\b`, "fragment": "/a#b",
	} {
		out = append(out, pseudo("path-"+what, "a :path that is no target: "+what, unread(), set(":path", path)))
	}
	return out
}

func fieldOddities() []oddity {
	var out []oddity
	for what, f := range map[string]field{
		"connection": {"connection", "close"}, "connection-named": {"connection", strings.ToLower(own)}, "keep-alive": {"keep-alive", "a"},
		"proxy-connection": {"proxy-connection", "close"}, "transfer-encoding": {"transfer-encoding", "chunked"}, "upgrade": {"upgrade", "h2c"},
		"te": {"te", "gzip"}, "upper-name": {"X-Upper", "a"}, "space-name": {"x a", "b"}, "colon-name": {"x:a", "b"}, "crlf-name": {"x\r\ny", "b"},
		"empty-name": {"", "b"}, "crlf-value": {"x-a", "b\r\ntransfer-encoding: chunked"}, "lf-value": {"x-a", "b\ny"}, "nul-value": {"x-a", "b\x00c"},
	} {
		out = append(out, pseudo("field-"+what, "a field that HTTP/2 does not allow: "+what, unread(), add(f)))
	}
	return append(out,
		pseudo("field-assertion", "an assertion", harmless(), add(field{strings.ToLower(own), "v1.a.b"})),
		pseudo("field-assertion-twice", "two assertions", harmless(), add(field{strings.ToLower(own), "v1.a.b"}, field{"berth_ingress_assertion", "v1.a.b"})),
		pseudo("two-lengths", "two lengths", harmless(), add(field{"content-length", "0"}, field{"content-length", "5"})),
		pseudo("length-plus", "a length with a sign", harmless(), add(field{"content-length", "+0"})),
		pseudo("large-fields", "fields of 1 MiB", unread(), add(large()...)),
	)
}

func large() []field {
	var out []field
	for range 256 {
		out = append(out, field{"x-large", strings.Repeat("a", 4000)})
	}
	return out
}

func frameOddities() []oddity {
	post := func(f []field) []field { return set(":method", "POST")(f) }
	with := func(what, tries string, must []Expect, send func(*stream, []field) uint32) oddity {
		return oddity{what: what, tries: tries, must: must, send: send}
	}
	return []oddity{
		with("length-short", "a body longer than its length", harmless(), func(x *stream, f []field) uint32 {
			x.headers(1, false, append(post(f), field{"content-length", "2"})...)
			x.data(1, true, "{}GET /internal/v1/peers HTTP/1.1\r\n\r\n")
			return 1
		}),
		with("length-long", "a body shorter than its length", harmless(), func(x *stream, f []field) uint32 {
			x.headers(1, false, append(post(f), field{"content-length", "2000"})...)
			x.data(1, true, "{}")
			return 1
		}),
		with("length-without-body", "a length, and no body", harmless(), func(x *stream, f []field) uint32 {
			x.headers(1, true, append(post(f), field{"content-length", "5"})...)
			return 1
		}),
		with("pseudo-trailer", "a pseudo-header as a trailer", harmless(), func(x *stream, f []field) uint32 {
			x.headers(1, false, post(f)...)
			x.data(1, false, "{}")
			x.headers(1, true, field{":path", "/internal/v1/peers"})
			return 1
		}),
		with("even-stream", "a stream that only a server opens", unread(), func(x *stream, f []field) uint32 { x.headers(2, true, f...); return 2 }),
		with("stream-zero", "a head on stream 0", unread(), func(x *stream, f []field) uint32 { x.headers(0, true, f...); return 0 }),
		with("data-on-idle", "a body on a stream that was not opened", unread(), func(x *stream, _ []field) uint32 { x.data(7, true, "{}"); return 7 }),
		with("head-after-end", "a second head on a stream that has ended", harmless(), func(x *stream, f []field) uint32 {
			x.headers(1, true, f...)
			x.headers(1, true, set(":path", "/internal/v1/peers")(f)...)
			return 1
		}),
		with("continuation-flood", "a head that goes on in 10,000 frames", unread(), continuations),
		with("continuation-between", "another frame in the midst of a head", unread(), func(x *stream, f []field) uint32 {
			_ = x.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: x.block(f), EndStream: true})
			x.data(1, true, "{}")
			return 1
		}),
		with("bad-block", "a head that can not be unpacked", unread(), func(x *stream, _ []field) uint32 {
			_ = x.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: bytes.Repeat([]byte{0xff}, 40), EndStream: true, EndHeaders: true})
			return 1
		}),
		with("rapid-reset", "500 requests that are reset at once, then one", harmless(), rapidReset),
		with("push", "a promise by a client", unread(), func(x *stream, f []field) uint32 {
			_ = x.framer.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: x.block(f), EndHeaders: true})
			return 1
		}),
	}
}

func continuations(x *stream, f []field) uint32 {
	_ = x.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: x.block(f), EndStream: true})
	part := x.block([]field{{"x-more", strings.Repeat("a", 100)}})
	for range 10000 {
		if x.framer.WriteContinuation(1, false, part) != nil {
			break
		}
	}
	return 1
}

func rapidReset(x *stream, f []field) uint32 {
	id := uint32(1)
	for range 500 { // all are sent before any answer is read
		x.headers(id, true, f...)
		if x.framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
		id += 2
	}
	x.headers(id, true, f...)
	return id
}
