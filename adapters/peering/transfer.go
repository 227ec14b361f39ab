package peering

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/ports/authority"
)

// transfer forwards a request that is answered at once, such as for an attachment, over a connection that is used again.
func (f *Forwarder) transfer(w http.ResponseWriter, r *http.Request, to authority.Route) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	body := newSending(w, r, f.o.Limits)
	defer body.end()
	out := &http.Request{
		Method: r.Method, Host: r.Host, Header: pass(r, to, false), ContentLength: r.ContentLength,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, // without it the transport awaits no 100
		URL: &url.URL{
			Scheme: "https", Host: f.pool.host(place{to.Address, to.SPIFFEID}), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery,
		},
	}
	if r.ContentLength != 0 {
		out.Body = body
		out.Header["Expect"] = []string{"100-continue"} // so that a peer which refuses leaves the body where it is
	}
	a, err := f.pool.RoundTrip(out.WithContext(ctx))
	if err == nil {
		defer a.Body.Close()
		err = refusalOf(a)
	}
	switch {
	case err == nil:
		body.leave()
		f.giveBack(w, a, cancel)
		return nil
	case errors.Is(err, errBodyTooLarge):
		err = fault.New(fault.Invalid, "body_too_large", "a body has at most %d bytes", f.o.Limits.Body)
	default:
		err = f.failed(r.Context(), to, broken(err))
	}
	if body.end() { // there is no second attempt
		answer(w, err)
		return nil
	}
	return err
}

// giveBack passes an answer on. One that breaks off is broken off for the device too, who could not tell it from a whole one.
func (f *Forwarder) giveBack(w http.ResponseWriter, a *http.Response, cancel func()) {
	control := http.NewResponseController(w)
	giveBack(w.Header(), a.Header)
	if w.Header().Get("Date") == "" {
		w.Header()["Date"] = nil // the peer's to say
	}
	stall := time.AfterFunc(f.o.Limits.StallTimeout, cancel)
	defer stall.Stop()
	w.WriteHeader(a.StatusCode)
	p, _ := pieces.Get().(*piece)
	defer pieces.Put(p)
	for {
		n, err := a.Body.Read(p[:])
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(f.o.Limits.StallTimeout)) // a dead connection says so below
			stall.Reset(2 * f.o.Limits.StallTimeout)                              // of the write, and of the next read
			if _, werr := w.Write(p[:n]); werr != nil {
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

var errBodyTooLarge = errors.New("the body is longer than it may be")

// sending is a device's body on its way to the peer. It is read no more once the request has ended.
type sending struct {
	r       *http.Request
	control *http.ResponseController
	stall   time.Duration
	left    int64

	mu    sync.Mutex
	began bool
	whole bool // all of it was read, or there is none
	ended bool
}

func newSending(w http.ResponseWriter, r *http.Request, l Limits) *sending {
	return &sending{
		r: r, control: http.NewResponseController(w), left: l.Body, stall: l.StallTimeout, whole: r.ContentLength == 0,
	}
}

// Read reads what the device sends, which has to move.
func (s *sending) Read(b []byte) (int, error) {
	if !s.begin() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := s.r.Body.Read(b)
	if errors.Is(err, io.EOF) {
		s.mu.Lock()
		s.whole = true
		s.mu.Unlock()
	}
	if s.left -= int64(n); s.left < 0 {
		return 0, errBodyTooLarge
	}
	return n, err
}

func (s *sending) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.began = true
	_ = s.control.SetReadDeadline(time.Now().Add(s.stall)) // a dead connection says so below
	return true
}

// Close leaves the device's body to its server.
func (s *sending) Close() error { return nil }

// end has nothing be read any more, and says whether anything was.
func (s *sending) end() (begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.began {
		s.hasten()
	}
	return s.began
}

// leave is end where the answer is there, so that nobody has need of what the device still has to send.
func (s *sending) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.hasten()
}

// lastBytes is how long what a device still sends is taken in before it is answered.
const lastBytes = 100 * time.Millisecond

// hasten breaks off what is being read, and net/http's own reading of the rest: the answer waits for both, and a device that
// was refused in the middle may send nothing more. The caller holds mu.
func (s *sending) hasten() {
	if !s.whole {
		_ = s.control.SetReadDeadline(time.Now().Add(lastBytes)) // a dead connection says so by itself
	}
}

// moving is a pooled connection, on which a write may not hang.
type moving struct {
	*tls.Conn
	stall time.Duration
}

// Write writes within the time in which something must move.
func (m *moving) Write(b []byte) (int, error) {
	_ = m.SetWriteDeadline(time.Now().Add(m.stall)) // a dead connection says so below
	return m.Conn.Write(b)
}

// Close closes the connection at once: TLS's farewell would wait for a reader that may not come.
func (m *moving) Close() error { return m.NetConn().Close() }
