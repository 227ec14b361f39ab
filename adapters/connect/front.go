package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// front is a listener whose connections are through their handshake.
type front struct {
	raw   net.Listener
	gate  *gate
	tls   *tls.Config
	o     ServerOptions
	pace  *rate.Limiter
	ready chan net.Conn

	ctx     context.Context //nolint:containedctx // the life of the listener, which Accept has no argument for
	end     context.CancelFunc
	working sync.WaitGroup
	mu      sync.Mutex
	pending []*link // handshakes in flight, the oldest first
	failed  error   // why the listener ended; set before ctx is done
}

func newFront(raw net.Listener, g *gate, t *tls.Config, o ServerOptions) *front {
	f := &front{
		raw: raw, gate: g, tls: t, o: o, ready: make(chan net.Conn),
		pace: rate.NewLimiter(rate.Limit(o.Limits.AcceptRate), o.Limits.AcceptBurst),
	}
	f.ctx, f.end = context.WithCancel(context.Background())
	f.working.Go(f.accept)
	return f
}

// Accept returns the next connection that is through its handshake.
func (f *front) Accept() (net.Conn, error) {
	select {
	case c := <-f.ready:
		return c, nil
	case <-f.ctx.Done():
		if f.failed != nil {
			return nil, f.failed
		}
		return nil, net.ErrClosed
	}
}

// Addr is where the listener listens.
func (f *front) Addr() net.Addr { return f.raw.Addr() }

// Close ends the listener and the handshakes in flight.
func (f *front) Close() error {
	err := f.raw.Close()
	f.end()
	f.working.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

const (
	leastPause = 5 * time.Millisecond
	mostPause  = time.Second
)

// accept takes connections until the listener ends. A machine that is out of file descriptors is waited for.
func (f *front) accept() {
	defer f.end()
	pause := leastPause
	for {
		c, err := f.raw.Accept()
		if err == nil {
			pause = leastPause
			f.take(c)
			continue
		}
		if f.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		//nolint:staticcheck // deprecated for want of a definition; net uses it for exactly this
		if passing, ok := errors.AsType[net.Error](err); !ok || !passing.Temporary() {
			f.failed = err
			return
		}
		f.o.Log.Error("no connection can be accepted for now", "error", err)
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// take begins a handshake when its time has come. Those that have to wait do so in the kernel's queue: devices that all
// come back at once are let in one after another, instead of all of them slowly.
func (f *front) take(c net.Conn) {
	l, ok := f.gate.enter(c)
	if !ok {
		_ = c.Close()
		return
	}
	if f.pace.Wait(f.ctx) != nil {
		_ = l.Close()
		return
	}
	f.begin(l)
	f.working.Go(func() { f.welcome(l) })
}

// begin counts a handshake in flight. Too many of them make way for the newest: an honest one takes milliseconds, so that
// the oldest is the most likely to be held up on purpose.
func (f *front) begin(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) >= f.o.Limits.Handshakes {
		_ = f.pending[0].Close() // its handshake fails
		f.pending = f.pending[1:]
	}
	f.pending = append(f.pending, l)
}

func (f *front) through(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.pending, l); i >= 0 {
		f.pending = slices.Delete(f.pending, i, i+1)
	}
}

// welcome completes a handshake and hands the connection on.
func (f *front) welcome(l *link) {
	secured := tls.Server(l, f.tls)
	ctx, cancel := context.WithTimeout(f.ctx, f.o.Limits.HeaderTimeout)
	err := secured.HandshakeContext(ctx)
	cancel()
	f.through(l)
	if err != nil {
		f.gate.failed()
		f.o.Log.Debug("a handshake failed", "remote", l.RemoteAddr().String(), "error", err)
		_ = l.Close()
		return
	}
	select {
	case f.ready <- secured:
	case <-f.ctx.Done():
		_ = secured.Close()
	}
}
