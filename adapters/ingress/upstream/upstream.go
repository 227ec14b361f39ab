package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"berth/adapters/contract"
)

// Options say where the control plane is. Zero durations mean the defaults.
type Options struct {
	Endpoints []Endpoint  // one or more replicas
	TLS       *tls.Config // nil for the system's CAs and no certificate

	DialTimeout time.Duration // of a connection with its handshake: 3 s
	Timeout     time.Duration // from a request to the head of its answer: the longest long poll and 5 s
	Stall       time.Duration // the longest silence within an answer: 30 s
	Idle        time.Duration // how long an unused connection is kept: 30 s, less than the control plane keeps it
	Leave       time.Duration // how long a replica that can not be reached is left out: 1 s
}

// Endpoint is one replica. Secure asks for TLS.
type Endpoint struct {
	Network string // "unix" or "tcp"
	Address string
	Secure  bool
}

// Upstream is the control plane. Its methods are safe for concurrent use. Use New, and Close when done.
type Upstream struct {
	o         Options
	endpoints []*endpoint
	turn      atomic.Uint32
}

// New returns an upstream. No connection is made before one is needed.
func New(o Options) *Upstream {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&o.DialTimeout, 3*time.Second)
	def(&o.Timeout, (contract.MaxWait+5)*time.Second)
	def(&o.Stall, 30*time.Second)
	def(&o.Idle, 30*time.Second)
	def(&o.Leave, time.Second)
	if o.TLS == nil {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	}
	u := &Upstream{o: o}
	for _, e := range o.Endpoints {
		u.endpoints = append(u.endpoints, &endpoint{Endpoint: e, o: &u.o})
	}
	return u
}

// Close lets go of the connections that no request uses.
func (u *Upstream) Close() {
	for _, e := range u.endpoints {
		e.closeIdle()
	}
}

// attempts bounds how often a connection that turns out to be dead is replaced, before anything was sent over it.
const attempts = 3

// Do sends a request once and returns the answer's head; the caller closes the answer. The error is an *Error, or the
// cause of the context's end where that came first.
func (u *Upstream) Do(ctx context.Context, q *Request) (a *Answer, err error) {
	for range attempts {
		a, err = u.try(ctx, q)
		if failed, ok := errors.AsType[*Error](err); !ok || failed.Fate != NotSent || failed.final {
			break
		}
	}
	return a, err
}

func (u *Upstream) try(ctx context.Context, q *Request) (*Answer, error) {
	c, err := u.connect(ctx)
	if err != nil {
		return nil, err
	}
	// Whatever the request waits for ends with its context.
	stop := context.AfterFunc(ctx, c.cut)
	a, err := c.exchange(q, u.o.Timeout)
	if err == nil {
		a.detach, a.stall = stop, u.o.Stall
		return a, nil
	}
	stop()
	c.cut()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if failed, ok := errors.AsType[*Error](err); ok && failed.Fate == Broken {
		c.home.leaveOut()
	}
	return nil, err
}

// connect takes a connection that is open, or opens one to the first replica that lets it.
func (u *Upstream) connect(ctx context.Context) (*conn, error) {
	var failed error
	for _, e := range u.order() {
		c, err := e.connect(ctx)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		failed = errors.Join(failed, err)
	}
	return nil, &Error{Fate: NotSent, Err: failed, final: true}
}

// order is the replicas in turn, those that were left out last.
func (u *Upstream) order() []*endpoint {
	if len(u.endpoints) == 1 {
		return u.endpoints
	}
	first := int(u.turn.Add(1) % uint32(len(u.endpoints))) //nolint:gosec // there are a few
	out := make([]*endpoint, 0, len(u.endpoints))
	var away []*endpoint
	for i := range u.endpoints {
		e := u.endpoints[(first+i)%len(u.endpoints)]
		if e.available() {
			out = append(out, e)
		} else {
			away = append(away, e)
		}
	}
	return append(out, away...)
}

// fateOf classifies what went wrong once a request was on its way.
func fateOf(err error) *Error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &Error{Fate: Late, Err: err}
	}
	return &Error{Fate: Broken, Err: err}
}
