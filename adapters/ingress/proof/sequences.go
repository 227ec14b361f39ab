package proof

import (
	"fmt"
	"strings"
)

// sequences are several requests in one go. A second request is answered for what it is, as the same node's, or not at
// all: one that asks for another node's is refused as ever.
func sequences() []framing {
	other := Expect{Way: Several, Status: []int{403}, Slug: []string{"node_mismatch"}}
	return []framing{
		{what: "pipelined", tries: "a second request behind a sound one", must: []Expect{other, answered(200)},
			make: func(d draft, smuggled string) string { return d.String() + smuggled }},
		{what: "pipelined-behind-refused", tries: "a second request behind one whose form is refused", must: malformed(),
			make: func(d draft, smuggled string) string {
				d.target = "/internal/v1/../v1/x"
				return d.String() + smuggled
			}},
		{what: "pipelined-behind-unreadable", tries: "a second request behind one that can not be read", must: malformed(),
			make: func(d draft, smuggled string) string { return d.with("X : y").String() + smuggled }},
		{what: "pipelined-behind-too-large", tries: "a second request behind a head that announces 2 MiB", must: malformed(),
			make: func(d draft, smuggled string) string {
				d.body = smuggled
				return d.without("Content-Length").with("Content-Length: 2097152").String()
			}},
		{what: "pipelined-behind-close", tries: "a second request behind one that ends the connection", must: []Expect{answered(200)},
			make: func(d draft, smuggled string) string { return d.with("Connection: close").String() + smuggled }},
		{what: "garbage-behind", tries: "bytes that are no request behind a sound one",
			must: append(malformed(), answered(200), Expect{Way: Several, Status: []int{400}}),
			make: func(d draft, _ string) string { return d.String() + "\x00\x01\x02 garbage\r\n\r\n" }},
	}
}

// expectations hold a body back, or say that they do.
func expectations() []framing {
	expect := func(what, value string, must []Expect) framing {
		return framing{what: what, tries: "Expect: " + value + ", with the body at once", must: must,
			make: func(d draft, _ string) string { return d.with("Expect: " + value).String() }}
	}
	fine := append(malformed(), answered(200))
	return []framing{
		expect("expect-continue", "100-continue", fine), expect("expect-other", "200-ok", malformed()),
		expect("expect-list", "100-continue, 200-ok", fine), expect("expect-upper", "100-CONTINUE", fine),
		expect("expect-padded", "y 100-continue", fine),
		{what: "expect-twice", tries: "Expect twice", must: fine,
			make: func(d draft, _ string) string { return d.with("Expect: 100-continue", "Expect: x").String() }},
		{what: "expect-body-as-request", tries: "Expect, and where the body belongs a request, at what is refused",
			must: append(malformed(), answered(404, "path_unknown")),
			make: func(d draft, smuggled string) string {
				d.target, d.body = "/internal/v1/nothing", smuggled
				return d.without("Content-Length").with(fmt.Sprintf("Content-Length: %d", len(smuggled)), "Expect: 100-continue").String()
			}},
		{what: "expect-get", tries: "Expect with a GET and a body that is a request", must: fine,
			make: func(d draft, smuggled string) string {
				d.method, d.body = "GET", smuggled
				return d.without("Content-Length").without("Content-Type").
					with(fmt.Sprintf("Content-Length: %d", len(smuggled)), "Expect: 100-continue").String()
			}},
	}
}

// upgrades ask for another protocol, so that a proxy which believes it got one passes on what follows as it is.
func upgrades() []framing {
	upgrade := func(what, tries string, lines ...string) framing {
		return framing{what: what, tries: tries,
			must: append(malformed(), answered(200), Expect{Way: Several, Status: []int{403}, Slug: []string{"node_mismatch"}}),
			make: func(d draft, smuggled string) string { return d.with(lines...).String() + smuggled }}
	}
	socket := func(version string) []string {
		return []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: " + version}
	}
	asGet := func(what, tries string, lines ...string) framing {
		f := upgrade(what, tries, lines...)
		f.make = func(d draft, smuggled string) string {
			d.method, d.body = "GET", ""
			d.target = strings.Replace(d.target, "/authorization/poll", "/assignments", 1)
			return d.without("Content-Type").without("Content-Length").with(lines...).String() + smuggled
		}
		return f
	}
	return []framing{
		asGet("websocket-get", "a WebSocket's opening handshake where there is no WebSocket, and a request behind it", socket("13")...),
		asGet("websocket-get-version", "one of a version that there is not, and a request behind it", socket("777")...),
		asGet("websocket-get-no-key", "one without a key, and a request behind it", "Connection: Upgrade", "Upgrade: websocket"),
		asGet("h2c-get", "an upgrade to HTTP/2 by GET, and a request behind it", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
		upgrade("h2c", "an upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
		upgrade("h2c-alone", "an upgrade to HTTP/2 that Connection does not name", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
		upgrade("websocket", "an upgrade to WebSocket, and a request behind it", socket("13")...),
		upgrade("websocket-version", "an upgrade to a WebSocket version that there is not, and a request behind it", socket("777")...),
		upgrade("upgrade-tls", "an upgrade to TLS", "Connection: Upgrade", "Upgrade: TLS/1.3"),
		upgrade("upgrade-unknown", "an upgrade to what nobody knows", "Connection: Upgrade", "Upgrade: anything"),
	}
}
