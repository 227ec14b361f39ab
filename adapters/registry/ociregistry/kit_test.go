package ociregistry

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.uber.org/goleak"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/e2e/lab"
	"berth/ports/clock/clocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a client beside a clock that stands still.
type bench struct {
	tb     testing.TB
	clock  *clocktest.Fake
	client *Client
}

func newBench(tb testing.TB) bench {
	tb.Helper()
	clock := clocktest.New(time.Unix(1_800_000_000, 0))
	client := New(Config{Clock: clock})
	tb.Cleanup(client.Close)
	return bench{tb, clock, client}
}

// hurried is a bench whose client waits only so long.
func hurried(tb testing.TB, wait time.Duration) bench {
	tb.Helper()
	b := newBench(tb)
	b.client.config.AnswerFor = wait
	return b
}

func (b bench) forget() { b.clock.Advance(rememberFor + time.Second) }

// refuses fails unless an image of a registry is answered with a fault, which is returned.
func (b bench) refuses(reference string, slug string, registries ...delivery.Registry) *fault.Error {
	b.tb.Helper()
	image, err := b.client.Resolve(b.tb.Context(), registries, reference)
	if err == nil || fault.SlugOf(err) != slug {
		b.tb.Fatalf("%s is answered with %+v, %v, and not with %s", reference, image, err, slug)
	}
	f, _ := fault.As(err)
	return f
}

// server is a registry of the test's own making, over plain HTTP. It counts what it is asked.
type server struct {
	Host  string
	asked atomic.Int64
}

func (s *server) registry() delivery.Registry {
	return delivery.Registry{Host: s.Host, PlainHTTP: true}
}

func serve(tb testing.TB, h http.Handler) *server {
	tb.Helper()
	s := &server{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		h.ServeHTTP(w, r)
	}))
	tb.Cleanup(web.Close)
	s.Host = strings.TrimPrefix(web.URL, "http://")
	return s
}

// inProcess is go-containerregistry's own registry.
func inProcess() http.Handler { return ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))) }

// fickle is a handler that can be replaced while it serves.
type fickle struct {
	mu sync.Mutex
	h  http.Handler
}

func (f *fickle) set(h http.Handler) { f.mu.Lock(); defer f.mu.Unlock(); f.h = h }

func (f *fickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	h := f.h
	f.mu.Unlock()
	h.ServeHTTP(w, r)
}

// answer answers everything with a status.
func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// over answers requests whose path holds a word as one handler does, and others as the next.
func over(word string, h, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, word) {
			h.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

// only answers requests of a method as one handler does, and others as the next.
func only(method string, h, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method {
			h.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

func pusher(tb testing.TB, host string) lab.Pusher {
	tb.Helper()
	t := &http.Transport{}
	tb.Cleanup(t.CloseIdleConnections)
	return lab.PushTo(tb, host, remote.WithTransport(t))
}

func digestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha256:" + hex.EncodeToString(sum[:])
}
