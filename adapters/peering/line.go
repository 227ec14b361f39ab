package peering

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/fault"
)

// line is a connection to or from a peer, below its TLS.
type line struct {
	net.Conn
	gone func(*line) // called once, when it is closed

	broken atomic.Bool // nothing comes any more

	mu     sync.Mutex
	link   Link // nil until the other end is believed
	closed bool
}

// Read notes the end of the connection.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err != nil && errors.Is(err, io.EOF) {
		l.broken.Store(true)
	}
	return n, err
}

// truncated says whether what seems to be the end of what a peer says is that of its connection, without a word: package tls tells
// the two not apart (RFC 8446 §6.1).
func truncated(c *tls.Conn) bool {
	l, ok := c.NetConn().(*line)
	return ok && l.broken.Load()
}

// Close closes the connection and forgets it, also in the middle of whatever goes on over it.
func (l *line) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	link := l.link
	l.mu.Unlock()
	err := l.Conn.Close()
	if !first {
		return err
	}
	if link != nil {
		link.Close()
	}
	l.gone(l)
	return err
}

// NetConn is the connection itself, for what only that can.
func (l *line) NetConn() net.Conn { return l.Conn }

// peer is whose the other end is; empty before the handshake is through.
func (l *line) peer() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link == nil {
		return ""
	}
	return l.link.Node()
}

// take notes that the other end is believed. It is false where the connection was cut meanwhile.
func (l *line) take(link Link) bool {
	l.mu.Lock()
	if !l.closed {
		l.link = link
	}
	closed := l.closed
	l.mu.Unlock()
	if closed {
		link.Close()
	}
	return !closed
}

// believe has the plane judge the other end of a connection in the middle of its handshake.
func believe(p Plane, l *line, want string, within time.Duration) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return fault.New(fault.Unauthenticated, "peer_certificate_missing", "the peer shows no certificate")
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		link, err := p.Believe(ctx, s.PeerCertificates[0], want, func(error) { _ = l.Close() })
		if err != nil {
			return err
		}
		if !l.take(link) {
			return fault.New(fault.Unavailable, "peer_cut", "the connection was cut in its handshake")
		}
		return nil
	}
}

// own is the node's certificate for a handshake. Fault: Unavailable credential_missing.
func own(p Plane) (*tls.Certificate, error) {
	chain, key, ok := p.Certificate()
	if !ok {
		return nil, fault.New(fault.Unavailable, "credential_missing", "this node has no certificate")
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key}, nil
}

const alpn = "http/1.1"

// lines are the connections that are open.
type lines struct {
	mu  sync.Mutex
	all map[*line]struct{}
	end bool
}

// add takes a connection, unless everything ended.
func (s *lines) add(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end {
		return false
	}
	if s.all == nil {
		s.all = map[*line]struct{}{}
	}
	s.all[l] = struct{}{}
	return true
}

func (s *lines) forget(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

func (s *lines) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// close closes all of them, and takes no more.
func (s *lines) close() {
	s.mu.Lock()
	s.end = true
	var all []*line
	for l := range s.all {
		all = append(all, l)
	}
	s.mu.Unlock()
	for _, l := range all {
		_ = l.Close()
	}
}
