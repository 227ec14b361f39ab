package relayload

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"berth/adapters/contract"
)

// hop is the way from the ingress to the control plane. Where it loses hints, a poll that would wait for one hangs until the
// node gives it up, and every other request passes.
type hop struct {
	losing atomic.Bool
	wait   context.Context // of polls that wait while hints pass
	lose   context.CancelFunc
}

// newHop serves a Unix socket and passes what comes to another one.
func newHop(tb testing.TB, at, to string) *hop {
	tb.Helper()
	h := &hop{}
	h.wait, h.lose = context.WithCancel(context.Background())
	tb.Cleanup(h.lose)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "control"})
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", to)
		}},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	l, err := net.Listen("unix", at)
	must(tb, err)
	server := &http.Server{Handler: h.through(proxy)}
	go func() { _ = server.Serve(l) }() // returns when it is closed
	tb.Cleanup(func() { _ = server.Close() })
	return h
}

func (h *hop) through(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var poll contract.Poll
		if strings.HasSuffix(r.URL.Path, "/authorization/poll") && json.Unmarshal(body, &poll) == nil && poll.Wait > 0 {
			h.hint(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hint carries a poll that waits.
func (h *hop) hint(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if h.losing.Load() {
		<-ctx.Done()
		panic(http.ErrAbortHandler)
	}
	defer context.AfterFunc(h.wait, cancel)()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// loseHints loses them from now on, also those of the polls that wait already.
func (h *hop) loseHints() {
	h.losing.Store(true)
	h.lose()
}
