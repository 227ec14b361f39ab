package ingress_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"berth/domain/identity"
)

// What reaches the control plane is the request as it was asked, byte for byte in what is asserted, with one assertion
// that holds for it, under the client's own certificate (I2, I3).
func TestForwards(t *testing.T) {
	t.Parallel()
	w := start(t)
	cert := w.client("n1")
	conn, err := w.dial(cert)
	must(t, err)
	c := newClient(t, conn)
	a := c.ask("POST /internal/v1/nodes/n1/heartbeat?x=%C3%A9&y=a+b HTTP/1.1\r\nHost: Control.example:8443\r\n" +
		"Content-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
	if a.StatusCode != 200 || a.text != "ok" || a.Header.Get("X-Request-Id") != "req_back" {
		t.Fatalf("answered %v %q", a.Response, a.text)
	}
	got := w.back.one()
	if got.target() != "/internal/v1/nodes/n1/heartbeat?x=%C3%A9&y=a+b" || got.Host != "Control.example:8443" || got.body != `{"a":1}` ||
		got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Idempotency-Key") != "k" ||
		got.Header.Get("Accept-Encoding") != "" {
		t.Fatalf("arrived %q %q", got.raw, got.body)
	}
	proof, err := w.proven(got)
	must(t, err)
	if proof.SPIFFEID.Node() != "n1" || proof.Fingerprint != identity.FingerprintOf(cert.Certificate[0]) {
		t.Fatalf("the assertion speaks for %v", proof)
	}
	if c.ask(get).StatusCode != 200 || len(w.back.all()) != 2 {
		t.Fatal("the connection is not kept")
	}
	if _, err := w.proven(w.back.all()[1]); err != nil {
		t.Fatal(err)
	}
}

// An answer longer than any buffer comes through whole, a chunked one too, and one that comes in pieces piece by piece.
func TestStreams(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	w.back.answers(says("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + long))
	if a := c.ask(get); a.text != long {
		t.Fatalf("got %d bytes", len(a.text))
	}
	step := make(chan bool)
	w.back.answers(func(b net.Conn, _ arrived) bool {
		_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
		<-step
		_, _ = io.WriteString(b, "6\r\nsecond\r\n")
		<-step
		_, _ = io.WriteString(b, "5\r\nthird\r\n0\r\n\r\n")
		return true
	})
	c.write(get)
	c.until("first")
	step <- true
	c.until("second")
	step <- true
	c.until("third\r\n0\r\n\r\n")
	w.back.answers(says(plain))
	if c.ask(get).text != "ok" {
		t.Fatal("the connection is spoiled")
	}
}

// until reads up to a text that comes.
func (c *client) until(text string) {
	c.tb.Helper()
	var seen []byte
	for !bytes.HasSuffix(seen, []byte(text)) {
		one, err := c.r.ReadByte()
		if err != nil {
			c.tb.Fatalf("after %q: %v", seen, err)
		}
		seen = append(seen, one)
	}
}
