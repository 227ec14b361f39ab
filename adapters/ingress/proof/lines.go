package proof

import (
	"fmt"
	"strings"
)

// lines are heads whose lines two parsers split differently.
func lines() []framing {
	with := func(what, tries string, must []Expect, add ...string) framing {
		return framing{what: what, tries: tries, must: must, make: func(d draft, _ string) string { return d.with(add...).String() }}
	}
	raw := func(what, tries string, must []Expect, from, to string) framing {
		return framing{what: what, tries: tries, must: must, make: func(d draft, _ string) string { return strings.Replace(d.String(), from, to, 1) }}
	}
	fine := append(malformed(), answered(200))
	return []framing{
		{what: "bare-lf", tries: "LF for CR LF throughout", must: fine, make: func(d draft, _ string) string { d.end = "\n"; return d.String() }},
		{what: "bare-cr", tries: "CR for CR LF throughout", must: append(malformed(), Expect{Way: Silent}),
			make: func(d draft, _ string) string { d.end = "\r"; return d.String() + "\r\n\r\n" }},
		{what: "lf-smuggled", tries: "a request behind bare LFs in a header's value",
			must: append(malformed(), Expect{Way: Several, Status: []int{400}}),
			make: func(d draft, smuggled string) string {
				return d.with("X: y\n\n" + strings.ReplaceAll(smuggled, "\r\n", "\n")).String()
			}},
		with("nul-value", "a NUL in a value", malformed(), "X: a\x00b"),
		with("cr-value", "a bare CR in a value", malformed(), "X: a\rb"),
		with("obs-fold", "a value that goes on in the next line", fine, "X: a", " b"),
		with("obs-fold-length", "a length that goes on in the next line", malformed(), "Content-Length:", " 0"),
		with("space-colon", "a space before the colon", malformed(), "X : y"),
		with("empty-name", "a header without a name", malformed(), ": y"),
		with("no-colon", "a line without a colon", malformed(), "nothing"),
		with("high-name", "bytes above ASCII in a name", malformed(), "X-\xff: y"),
		with("control-name", "a control character in a name", malformed(), "X\x01: y"),
		with("brackets-name", "what is no token in a name", malformed(), "X[a]: y"),
		with("high-value", "bytes above ASCII in a value", fine, "X: \xff\xfe"),
		with("two-types", "two content types", fine, "Content-Type: text/plain"),
		with("content-encoding", "a content coding", malformed(), "Content-Encoding: gzip"),
		with("identity-encoding", "the content coding identity", malformed(), "Content-Encoding: identity"),
		with("trailer-announced", "trailers announced, with a length", fine, "Trailer: X-T"),
		raw("leading-crlf", "an empty line before the request", fine, "POST", "\r\nPOST"),
		raw("leading-space", "a space before the method", malformed(), "POST", " POST"),
		raw("leading-nul", "a NUL before the method", malformed(), "POST", "\x00POST"),
		raw("lower-method", "a method in lower case", malformed(), "POST", "post"),
		raw("odd-method", "a method with what is no token", malformed(), "POST", "PO(ST"),
		raw("long-method", "a method of 1 KiB", malformed(), "POST", strings.Repeat("P", 1024)),
		raw("unknown-method", "a method that nobody knows", malformed(), "POST", "SMUGGLE"),
		raw("connect", "CONNECT", malformed(), "POST", "CONNECT"), raw("trace", "TRACE", malformed(), "POST", "TRACE"),
		raw("tab-separators", "tabs in the request line", malformed(), "POST /", "POST\t/"),
		raw("two-spaces", "two spaces in the request line", malformed(), "POST /", "POST  /"),
		raw("space-behind", "a space behind the version", malformed(), " HTTP/1.1\r\n", " HTTP/1.1 \r\n"),
		raw("cr-cr-lf", "CR CR LF behind the request line", malformed(), " HTTP/1.1\r\n", " HTTP/1.1\r\r\n"),
		raw("folded-request-line", "a line that goes on from the request line", malformed(), " HTTP/1.1\r\n", " HTTP/1.1\r\n X: y\r\n"),
	}
}

// versions say which HTTP it is.
func versions() []framing {
	version := func(what, text string, must []Expect, more ...string) framing {
		return framing{what: what, tries: fmt.Sprintf("%q for the version", text), must: must, make: func(d draft, _ string) string {
			d.proto = text
			return d.with(more...).String()
		}}
	}
	fine := append(malformed(), answered(200))
	return []framing{
		version("http-1.0", "HTTP/1.0", fine), version("http-1.0-keep-alive", "HTTP/1.0", fine, "Connection: keep-alive"),
		version("http-1.2", "HTTP/1.2", fine), version("http-2.0", "HTTP/2.0", malformed()), version("http-0.9", "HTTP/0.9", malformed()),
		version("http-lower", "http/1.1", malformed()), version("http-padded", "HTTP/01.1", malformed()), version("http-long", "HTTP/1.10", malformed()),
		version("http-none", "HTTP/", malformed()), version("http-other", "ICAP/1.0", malformed()),
		{what: "http-1.0-chunked", tries: "a body in chunks in HTTP/1.0", must: append(malformed(), Expect{Way: Several, Status: []int{400, 411}}),
			make: func(d draft, smuggled string) string {
				d.proto, d.body = "HTTP/1.0", "0\r\n\r\n"+smuggled
				return d.without("Content-Length").with("Transfer-Encoding: chunked", "Connection: keep-alive").String()
			}},
		{what: "http-0.9-line", tries: "a request of HTTP/0.9", must: malformed(), make: func(d draft, _ string) string { return "GET " + d.target + "\r\n\r\n" }},
		{what: "http-2-preface", tries: "the preface of HTTP/2", must: malformed(),
			make: func(draft, string) string {
				return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
			}},
	}
}

// hosts say whom the request is for.
func hosts() []framing {
	host := func(what, tries string, must []Expect, values ...string) framing {
		return framing{what: what, tries: tries, must: must, make: func(d draft, _ string) string {
			d = d.without("Host")
			for _, v := range values {
				d = d.with("Host: " + v)
			}
			return d.String()
		}}
	}
	fine := append(malformed(), answered(200))
	return []framing{
		host("no-host", "no Host", malformed()), host("two-hosts", "two Hosts", malformed(), "a.example", "b.example"),
		host("empty-host", "an empty Host", malformed(), ""), host("other-host", "a Host that is another's", fine, "other.example"),
		host("host-path", "a Host with a path", malformed(), "a.example/internal"), host("host-user", "a Host with user information", malformed(), "u@a.example"),
		host("host-space", "a Host with a space", malformed(), "a.example b.example"), host("host-list", "two names in one Host", malformed(), "a.example, b.example"),
		host("host-control", "a Host with a control character", malformed(), "a\x01.example"), host("host-quote", "a Host with a quotation mark", malformed(), `a".example`),
		host("host-long", "a Host of 4 KiB", malformed(), strings.Repeat("a", 4096)),
		{what: "absolute-form", tries: "the target with scheme and host", must: malformed(), make: func(d draft, _ string) string {
			d.target = "http://other.example" + d.target
			return d.String()
		}},
	}
}
