package ingressd

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"berth/adapters/clock/systemclock"
	"berth/adapters/contract"
	"berth/adapters/ingress"
	"berth/cmd/internal/devca"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// place is the files of an ingress, and a stub of the control plane that tells the trust bundle.
type place struct {
	tb  testing.TB
	dir string
	env map[string]string

	mu     sync.Mutex
	status int
	bundle contract.TrustBundle
	asked  int
}

func newPlace(tb testing.TB) *place {
	tb.Helper()
	dir, err := os.MkdirTemp("", "b") // short enough for a socket
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{tb: tb, dir: dir, status: http.StatusOK}
	ca := p.authority("one")
	_, cert, key, err := ca.Server("ingress")
	must(tb, err)
	p.tell(ca)
	p.secrets("s1")
	p.env = map[string]string{
		"LISTEN": "127.0.0.1:0", "CERT_FILE": cert, "KEY_FILE": key, "TRUST_DOMAIN": "berth.example", "METRICS_LISTEN": "off",
		"UPSTREAM": "unix:" + p.path("s"), "SECRETS_FILE": p.path("secrets.json"), "TRUST_BUNDLE_FILE": p.path("bundle.pem"),
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) authority(name string) *devca.CA {
	p.tb.Helper()
	must(p.tb, os.MkdirAll(p.path(name), 0o700))
	ca, err := devca.Open(p.path(name), "berth.example", time.Now())
	must(p.tb, err)
	return ca
}

func (p *place) secrets(id string) {
	p.tb.Helper()
	must(p.tb, secretfile.Write(p.path("secrets.json"), []byte(`{"secrets":[{"id":"`+id+`","key":"`+strings.Repeat("QUFB", 11)+`"}]}`)))
}

func pemOf(tb testing.TB, ca *devca.CA) string {
	tb.Helper()
	text, err := os.ReadFile(ca.File())
	must(tb, err)
	return string(text)
}

// tell has the stub tell these roots.
func (p *place) tell(all ...*devca.CA) {
	p.tb.Helper()
	b := contract.TrustBundle{TrustDomain: "berth.example"}
	for _, ca := range all {
		b.PEM += pemOf(p.tb, ca)
	}
	p.set(http.StatusOK, b)
}

func (p *place) set(status int, b contract.TrustBundle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.bundle = status, b
}

// serve runs the stub until the test ends, or until the function returned is called.
func (p *place) serve() (stop func()) {
	p.tb.Helper()
	l, err := net.Listen("unix", p.path("s"))
	must(p.tb, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		if r.RequestURI != "/trust-bundle" || r.Header.Get("Berth-Ingress-Assertion") != "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		text, _ := json.Marshal(p.bundle)
		w.WriteHeader(p.status)
		_, _ = w.Write(text)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	stop = sync.OnceFunc(func() { _ = s.Close(); <-done })
	p.tb.Cleanup(stop)
	return stop
}

func (p *place) environ() []string {
	var out []string
	for name, value := range p.env {
		out = append(out, "BERTH_INGRESS_"+name+"="+value)
	}
	return out
}

func (p *place) load() (Config, error) {
	l, err := Load(settings.Sources{Environ: p.environ()})
	if err != nil {
		return Config{}, err
	}
	return l.Values, nil
}

// kept is an ingress's files and bundle, without its listener.
type kept struct {
	*keeper
	follower
	log *lines
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

var _ io.Writer = (*lines)(nil)

func (p *place) open() *kept {
	p.tb.Helper()
	c, err := p.load()
	must(p.tb, err)
	files, err := OpenFiles(c, new(ingress.Trust))
	must(p.tb, err)
	u, err := NewUpstream(c, files)
	must(p.tb, err)
	p.tb.Cleanup(u.Close)
	clock, err := systemclock.New()
	must(p.tb, err)
	out := &lines{}
	log, m := slog.New(slog.NewTextHandler(out, nil)), ingress.NewMetrics(prometheus.NewRegistry())
	return &kept{
		&keeper{config: c, trust: files.trust, heard: func() { files.heard.Store(true) }, upstream: u, log: log, metrics: m, clock: clock,
			wake: make(chan struct{}, 1)},
		follower{files: files, log: log, metrics: m, clock: clock}, out,
	}
}

func (k *kept) roots() int {
	n, _ := k.keeper.trust.Roots()
	return n
}
