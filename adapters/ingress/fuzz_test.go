package ingress_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress"
	"berth/domain/identity"
	"berth/domain/identity/targets"
)

// sharp is an ingress whose clients are let in without TLS and lose patience soon.
func sharp(tb testing.TB) (*world, string) {
	tb.Helper()
	var g *ingress.Ingress
	w := start(tb, func(w *world, o *ingress.Options) {
		const soon = 3 * time.Millisecond
		o.Limits.HeaderTimeout, o.Limits.BodyTimeout, o.Limits.IdleTimeout = soon, soon, soon
		o.Limits.NodeRate, o.Limits.NodeBurst = 1e9, 1e9
		o.Log = slog.New(slog.DiscardHandler)
		g = ingress.New(*o)
	})
	id, err := identity.RelayID(trustDomain, "eu", "n1")
	must(tb, err)
	path := shortDir(tb) + "/p"
	l, err := net.Listen("unix", path)
	must(tb, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Plain(l, id, identity.FingerprintOf([]byte("n1"))) }()
	tb.Cleanup(func() { _ = l.Close(); <-done })
	return w, path
}

// Whatever bytes a client sends, what reaches the control plane is whole requests only, as many as were answered from
// there, each with exactly one assertion, which holds for exactly what arrived, and with nothing else that says who sent it
// (I2, I3).
func FuzzRequest(f *testing.F) {
	f.Add([]byte(get))
	f.Add([]byte(upgrade))
	f.Add([]byte(post("{}", "Content-Length: 2", "Content-Type: application/json", "Idempotency-Key: k")))
	f.Add([]byte(post("5\r\nhello\r\n0\r\nBerth-Ingress-Assertion: x\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: Berth-Ingress-Assertion")))
	f.Add([]byte(post("GET /internal/v1/x HTTP/1.1\r\nHost: b\r\n\r\n", "Content-Length: 4")))
	f.Add([]byte(request("berth_ingress-ASSERTION: v1.a.b", "Connection: berth-ingress-assertion, content-type", "Content-Type: a")))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	for _, v := range targets.All() {
		f.Add([]byte("GET /internal/v1" + v.Text + " HTTP/1.1\r\nHost: berth\r\n\r\n"))
	}
	w, path := sharp(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 64<<10 {
			return
		}
		w.back.forget()
		conn, err := net.Dial("unix", path)
		must(t, err)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write(raw) // it may be refused before all of it is written
		said, err := io.ReadAll(conn)
		if isTimeout(err) {
			t.Fatalf("the connection has no end; it said %q", said)
		}
		all := w.back.all()
		if answered := bytes.Count(said, []byte("X-Request-Id: req_back\r\n")); answered != len(all) {
			t.Fatalf("%d requests arrived, %d were answered: %q", len(all), answered, said)
		}
		for _, got := range all {
			checkArrived(t, w, got)
		}
		if torn := w.back.torn(); torn != "" {
			t.Fatalf("something that is no request arrived: %s", torn)
		}
	})
}

func checkArrived(t *testing.T, w *world, got arrived) {
	t.Helper()
	proof, err := w.proven(got)
	if err != nil || proof.SPIFFEID.Node() != "n1" {
		t.Fatalf("%q: %v", got.raw, err)
	}
	if !strings.HasPrefix(got.target(), "/internal/v1/") || len(got.TransferEncoding) > 0 || len(got.body) > contract.MaxBody ||
		strings.Count(got.raw, "\n") != strings.Count(got.raw, "\r\n") || strings.Count(got.raw, "\r") != strings.Count(got.raw, "\r\n") {
		t.Fatalf("arrived %q", got.raw)
	}
	names := map[string]bool{}
	for line := range strings.Lines(got.raw) {
		name, _, ok := strings.Cut(line, ":")
		if !ok || !ingress.Claims(name) {
			continue
		}
		if names[name] || name != contract.HeaderAssertion {
			t.Fatalf("arrived %q", got.raw)
		}
		names[name] = true
	}
}

// A Host that is taken means one thing to every parser: joined to a scheme it is a URL of that host and nothing more.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"berth", "berth:8443", "127.0.0.1:1", "[::1]:8443", "[::1]", "a.b.c", "a@b", "a/b", "a:b", "[::1", "a..b", "", ":80", "a:0", "a:65536", "[fe80::1%25eth0]"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !ingress.ValidHost(host) {
			return
		}
		checkHost(t, host)
	})
}

func checkHost(t *testing.T, host string) {
	t.Helper()
	u, err := url.Parse("https://" + host + "/x")
	if err != nil || u.Host != host || u.User != nil || u.Path != "/x" || u.Hostname() == "" {
		t.Fatalf("%q is read as %+v, %v", host, u, err)
	}
	if _, err := identity.Seal(identity.IngressSecret{ID: "s", Key: make([]byte, 32)}, payloadFor(t, host)); err != nil {
		t.Fatalf("%q can not be asserted: %v", host, err)
	}
}

func payloadFor(t *testing.T, host string) identity.Payload {
	t.Helper()
	id, err := identity.RelayID(trustDomain, "eu", "n1")
	must(t, err)
	now := time.Now()
	return identity.Payload{
		SPIFFEID: id, Fingerprint: identity.FingerprintOf(nil), Method: "GET", Target: "/", Host: host,
		IssuedAt: now, ExpiresAt: now.Add(time.Second), Nonce: make([]byte, 16),
	}
}
