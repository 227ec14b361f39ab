package peering

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"berth/domain/fault"
)

// Listener takes devices' requests from peers, and hands them on as such (R3). Use NewListener.
type Listener struct {
	o       Options
	plane   Plane
	handler http.Handler
	http    *http.Server
	lines   lines
	pending atomic.Int64 // handshakes that are not through

	mu      sync.Mutex
	refused map[string]int64
}

const maxHeader = 16 << 10 // bytes, as on the devices' listener

// NewListener returns a listener that hands what peers forward to h, marked by contract.WithForwarded.
func NewListener(o Options, p Plane, h http.Handler) *Listener {
	var one http.Protocols
	one.SetHTTP1(true)
	l := &Listener{o: o, plane: p, handler: h, refused: map[string]int64{}}
	l.http = &http.Server{
		Handler: l, Protocols: &one, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: o.Limits.HeaderTimeout, IdleTimeout: o.Limits.KeepAlive + o.Limits.StallTimeout, // the forwarder ends them first
		ErrorLog:    slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ConnContext: lineContext,
	}
	return l
}

// Serve takes connections until Shutdown, closes the listener, and then returns nil. It is called once.
func (l *Listener) Serve(on net.Listener) error {
	if err := l.http.Serve(&front{on, l}); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Shutdown takes no connection any more and waits for the requests that are answered, until ctx ends. Then every connection is
// cut, WebSockets included: whoever serves those has ended them before.
func (l *Listener) Shutdown(ctx context.Context) error {
	err := l.http.Shutdown(ctx)
	l.lines.close()
	return err
}

// Counts is what came to the listener.
type Counts struct {
	Open    int              // connections
	Pending int              // of which are in their handshake
	Refused map[string]int64 // connections, by the slug of why
}

// Counts may be called at any time.
func (l *Listener) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Counts{Open: l.lines.open(), Pending: int(l.pending.Load()), Refused: maps.Clone(l.refused)}
}

// front secures what a listener accepts.
type front struct {
	net.Listener
	l *Listener
}

// Accept returns connections whose handshake is still to come. Those that are too many are closed without a word.
func (f *front) Accept() (net.Conn, error) {
	for {
		raw, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := f.l.secure(raw); c != nil {
			return c, nil
		}
		_ = raw.Close()
	}
}

func (l *Listener) secure(raw net.Conn) net.Conn {
	limits := l.o.Limits
	if l.lines.open() >= limits.Connections || l.pending.Load() >= int64(limits.Handshakes) {
		l.refuse(raw, fault.New(fault.Exhausted, "too_many_connections", "too many connections of peers"))
		return nil
	}
	var through sync.Once
	done := func() { l.pending.Add(-1) }
	at := &line{Conn: raw, gone: func(at *line) {
		through.Do(done)
		l.lines.forget(at)
	}}
	if !l.lines.add(at) {
		return nil
	}
	l.pending.Add(1)
	judge := believe(l.plane, at, "", limits.HandshakeTimeout)
	return tls.Server(at, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn},
		SessionTicketsDisabled: true,                  // a session that is resumed would be judged by what was true before
		ClientAuth:             tls.RequestClientCert, // one that shows none is refused by the judge, which says so
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(l.plane) },
		VerifyConnection: func(s tls.ConnectionState) error {
			err := judge(s)
			if err != nil {
				l.refuse(raw, err)
				return err
			}
			through.Do(done)
			return nil
		},
	})
}

// refuse counts a refusal by its name. Whoever is refused is a stranger: the log is not theirs to fill.
func (l *Listener) refuse(from net.Conn, err error) {
	slug := fault.SlugOf(err)
	l.mu.Lock()
	l.refused[slug]++
	l.mu.Unlock()
	l.o.Log.Debug("a connection of no peer was refused", "from", from.RemoteAddr().String(), "slug", slug, "error", err)
}

type lineKey struct{}

func lineContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		return context.WithValue(ctx, lineKey{}, t.NetConn())
	}
	return ctx
}
