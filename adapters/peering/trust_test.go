package peering_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/contract"
)

// imposter is a certificate that is not that of the peer n1, and how each side names why.
type imposter struct {
	make     func(r *registry) paper
	incoming string // refused by a listener
	outgoing string // refused by a forwarder that wants n1
}

func imposters() map[string]imposter {
	alone := func(uri string, change ...func(*x509.Certificate)) func(*registry) paper {
		return func(*registry) paper { return issue(uri, change...) }
	}
	listed := func(uri, as string, change ...func(*x509.Certificate)) func(*registry) paper {
		return func(r *registry) paper {
			p := issue(uri, change...)
			r.list(p, as)
			return p
		}
	}
	return map[string]imposter{
		"revoked": {func(r *registry) paper {
			p := issue(spiffe("n1"))
			r.list(p, spiffe("n1"))
			r.revoke(p)
			return p
		}, "peer_not_listed", "peer_not_listed"},
		"unlisted":          {alone(spiffe("n1")), "peer_not_listed", "peer_not_listed"},
		"expired":           {listed(spiffe("n1"), spiffe("n1"), func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "peer_expired", "peer_expired"},
		"not valid yet":     {listed(spiffe("n1"), spiffe("n1"), func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "peer_not_yet_valid", "peer_not_yet_valid"},
		"another role":      {listed("spiffe://berth.test/agent/eu/n1", spiffe("n1")), "certificate_spiffe_id", "certificate_spiffe_id"},
		"another region":    {listed("spiffe://berth.test/relay/us/n1", "spiffe://berth.test/relay/us/n1"), "peer_region", "peer_of_another_node"},
		"another domain":    {listed("spiffe://evil.test/relay/eu/n1", "spiffe://evil.test/relay/eu/n1"), "peer_trust_domain", "peer_of_another_node"},
		"another node's id": {listed(spiffe("n1"), spiffe("n2")), "peer_id_mismatch", "peer_id_mismatch"},
		"the node's own":    {listed(spiffe("n0"), spiffe("n0")), "peer_is_self", "peer_of_another_node"},
		"of an authority":   {listed(spiffe("n1"), spiffe("n1"), func(c *x509.Certificate) { c.IsCA = true }), "certificate_kind", "certificate_kind"},
		"of a server alone": {listed(spiffe("n1"), spiffe("n1"), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), "certificate_kind", "certificate_kind"},
		"naming a host too": {listed(spiffe("n1"), spiffe("n1"), func(c *x509.Certificate) { c.DNSNames = []string{"n1.test"} }), "certificate_names", "certificate_names"},
		"naming nobody":     {listed("https://n1.test/", spiffe("n1")), "certificate_spiffe_id", "certificate_spiffe_id"},
	}
}

// Whoever is not a peer is refused in the handshake, by name, and nothing of what it sends is looked at; the peers go on.
func TestListenerRefusesStrangers(t *testing.T) {
	t.Parallel()
	for name, c := range imposters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &registry{}
			var served atomic.Int64
			o := r.owner(t, r.node("n0"), quick(), func(http.ResponseWriter, *http.Request) { served.Add(1) })
			p := c.make(r)
			got := shown(t, o.address, &tls.Certificate{Certificate: [][]byte{p.der}, PrivateKey: p.key})
			if served.Load() != 0 || strings.Contains(got, "HTTP") {
				t.Fatalf("it was served: %q", got)
			}
			within(t, 5*time.Second, "it is refused as "+c.incoming, func() bool { return o.listener.Counts().Refused[c.incoming] == 1 && o.links() == 0 })
		})
	}
}

// shown makes a request of a listener as somebody with a certificate, or none, and returns what comes back.
func shown(tb testing.TB, address string, c *tls.Certificate) string {
	tb.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if c != nil {
		config.Certificates = []tls.Certificate{*c}
	}
	return spoken(tb, address, config, "GET /connect/v1 HTTP/1.1\r\nHost: x\r\n"+contract.ForwardedGeneration+": 7\r\n\r\n")
}

func spoken(tb testing.TB, address string, config *tls.Config, text string) string {
	tb.Helper()
	raw := must(net.Dial("tcp", address))
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(5 * time.Second))
	conn := tls.Client(raw, config)
	if _, err := io.WriteString(conn, text); err != nil {
		return err.Error()
	}
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer a.Body.Close()
	body, _ := io.ReadAll(a.Body)
	return "HTTP " + a.Status + " " + string(body)
}

// Without a certificate, and with a TLS before 1.3, nobody comes in.
func TestListenerWantsACertificateAndTLS13(t *testing.T) {
	t.Parallel()
	r := &registry{}
	peer := r.node("n1")
	o := r.owner(t, r.node("n0"), quick(), func(http.ResponseWriter, *http.Request) { t.Error(errNobody) })
	if got := shown(t, o.address, nil); strings.Contains(got, "HTTP") {
		t.Fatalf("without a certificate: %s", got)
	}
	within(t, 5*time.Second, "it is refused", func() bool { return o.listener.Counts().Refused["peer_certificate_missing"] == 1 })
	config := &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{peer.shown.der}, PrivateKey: peer.shown.key}},
	}
	if got := spoken(t, o.address, config, "GET /connect/v1 HTTP/1.1\r\nHost: x\r\n\r\n"); strings.Contains(got, "HTTP") {
		t.Fatalf("TLS 1.2: %s", got)
	}
}

// A forwarder hands nothing to whoever is not exactly the node that the route names, and names why.
func TestForwarderRefusesStrangers(t *testing.T) {
	t.Parallel()
	for name, c := range imposters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &registry{}
			var served atomic.Int64
			them := r.plane(spiffe("n1"), c.make(r))
			o := r.owner(t, them, quick(), func(http.ResponseWriter, *http.Request) { served.Add(1) })
			n := r.near(t, r.node("n0"), quick(), o.route("n1"))
			for i, try := range []func() (answered, error){
				func() (answered, error) { _, a, _ := n.dial(t, nil); return a, nil },
				func() (answered, error) { return n.get(t, contract.AttachmentsPath+"ab") },
			} {
				a, err := try()
				if err != nil || a.status != http.StatusServiceUnavailable || a.slug() != c.outgoing {
					t.Fatalf("try %d: %+v, %v", i, a, err)
				}
			}
			if served.Load() != 0 || n.links() != 0 || n.refusals() != 2 {
				t.Fatalf("%d were served, %d links, %d refusals", served.Load(), n.links(), n.refusals())
			}
		})
	}
}

// A peer that does not believe this node says so in the handshake; the device is told to come back.
func TestForwarderThatIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := &registry{}
	o := r.owner(t, r.node("n1"), quick(), func(http.ResponseWriter, *http.Request) { t.Error(errNobody) })
	n := r.near(t, r.plane(spiffe("n0"), issue(spiffe("n0"))), quick(), o.route("n1"))
	for i := range 2 {
		if i == 0 {
			_, _, _ = n.dial(t, nil)
		} else {
			_, _ = n.get(t, contract.AttachmentsPath+"ab")
		}
		if err := n.ended(t, i); slugOf(err) != "peer_refused" {
			t.Fatalf("try %d ended with %v", i, err)
		}
	}
}

// A connection that is kept is used for the node that it leads to, and for no other at the same address.
func TestPooledConnectionIsOfOneNode(t *testing.T) {
	t.Parallel()
	r := &registry{}
	o := r.owner(t, r.node("n1"), quick(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	n := r.near(t, r.node("n0"), quick(), o.route("n1"))
	for _, step := range [][2]string{{"n1", "ok"}, {"n2", "peer_of_another_node"}, {"n1", "ok"}} {
		node, want := step[0], step[1]
		n.mu.Lock()
		n.route = o.route(node)
		n.mu.Unlock()
		for range 2 {
			a, err := n.get(t, contract.AttachmentsPath+"ab")
			if err != nil || a.slug()+a.body != want {
				t.Fatalf("%s: %+v, %v", node, a, err)
			}
		}
	}
}

// A connection that is kept for the next request is cut with its peer, and another one is made once that is believed again.
func TestPooledConnectionIsCut(t *testing.T) {
	t.Parallel()
	r := &registry{}
	o := r.owner(t, r.node("n1"), quick(), func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	n := r.near(t, r.node("n0"), quick(), o.route("n1"))
	get := func() string {
		a, err := n.get(t, contract.AttachmentsPath+"ab")
		if err != nil {
			t.Fatal(err)
		}
		return a.slug() + a.body
	}
	if a, b := get(), get(); a != "ok" || b != "ok" || n.links() != 1 {
		t.Fatalf("%s, %s over %d connections", a, b, n.links())
	}
	r.revoke(o.shown)
	if got := get(); got != "peer_not_listed" || n.links() != 0 {
		t.Fatalf("after the revocation: %s, %d links", got, n.links())
	}
	r.list(o.shown, spiffe("n1"))
	if got := get(); got != "ok" {
		t.Fatalf("believed again: %s", got)
	}
}
