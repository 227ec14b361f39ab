package ingressd

import (
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"testing"

	"berth/adapters/ingress/upstream"
	"berth/cmd/internal/listen"
)

// Over the network the hop is mutual TLS 1.3 (DESIGN §1): an upstream is believed by its pinned key, by its CA, or by both
// where both are given, and gets the ingress's own certificate; what does not prove itself gets no byte of a request.
func TestHopOverTLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ca, other := p.authority("hop"), p.authority("other")
	server, _, _, err := ca.Server("control")
	must(t, err)
	_, cert, key, err := ca.Server("ingress-client")
	must(t, err)
	own, err := tls.LoadX509KeyPair(cert, key)
	must(t, err)
	stranger, strangerKey := func() (string, string) {
		_, c, k, err := other.Server("stranger")
		must(t, err)
		return c, k
	}()
	pin := listen.Pin(server.Leaf.RawSubjectPublicKeyInfo)
	addr := p.secured(server, listen.Pin(own.Leaf.RawSubjectPublicKeyInfo), tls.VersionTLS13)
	old := p.secured(server, listen.Pin(own.Leaf.RawSubjectPublicKeyInfo), tls.VersionTLS12)
	wrong := listen.Pin([]byte("x"))
	for name, c := range map[string]struct {
		addr string
		env  map[string]string
		ok   bool
	}{
		"pinned":             {addr, map[string]string{"UPSTREAM_PINS": pin}, true},
		"one of two pins":    {addr, map[string]string{"UPSTREAM_PINS": wrong + "," + pin}, true},
		"another pin":        {addr, map[string]string{"UPSTREAM_PINS": wrong}, false},
		"its CA":             {addr, map[string]string{"UPSTREAM_CA_FILE": ca.File()}, true},
		"another CA":         {addr, map[string]string{"UPSTREAM_CA_FILE": other.File()}, false},
		"CA and pin":         {addr, map[string]string{"UPSTREAM_CA_FILE": ca.File(), "UPSTREAM_PINS": pin}, true},
		"CA and another pin": {addr, map[string]string{"UPSTREAM_CA_FILE": ca.File(), "UPSTREAM_PINS": wrong}, false},
		"another CA and pin": {addr, map[string]string{"UPSTREAM_CA_FILE": other.File(), "UPSTREAM_PINS": pin}, false},
		"TLS 1.2":            {old, map[string]string{"UPSTREAM_PINS": pin}, false},
		"unknown client":     {addr, map[string]string{"UPSTREAM_PINS": pin, "UPSTREAM_CERT_FILE": stranger, "UPSTREAM_KEY_FILE": strangerKey}, false},
	} {
		q := &place{tb: t, dir: p.dir, env: map[string]string{}}
		for _, from := range []map[string]string{p.env, {"UPSTREAM": "https://" + c.addr, "UPSTREAM_CERT_FILE": cert, "UPSTREAM_KEY_FILE": key}, c.env} {
			maps.Copy(q.env, from)
		}
		before := p.questions()
		_, err := q.open().upstream.TrustBundle(t.Context())
		if (err == nil) != c.ok || (p.questions() > before) != c.ok {
			t.Errorf("%s: %v, %d questions", name, err, p.questions()-before)
		}
		if failed, ok := errors.AsType[*upstream.Error](err); err != nil && (!ok || name != "unknown client" && failed.Fate != upstream.NotSent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (p *place) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// secured is a stub of the control plane that takes one client, by its key.
func (p *place) secured(cert *tls.Certificate, pin string, most uint16) string {
	p.tb.Helper()
	c := listen.PinnedTLS(func() *tls.Certificate { return cert }, []string{pin})
	c.MinVersion, c.MaxVersion, c.NextProtos = tls.VersionTLS12, most, []string{"http/1.1"}
	l, err := net.Listen("tcp", "localhost:0")
	must(p.tb, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		_, _ = w.Write([]byte(`{}`))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(tls.NewListener(l, c)) }()
	p.tb.Cleanup(func() { _ = s.Close(); <-done })
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(p.tb, err)
	return "localhost:" + port
}
