package relay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// wire is a connection on which a test writes what no HTTP client would.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, network, address string) *wire {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *world) apiWire(t *testing.T) *wire {
	return dial(t, "tcp", strings.TrimPrefix(w.API, "http://"))
}

func (w *world) internalWire(t *testing.T) *wire { return dial(t, "unix", w.Socket) }

// say writes the lines of a request's head, an empty line and the body.
func (c *wire) say(body string, head ...string) {
	c.t.Helper()
	// A server may answer and close before all is written, so that a failed write is no failure.
	_, _ = io.WriteString(c.conn, strings.Join(head, "\r\n")+"\r\n\r\n"+body)
}

// hear reads the next answer; its status is 0 where the server closed without one.
func (c *wire) hear() harness.Answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return harness.Answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: data}
}

func (w *world) beatHead(n *harness.Node, signed []byte, more ...string) []string {
	return append([]string{
		"POST /internal/v1" + beatPath + " HTTP/1.1", "Host: " + harness.InternalHost, "Content-Type: application/json",
		contract.HeaderAssertion + ": " + w.seal(w.Secret, n.Payload("POST", beatPath, signed)),
	}, more...)
}

func chunked(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(body), body) }

func gzipped(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body)
	_ = z.Close()
	return out.Bytes()
}

func TestHostileScratchWire(t *testing.T) {
	w := newWorld(t)
	n := w.nodes["a"]
	seq := 100
	beat := func() string { seq++; return fmt.Sprintf(`{"generation":1,"sequence":%d}`, seq) }
	show := func(what string, a harness.Answer) { t.Logf("%-30s %d %q %.120s", what, a.Status, a.Slug(), a.Body) }
	try := func(what string, f func(b string) (string, []string)) {
		b := beat()
		c := w.internalWire(t)
		body, head := f(b)
		c.say(body, head...)
		show(what, c.hear())
	}
	cl := func(b string) string { return fmt.Sprintf("Content-Length: %d", len(b)) }
	try("plain", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b)) })
	try("chunked", func(b string) (string, []string) {
		return chunked(b) + "\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: chunked")
	})
	try("chunked+declared trailer", func(b string) (string, []string) {
		return chunked(b) + "X-T: 1\r\n\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: chunked", "Trailer: X-T")
	})
	try("chunked+undeclared trailer", func(b string) (string, []string) {
		return chunked(b) + "X-T: 1\r\n\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: chunked")
	})
	try("chunked+undeclared assertion trailer", func(b string) (string, []string) {
		return chunked(b) + contract.HeaderAssertion + ": x\r\n\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: chunked")
	})
	try("CL+TE", func(b string) (string, []string) {
		return chunked(b) + "\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: chunked", cl(b))
	})
	try("CL twice same", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), cl(b)) })
	try("CL twice other", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), "Content-Length: 1") })
	try("CL +", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), fmt.Sprintf("Content-Length: +%d", len(b))) })
	try("CL short", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), "Content-Length: 3") })
	try("TE gzip, chunked", func(b string) (string, []string) {
		return chunked(b) + "\r\n", w.beatHead(n, []byte(b), "Transfer-Encoding: gzip, chunked")
	})
	try("gzip encoding", func(b string) (string, []string) {
		z := string(gzipped([]byte(b)))
		return z, w.beatHead(n, []byte(z), cl(z), "Content-Encoding: gzip")
	})
	try("identity encoding", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Content-Encoding: identity")
	})
	try("empty encoding", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Content-Encoding:")
	})
	try("second empty+gzip encoding", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Content-Encoding:", "Content-Encoding: gzip")
	})
	try("underscore second", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Berth_Ingress_Assertion: v1.x.y")
	})
	try("underscore one", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Berth-Ingress_Assertion: v1.x.y")
	})
	try("underscore only", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[3] = strings.Replace(h[3], "Berth-Ingress-Assertion", "Berth_Ingress_Assertion", 1)
		return b, h
	})
	try("lower case", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[3] = strings.Replace(h[3], "Berth-Ingress-Assertion", "berth-INGRESS-assertion", 1)
		return b, h
	})
	try("empty second", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), contract.HeaderAssertion+":") })
	try("comma joined", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		return b, append(h[:3:3], h[3]+", x", h[4])
	})
	try("space before colon", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[3] = strings.Replace(h[3], "Assertion:", "Assertion :", 1)
		return b, h
	})
	try("folded", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[3] = strings.Replace(h[3], "v1.", "v1.\r\n ", 1)
		return b, h
	})
	try("connection names it", func(b string) (string, []string) {
		return b, w.beatHead(n, []byte(b), cl(b), "Connection: close, "+contract.HeaderAssertion)
	})
	try("two hosts", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), "Host: evil.test") })
	try("x-forwarded-host", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), "X-Forwarded-Host: evil.test", "X-HTTP-Method-Override: DELETE") })
	try("absolute form", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[0] = "POST http://" + harness.InternalHost + "/internal/v1" + beatPath + " HTTP/1.1"
		return b, h
	})
	try("http/1.0", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		h[0] = strings.Replace(h[0], "1.1", "1.0", 1)
		return b, h
	})
	try("expect", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), "Expect: 100-continue") })
	try("expect odd", func(b string) (string, []string) { return b, w.beatHead(n, []byte(b), cl(b), "Expect: 200-ok") })
	try("no content type", func(b string) (string, []string) {
		h := w.beatHead(n, []byte(b), cl(b))
		return b, append(h[:2:2], h[3:]...)
	})
	for _, ct := range []string{"text/plain", "application/xml", "application/cbor", "application/json; charset=utf-16", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/merge-patch+json", ";;;"} {
		try("content type "+ct, func(b string) (string, []string) {
			h := w.beatHead(n, []byte(b), cl(b))
			h[2] = "Content-Type: " + ct
			return b, h
		})
	}
	api := func(what string, body string, head ...string) {
		c := w.apiWire(t)
		c.say(body, head...)
		a := c.hear()
		show(what, a)
	}
	auth := "Authorization: Bearer " + w.Token
	for _, target := range []string{"*", "http://x/api/v1/nodes", "//api/v1/nodes", "/api/v1/nodes#x", "/api/v1/nodes;x=1", "/api/v1/nodes/%00", "/api/v1/nodes/a%2fb", "/api/v1/nodes/%61", "/api/v1/nodes/\xff", "/api/v1/nodes/%ff", "/api/v1/nodes/é", "/api/v1/nodes/%c3%a9", "/api/v1/nodes/a%0d%0ab", "/api/v1/nodes\\a", "/api/v1/nodes/", "/api/v1/nodes?limit=1&limit=2", "/api/v1/nodes?limit=%31", "/api/v1/nodes?limit=1e3", "/api/v1/nodes?limit=-0", "/api/v1/nodes?limit=99999999999999999999", "/api/v1/nodes?limit", "/api/v1/nodes?", "/api/v1/nodes?Limit=1", "/api/v1/nodes?&", "/api/v1/nodes?cursor=AA", "/api/v1/tenants?cursor=AA", "/api/v1/tenants?cursor=_w", "/api/v1/audit?cursor=AA", "/api/v1/audit?cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk", "/api/v1/audit?cursor=LTE", "/api/v1/tokens?cursor=AA", "/api/v1/regions?cursor=AA", "/api/v1/tenants/acme/principals?cursor=AA", "/api/v1/tenants/acme/routes?cursor=AA", "/api/v1/tenants/acme/migrations?cursor=AA", "/api/v1/audit?subject=%00", "/api/v1/audit?subject=%F0%9F%92%A9", "/api/v1/placement-queue?region=%F0%9F%92%A9", "/api/v1/tenants/acme/migrations/x?wait=-1s", "/api/v1/tenants/acme/migrations/x?wait=99999999", "/api/v1/tenants/acme/migrations/x?wait=NaN", "/api/v1/tenants/%F0%9F%92%A9", "/api/v1/nodes/" + strings.Repeat("a", 64), "/api/v1/" + strings.Repeat("a", 5000), "/api/v1/nodes/a?x[]=1", "/api/v1/tokens/%F0%9F/revoke"} {
		api("GET "+fmt.Sprintf("%.60s", target), "", "GET "+target+" HTTP/1.1", "Host: x", auth)
	}
	api("OPTIONS *", "", "OPTIONS * HTTP/1.1", "Host: x")
	api("CONNECT", "", "CONNECT x:443 HTTP/1.1", "Host: x:443")
	api("TRACE", "", "TRACE /api/v1/nodes HTTP/1.1", "Host: x", auth)
	api("method lower", "", "get /api/v1/nodes HTTP/1.1", "Host: x", auth)
	api("method long", "", strings.Repeat("A", 5000)+" /api/v1/nodes HTTP/1.1", "Host: x", auth)
	api("two authorizations", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", "Authorization: Bearer x", auth)
	api("two authorizations good first", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "Authorization: Bearer x")
	api("bearer lower", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", strings.Replace(auth, "Bearer", "bearer", 1))
	api("huge header", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "X: "+strings.Repeat("x", 70000))
	api("many headers", "", append([]string{"GET /api/v1/nodes HTTP/1.1", "Host: x", auth}, func() []string {
		var o []string
		for i := range 9000 {
			o = append(o, fmt.Sprintf("x%d: y", i))
		}
		return o
	}()...)...)
	api("h2 preface", "SM\r\n\r\n", "PRI * HTTP/2.0")
	api("upgrade h2c", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
	api("two keys", `{"id":"x","origin":"https://x.test"}`, "POST /api/v1/regions HTTP/1.1", "Host: x", auth, "Idempotency-Key: a", "Idempotency-Key: b", "Content-Type: application/json", "Content-Length: 36")
	api("empty key", `{"id":"x","origin":"https://x.test"}`, "POST /api/v1/regions HTTP/1.1", "Host: x", auth, "Idempotency-Key:", "Content-Type: application/json", "Content-Length: 36")
	api("accept xml", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "Accept: application/xml")
	api("accept cbor", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "Accept: application/cbor")
	api("range", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "Range: bytes=0-0")
	api("if-none-match *", "", "GET /api/v1/nodes HTTP/1.1", "Host: x", auth, "If-None-Match: *")
	post := func(what, path, body string) {
		api(what, body, "POST "+path+" HTTP/1.1", "Host: x", auth, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)))
	}
	node := func(v string) string { return `{"id":"x","region":"eu","capacity":{"tenants":` + v + `,"bytes":1}}` }
	for _, v := range []string{"1e400", "-0", "1.0", "1e0", "1E2", "0x10", "01", "+1", "NaN", "Infinity", "9007199254740991.4", "9007199254740991.6", "1.0000000000000000000000001", "9223372036854775808", "-9223372036854775809", `"1"`, "true", "null", "[]", "1e-400", "00", "-", strings.Repeat("9", 100000)} {
		post("number "+fmt.Sprintf("%.30s", v), "/api/v1/nodes", node(v))
	}
	post("deep array", "/api/v1/nodes", strings.Repeat("[", 500000))
	post("deep array closed", "/api/v1/nodes", strings.Repeat("[", 9000)+strings.Repeat("]", 9000))
	post("deep object", "/api/v1/nodes", strings.Repeat(`{"a":`, 150000))
	post("deep in field", "/api/v1/nodes", `{"id":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}`)
	post("null", "/api/v1/nodes", "null")
	post("number", "/api/v1/nodes", "1")
	post("array", "/api/v1/nodes", "[]")
	post("bom", "/api/v1/regions", "\ufeff"+`{"id":"x","origin":"https://x.test"}`)
	post("comment", "/api/v1/regions", `{"id":"x",/**/"origin":"https://x.test"}`)
	post("lone surrogate", "/api/v1/regions", `{"id":"\ud800","origin":"https://x.test"}`)
	post("escaped dup", "/api/v1/regions", `{"id":"x","\u0069d":"y","origin":"https://x.test"}`)
	for _, o := range []string{"https://x.test:99999", "https://u:p@x.test", "https://x.test?x", "https://x.test#", "https://[::1]", "https://", "https:///", "https://x..test", "https://x.test:", "HTTPS://x.test", "https://\u0435u.test", "https://x.test\\@evil", "https://x test", "https://-", "https://" + strings.Repeat("a", 3000)} {
		post("origin "+fmt.Sprintf("%.40s", o), "/api/v1/regions", fmt.Sprintf(`{"id":"o%d","origin":%q}`, len(o), o))
	}
	for _, id := range []string{"", "-a", "a-", "A", "a_b", "é", "ａ", "a\\u0000", "a\\u202e", "a/b", "..", strings.Repeat("a", 63), strings.Repeat("a", 64), "a\\n", " a", "%61", "xn--a", "0"} {
		post("tenant id "+fmt.Sprintf("%.40s", id), "/api/v1/tenants", `{"id":"`+id+`","home_region":"eu"}`)
	}
	t.Log(w.Output())
}
