package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"berth/domain/fault"
)

// front is a listener whose connections are through their handshake: each is a *tls.Conn over a *link.
type front struct {
	g       *Ingress
	raw     net.Listener
	ready   chan net.Conn
	pending pending
	ctx     context.Context //nolint:containedctx // the life of the listener, which Accept has no argument for
	end     context.CancelFunc
	working sync.WaitGroup
	failed  error // why the listener ended; set before ctx is done
}

func (g *Ingress) newFront(ctx context.Context, raw net.Listener) *front {
	f := &front{g: g, raw: raw, ready: make(chan net.Conn), pending: pending{most: g.o.Limits.Handshakes}}
	f.ctx, f.end = context.WithCancel(ctx)
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
		f.g.o.Log.Error("no connection can be accepted for now", "error", err)
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// take begins a handshake. Too many of them make way for the newest: an honest one takes milliseconds, so that the oldest
// is the most likely to be held up on purpose.
func (f *front) take(c net.Conn) {
	l, err := f.g.crowd.admit(c)
	if err != nil {
		f.g.o.Metrics.handshakeFailed(fault.SlugOf(err))
		_ = c.Close()
		return
	}
	f.pending.add(l)
	f.working.Go(func() { f.welcome(l) })
}

// welcome completes a handshake and hands the connection on.
func (f *front) welcome(l *link) {
	ctx, cancel := context.WithTimeout(f.ctx, f.g.o.Limits.HandshakeTimeout)
	defer cancel()
	secured := tls.Server(l, f.g.serverTLS(&l.peer))
	err := secured.HandshakeContext(ctx)
	f.pending.remove(l)
	if err == nil {
		err = f.g.crowd.settle(l)
	}
	if err != nil {
		f.refuse(l, err)
		return
	}
	select {
	case f.ready <- secured:
	case <-f.ctx.Done():
		_ = secured.Close()
	}
}

func (f *front) refuse(l *link, err error) {
	defer l.Close()
	reason := handshakeReason(err)
	if f.ctx.Err() != nil {
		return
	}
	f.g.o.Metrics.handshakeFailed(reason)
	level := slog.LevelInfo
	if _, named := fault.As(err); !named || reason == certificateRequired { // port scans and probes of load balancers
		level = slog.LevelDebug
	}
	f.g.o.Log.Log(f.ctx, level, "a connection was refused", "reason", reason, "remote", l.RemoteAddr().String(), "error", err)
}

// handshakeReason names why a handshake failed: the slug of what is wrong with the certificate, or what else it was.
func handshakeReason(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Slug
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return "handshake_timeout"
	}
	return "handshake_failed"
}
