package relay

import (
	"bufio"
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
	return &wire{conn, bufio.NewReader(conn)}
}

func (w *world) apiWire(t *testing.T) *wire {
	t.Helper()
	return dial(t, "tcp", strings.TrimPrefix(w.API, "http://"))
}

// say writes the lines of a request's head, an empty line and the body. The server may answer and close before all of it
// is there, so that a failed write is none of the test.
func (c *wire) say(body string, head ...string) {
	_, _ = io.WriteString(c.conn, strings.Join(head, "\r\n")+"\r\n\r\n"+body)
}

// hear reads the next answer; its status is 0 where the server closed without one.
func (c *wire) hear() harness.Answer {
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return harness.Answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: data}
}

// head is the head of a heartbeat whose assertion is for the body signed.
func (w *world) head(n *harness.Node, signed string, more ...string) []string {
	return append([]string{
		"POST /internal/v1" + beatPath + " HTTP/1.1", "Host: " + harness.InternalHost, "Content-Type: application/json",
		contract.HeaderAssertion + ": " + w.seal(w.Secret, n.Payload("POST", beatPath, []byte(signed))),
	}, more...)
}

func length(body string) string { return fmt.Sprintf("Content-Length: %d", len(body)) }

func chunked(body, trailers string) string {
	return fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\n", len(body), body, trailers)
}

const chunks = "Transfer-Encoding: chunked"

// Whatever way a heartbeat's bytes are framed, it counts only where the body is the one that was asserted and the request
// has one reading (I2, I3).
func TestHostileFraming(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	in := func(line int, from, to string) func(string) (string, []string) {
		return func(b string) (string, []string) {
			head := w.head(n, b, length(b))
			head[line] = strings.Replace(head[line], from, to, 1)
			return b, head
		}
	}
	with := func(more ...string) func(string) (string, []string) {
		return func(b string) (string, []string) { return b, w.head(n, b, append([]string{length(b)}, more...)...) }
	}
	inChunks := func(trailers string, more ...string) func(string) (string, []string) {
		return func(b string) (string, []string) {
			return chunked(b, trailers), w.head(n, b, append([]string{chunks}, more...)...)
		}
	}
	const own = contract.HeaderAssertion
	for i, c := range []struct {
		name, slug string // no slug: refused before there is anything to explain, or taken
		status     int
		make       func(body string) (string, []string)
	}{
		{"as it should be", "", 200, with()},
		{"in chunks", "", 200, inChunks("")},
		{"the header in another case", "", 200, in(3, own, strings.ToUpper(own))},
		{"a trailer that was announced", "encoding_refused", 403, inChunks("X-T: 1\r\n", "Trailer: X-T")},
		{"a trailer that was not", "encoding_refused", 403, inChunks("X-T: 1\r\n")},
		{"the assertion's header as a trailer", "encoding_refused", 403, inChunks(own + ": v1.x.y\r\n")},
		{"two lengths", "", 400, with("Content-Length: 1")},
		{"a signed length", "", 400, func(b string) (string, []string) { return b, w.head(n, b, fmt.Sprintf("Content-Length: +%d", len(b))) }},
		{"a short length", "assertion_body_mismatch", 403, func(b string) (string, []string) { return b, w.head(n, b, "Content-Length: 3") }},
		{"gzip as a transfer coding", "", 501, func(b string) (string, []string) {
			return chunked(b, ""), w.head(n, b, "Transfer-Encoding: gzip, chunked")
		}},
		{"gzip as a content coding", "encoding_refused", 403, with("Content-Encoding: gzip")},
		{"no coding, said so", "encoding_refused", 403, with("Content-Encoding: identity")},
		{"gzip behind an empty coding", "encoding_refused", 403, with("Content-Encoding:", "Content-Encoding: gzip")},
		{"one more assertion spelt with _", "assertion_duplicated", 401, with("Berth_Ingress_Assertion: v1.x.y")},
		{"one more spelt with both", "assertion_duplicated", 401, with("berth-ingress_assertion: v1.x.y")},
		{"one more that is empty", "assertion_duplicated", 401, with(own + ":")},
		{"the only one spelt with _", "assertion_missing", 401, in(3, own, "Berth_Ingress_Assertion")},
		{"two joined by a comma", "assertion_malformed", 401, in(3, ": v1.", ": v1.x.y, v1.")},
		{"folded over two lines", "assertion_malformed", 401, in(3, ": v1.", ": v1.\r\n ")},
		{"a space before the colon", "", 400, in(3, ":", " :")},
		{"two hosts", "", 400, with("Host: evil.test")},
		{"another host", "assertion_host_mismatch", 403, in(1, harness.InternalHost, "evil.test")},
		{"the target with its host", "target_ambiguous", 422, in(0, "/", "http://"+harness.InternalHost+"/")},
		{"a double slash", "target_ambiguous", 422, in(0, "/nodes", "//nodes")},
		{"another media type", "media_type_unsupported", 415, in(2, "application/json", "text/plain")},
		{"two media types", "header_duplicated", 422, with("Content-Type: text/plain")},
	} {
		body, head := c.make(fmt.Sprintf(`{"generation":1,"sequence":%d}`, 100+i))
		wire := dial(t, "unix", w.Socket)
		wire.say(body, head...)
		if a := wire.hear(); a.Status != c.status || a.Slug() != c.slug {
			t.Errorf("%s: %d %q, want %d %q", c.name, a.Status, a.Slug(), c.status, c.slug)
		}
	}
	var shown contract.Node
	w.Operator("GET", "/api/v1/nodes/a", nil, 200, &shown)
	if shown.Heartbeat.Sequence != 102 {
		t.Fatalf("a request that was refused counts: %+v", shown.Heartbeat)
	}
}

// A head that is no request of the contract's is refused, whoever sends it, and the connection is good for nothing worse.
func TestHostileHeads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	auth := "Authorization: Bearer " + w.Token
	long := make([]string, 0, 9000)
	for i := range cap(long) {
		long = append(long, fmt.Sprintf("x%d: y", i))
	}
	for _, c := range []struct {
		line, slug string
		status     int
		more       []string
	}{
		{"GET /api/v1/nodes", "", 200, []string{auth}},
		{"OPTIONS *", "target_ambiguous", 422, nil},
		{"GET *", "target_ambiguous", 422, []string{auth}},
		{"CONNECT x:443", "target_ambiguous", 422, nil},
		{"GET http://x/api/v1/nodes", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes;x=1", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes/%61", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes/a%2f..", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes/%00", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes/%ff", "target_ambiguous", 422, []string{auth}},
		{"GET /api/v1/nodes/%F0%9F%92%A9", "node_not_found", 404, []string{auth}},
		{"GET /api/v1/nodes?limit=1&limit=2", "parameter_duplicated", 422, []string{auth}},
		{"GET /api/v1/nodes?limit=1e3", "invalid_value", 422, []string{auth}},
		{"GET /api/v1/nodes?limit=99999999999999999999", "invalid_value", 422, []string{auth}},
		{"GET /api/v1/nodes?cursor=AA", "invalid_cursor", 422, []string{auth}},
		{"GET /api/v1/tenants?cursor=_w", "invalid_cursor", 422, []string{auth}},
		{"GET /api/v1/audit?cursor=LTE", "invalid_cursor", 422, []string{auth}},
		{"GET /api/v1/tenants/acme/migrations/x?wait=99999999", "invalid_wait", 422, []string{auth}},
		{"GET /api/v1/nodes", "header_duplicated", 422, []string{auth, "Authorization: Bearer x"}},
		{"GET /api/v1/nodes", "header_duplicated", 422, []string{"Authorization: Bearer x", auth}},
		{"TRACE /api/v1/nodes", "method_not_allowed", 405, []string{auth}},
		{"get /api/v1/nodes", "method_not_allowed", 405, []string{auth}},
		{"GET /api/v1/nodes", "", 431, []string{auth, "X: " + strings.Repeat("x", 2*contract.MaxHeader)}},
		{"GET /api/v1/nodes", "", 431, long},
	} {
		wire := w.apiWire(t)
		wire.say("", append([]string{c.line + " HTTP/1.1", "Host: x"}, c.more...)...)
		if a := wire.hear(); a.Status != c.status || a.Slug() != c.slug {
			t.Errorf("%.60s: %d %q, want %d %q", c.line, a.Status, a.Slug(), c.status, c.slug)
		}
	}
}

// Requests that come in one breath are answered in their order; what stands in a body that was refused is no request.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	get := strings.Join([]string{"GET /api/v1/%s HTTP/1.1", "Host: x", "Authorization: Bearer " + w.Token, "", ""}, "\r\n")
	wire := w.apiWire(t)
	_, _ = io.WriteString(wire.conn, fmt.Sprintf(get+get+get, "regions", "nothing", "nodes"))
	for _, want := range []int{200, 404, 200} {
		if a := wire.hear(); a.Status != want {
			t.Fatalf("%d %s, want %d", a.Status, a.Body, want)
		}
	}
	wire = w.apiWire(t)
	body := strings.Repeat("x", contract.MaxBody+1) + fmt.Sprintf(get, "nodes")
	wire.say(body, "POST /api/v1/regions HTTP/1.1", "Host: x",
		"Authorization: Bearer "+w.Token, "Content-Type: application/json", length(body), "Connection: close")
	if a := wire.hear(); a.Status != 413 {
		t.Fatalf("too large a body: %d %s", a.Status, a.Body)
	}
	if a := wire.hear(); a.Status != 0 {
		t.Fatalf("a request within a body is answered: %d %s", a.Status, a.Body)
	}
}
