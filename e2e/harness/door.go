package harness

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// Door stands before a stand's registry at an address of its own, and answers as a test wants it.
type Door struct {
	Host string

	through http.Handler
	answer  atomic.Pointer[http.HandlerFunc]
}

// NewDoor opens one and registers it: images at it are those of the stand's registry.
func (s *Stand) NewDoor() *Door {
	s.tb.Helper()
	d := &Door{through: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Registry.Host})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := d.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		d.through.ServeHTTP(w, r)
	}))
	s.tb.Cleanup(server.Close)
	d.Host = strings.TrimPrefix(server.URL, "http://")
	s.Register(d.Host)
	return d
}

// Answers lets the door answer like this; nil lets everything through.
func (d *Door) Answers(how http.HandlerFunc) {
	if how == nil {
		d.answer.Store(nil)
		return
	}
	d.answer.Store(&how)
}

// Holds lets the next answers wait. Asked is closed once somebody waits; after release everything goes through.
func (d *Door) Holds(tb testing.TB) (asked <-chan struct{}, release func()) {
	tb.Helper()
	here, open := make(chan struct{}), make(chan struct{})
	var first, last atomic.Bool
	d.Answers(func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			close(here)
		}
		select {
		case <-open:
			d.through.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	release = func() {
		if last.CompareAndSwap(false, true) {
			close(open)
			d.Answers(nil)
		}
	}
	tb.Cleanup(release)
	return here, release
}
