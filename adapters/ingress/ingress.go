package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Ingress serves nodes. Use New.
type Ingress struct {
	o        Options
	verifier verifier
	crowd    *crowd
	memory   memory
	answers  sync.Pool // of buffers
	tunnels  sync.WaitGroup
	disturb  chan struct{} // the bundle changed
	stopping chan struct{}
}

// New returns an ingress. The listener of Run may be a TCP or a Unix one.
func New(o Options) *Ingress {
	g := &Ingress{
		o: o, verifier: verifier{trust: o.Trust, trustDomain: o.TrustDomain, now: o.Clock.Now},
		crowd: newCrowd(o.Limits, o.Metrics), memory: memory{most: o.Limits.BodyMemory},
		answers: sync.Pool{New: func() any { return new([answerBuffer]byte) }},
		disturb: make(chan struct{}, 1), stopping: make(chan struct{}),
	}
	o.Trust.onChange(func() {
		select {
		case g.disturb <- struct{}{}:
		default:
		}
	})
	return g
}

// errStopping ends the requests that a stop does not wait for.
func errStopping() *fault.Error {
	return fault.New(fault.Unavailable, "ingress_stopping", "the ingress stops; another one answers").After(time.Second)
}

// Run serves until ctx ends. Then it takes no connection, tunnels end, and so do requests that change nothing and wait;
// all others are finished within grace. It is called once.
func (g *Ingress) Run(ctx context.Context, l net.Listener, grace time.Duration) error {
	server := g.server()
	living, rest := context.WithCancel(context.WithoutCancel(ctx))
	f := g.newFront(living, l)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(f) }()
	var sweeps sync.WaitGroup
	sweeps.Go(func() { g.sweep(living) })
	var err error
	select {
	case err = <-failed:
		failed <- nil
	case <-ctx.Done():
	}
	close(g.stopping)
	g.crowd.dismiss(func(l *link) error {
		if l.tunnel.Load() || l.safe.Load() {
			return errStopping()
		}
		return nil
	})
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if late := server.Shutdown(stop); late != nil {
		_ = server.Close() // what is still there had its time
		err = errors.Join(err, late)
	}
	rest()
	_ = f.Close()
	sweeps.Wait()
	g.tunnels.Wait()
	g.o.Upstream.Close()
	if served := <-failed; served != nil && !errors.Is(served, http.ErrServerClosed) && !errors.Is(served, net.ErrClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// answerMargin is what the write timeout leaves for an answer, once the longest long poll has ended.
const answerMargin = 15 * time.Second

// server is the HTTP server behind the front. Its own write timeout is for what it answers without the handler, which sets
// a deadline for each piece of an answer.
func (g *Ingress) server() *http.Server {
	var one http.Protocols
	one.SetHTTP1(true)
	return &http.Server{
		Handler: http.HandlerFunc(g.serve), Protocols: &one,
		ReadHeaderTimeout: g.o.Limits.HeaderTimeout, IdleTimeout: g.o.Limits.IdleTimeout,
		WriteTimeout:                 contract.MaxWait*time.Second + answerMargin,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true, // "*" is refused as every target that is no path
		ErrorLog:                     slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx, end := context.WithCancelCause(ctx)
			l := below(c)
			l.end.Store(&end)
			return context.WithValue(ctx, linkKey{}, l)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			switch l := below(c); state {
			case http.StateActive:
				l.work()
			case http.StateNew, http.StateIdle, http.StateHijacked:
				l.rest()
			case http.StateClosed:
			}
		},
	}
}

// below finds the link under a connection's TLS.
func below(c net.Conn) *link {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	l, _ := c.(*link)
	return l
}

const sweepInterval = time.Second

// sweep ends what may not go on: connections whose certificate ended or whose root left the bundle, and tunnels in which
// nothing moves. Requests are judged by themselves as well.
func (g *Ingress) sweep(ctx context.Context) {
	timer := g.o.Clock.NewTimer(sweepInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.disturb:
		case <-timer.C():
			timer.Reset(sweepInterval)
			g.crowd.tidy(time.Now())
		}
		g.crowd.dismiss(func(l *link) error {
			if l.tunnel.Load() && l.still() > g.o.Limits.TunnelIdle {
				return fault.New(fault.Exhausted, "tunnel_idle", "nothing moved for too long")
			}
			return g.verifier.check(l.peer)
		})
	}
}
