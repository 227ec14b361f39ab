package upstream

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

const mostIdle = 256 // connections that are kept to one replica

// endpoint is one replica and its idle connections, the one used last at the end.
type endpoint struct {
	Endpoint
	o *Options

	mu   sync.Mutex
	idle []*conn
	away time.Time // until when it is left out
}

func (e *endpoint) available() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.away.IsZero() || time.Now().After(e.away)
}

func (e *endpoint) leaveOut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away = time.Now().Add(e.o.Leave)
}

// connect takes an idle connection on which the other side is still there, or opens one. An error leaves the replica out
// for a moment.
func (e *endpoint) connect(ctx context.Context) (*conn, error) {
	for c := e.take(); c != nil; c = e.take() {
		if c.quiet() {
			return c, nil
		}
		c.cut()
	}
	c, err := e.dial(ctx)
	if err != nil && ctx.Err() == nil {
		e.leaveOut()
	}
	return c, err
}

func (e *endpoint) take() *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.idle) - 1
	if last < 0 {
		return nil
	}
	c := e.idle[last]
	e.idle[last], e.idle = nil, e.idle[:last]
	return c
}

// put keeps a connection for later, and lets go of those that nobody wanted for long.
func (e *endpoint) put(c *conn) {
	now := time.Now()
	c.since = now
	e.mu.Lock()
	e.away = time.Time{} // it answered
	e.idle = append(e.idle, c)
	n := max(0, len(e.idle)-mostIdle)
	for n < len(e.idle) && now.Sub(e.idle[n].since) > e.o.Idle {
		n++
	}
	var stale []*conn
	if n > 0 {
		stale = append(stale, e.idle[:n]...)
		e.idle = append(e.idle[:0], e.idle[n:]...)
	}
	e.mu.Unlock()
	for _, c := range stale {
		c.cut()
	}
}

func (e *endpoint) closeIdle() {
	for c := e.take(); c != nil; c = e.take() {
		c.cut()
	}
}

func (e *endpoint) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.DialTimeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, e.Network, e.Address)
	if err != nil {
		return nil, err
	}
	if !e.Secure {
		return newConn(e, raw, raw), nil
	}
	config := e.o.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(e.Address)
	}
	secured := tls.Client(raw, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("the handshake with %s: %w", e.Address, err)
	}
	return newConn(e, raw, secured), nil
}
