package peering_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"berth/adapters/peering"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/authority"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func slugOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.SlugOf(err)
}

// paper is a certificate with its key.
type paper struct {
	der []byte
	key ed25519.PrivateKey
}

func (p paper) fingerprint() string { return identity.FingerprintOf(p.der) }

// issue makes a certificate that names an URI.
func issue(uri string, change ...func(*x509.Certificate)) paper {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		URIs: []*url.URL{must(url.Parse(uri))}, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range change {
		c(template)
	}
	return paper{must(x509.CreateCertificate(rand.Reader, template, template, public, key)), key}
}

func spiffe(node string) string { return "spiffe://berth.test/relay/eu/" + node }

// registry is who is listed, for all nodes of a test.
type registry struct {
	mu     sync.Mutex
	listed map[string]string // SPIFFE ids by fingerprint
	stale  bool
	planes []*plane
}

func (r *registry) list(p paper, as string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed == nil {
		r.listed = map[string]string{}
	}
	r.listed[p.fingerprint()] = as
}

// change changes the list and has every node judge its connections anew, as each does with a new list.
func (r *registry) change(do func()) {
	r.mu.Lock()
	do()
	planes := r.planes
	r.mu.Unlock()
	for _, p := range planes {
		p.sweep()
	}
}

func (r *registry) revoke(p paper) { r.change(func() { delete(r.listed, p.fingerprint()) }) }

func (r *registry) judge(self string, c identity.NodeCertificate) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []identity.ListedPeer
	for print, as := range r.listed {
		all = append(all, identity.ListedPeer{SPIFFEID: must(identity.ParseSPIFFEID(as)), Fingerprint: print, ExpiresAt: time.Now().Add(time.Hour)})
	}
	at := identity.Moment{Wall: time.Now(), Elapsed: time.Second}
	if r.stale {
		at.Elapsed = time.Hour
	}
	return identity.NewPeerList(must(identity.ParseSPIFFEID(self)), all, 0).Judge(c, at, time.Minute)
}

// plane is a node that believes whom the registry lists, by the domain's rule.
type plane struct {
	self  string
	all   *registry
	shown paper

	mu      sync.Mutex
	open    map[*link]struct{}
	refused []authority.Route
}

type link struct {
	p   *plane
	c   identity.NodeCertificate
	cut func(error)
}

func (r *registry) plane(self string, shown paper) *plane {
	p := &plane{self: self, all: r, shown: shown, open: map[*link]struct{}{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.planes = append(r.planes, p)
	return p
}

// node is a plane whose certificate is listed.
func (r *registry) node(name string) *plane {
	p := issue(spiffe(name))
	r.list(p, spiffe(name))
	return r.plane(spiffe(name), p)
}

func (p *plane) Certificate() ([][]byte, ed25519.PrivateKey, bool) {
	return [][]byte{p.shown.der}, p.shown.key, p.shown.der != nil
}

func (p *plane) Believe(_ context.Context, c *x509.Certificate, want string, cut func(error)) (peering.Link, error) {
	shown, err := identity.NodeCertificateOf(c)
	if err != nil {
		return nil, err
	}
	if want != "" && shown.SPIFFEID.String() != want {
		return nil, fault.New(fault.Unauthenticated, "peer_of_another_node", "it is %s", shown.SPIFFEID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.all.judge(p.self, shown); err != nil {
		return nil, err
	}
	l := &link{p, shown, cut}
	p.open[l] = struct{}{}
	return l, nil
}

func (p *plane) RouteRefused(r authority.Route) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = append(p.refused, r)
}

func (p *plane) refusals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.refused)
}

func (p *plane) links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

func (p *plane) sweep() {
	p.mu.Lock()
	all := maps.Clone(p.open)
	p.mu.Unlock()
	for l := range all {
		if err := p.all.judge(p.self, l.c); err != nil {
			l.Close()
			l.cut(err)
		}
	}
}

func (l *link) Node() string { return l.c.SPIFFEID.Node() }

func (l *link) Close() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	delete(l.p.open, l)
}

func quick() peering.Options {
	l := peering.DefaultLimits()
	l.FailFast = 0
	return peering.Options{Limits: l, Log: slog.New(slog.DiscardHandler)}
}

// owner is a node that holds tenants, behind its listener for peers.
type owner struct {
	*plane
	listener *peering.Listener
	address  string
}

func (r *registry) owner(tb testing.TB, p *plane, o peering.Options, h http.HandlerFunc) *owner {
	tb.Helper()
	out := &owner{plane: p, listener: peering.NewListener(o, p, h)}
	on := must(net.Listen("tcp", "127.0.0.1:0"))
	out.address = on.Addr().String()
	done := make(chan error, 1)
	go func() { done <- out.listener.Serve(on) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = out.listener.Shutdown(ctx)
		if err := <-done; err != nil {
			tb.Errorf("serving ended with %v", err)
		}
	})
	return out
}

func (o *owner) route(node string) authority.Route {
	return authority.Route{Tenant: "acme", Node: node, Generation: 7, Version: 9, Address: o.address, SPIFFEID: spiffe(node)}
}

// near is a node that devices connect to, which forwards all of it.
type near struct {
	*plane
	forwarder *peering.Forwarder
	front     *httptest.Server
	stop      context.CancelFunc

	mu     sync.Mutex
	route  authority.Route
	result []error
}

func (r *registry) near(tb testing.TB, p *plane, o peering.Options, to authority.Route) *near {
	tb.Helper()
	n := &near{plane: p, forwarder: peering.NewForwarder(o, p), route: to}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		n.mu.Lock()
		to := n.route
		n.mu.Unlock()
		err := n.forwarder.Forward(w, r.WithContext(within), to)
		n.mu.Lock()
		n.result = append(n.result, err)
		n.mu.Unlock()
		if err != nil {
			w.Header().Set("X-Slug", slugOf(err))
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	n.front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	n.front.Start()
	tb.Cleanup(func() {
		stop()
		n.front.Close()
		n.forwarder.Close()
	})
	return n
}

// ended waits for the nth forward to end, and returns its error.
func (n *near) ended(tb testing.TB, nth int) error {
	tb.Helper()
	var out error
	within(tb, 10*time.Second, "a forward ended", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.result) > nth {
			out = n.result[nth]
			return true
		}
		return false
	})
	return out
}

func within(tb testing.TB, d time.Duration, what string, so func() bool) {
	tb.Helper()
	look, end := time.NewTicker(time.Millisecond), time.After(d)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-end:
			tb.Fatalf("it is not so within %v that %s", d, what)
		}
	}
}

// answered is what a device is answered.
type answered struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func read(a *http.Response) answered {
	if a == nil {
		return answered{}
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	return answered{a.StatusCode, a.Header, string(body), err}
}

func (a answered) slug() string { return a.header.Get("X-Slug") }

// get makes a request of a device.
func (n *near) get(tb testing.TB, path string) (answered, error) {
	tb.Helper()
	r := must(http.NewRequestWithContext(tb.Context(), http.MethodGet, n.front.URL+path, nil))
	a, err := n.front.Client().Do(r)
	if err != nil {
		return answered{}, err
	}
	defer a.Body.Close()
	return read(a), nil
}

var errNobody = errors.New("nobody is to come here")
