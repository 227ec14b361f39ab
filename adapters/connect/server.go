package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
)

// ServerOptions are what the devices' listener works with.
type ServerOptions struct {
	// Certificate is asked at each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Limits      Limits
	Log         *slog.Logger
}

// Server is the devices' listener: TLS 1.2 and up with HTTP/1.1, and bounds on what has not shown a token yet. Use NewServer.
type Server struct {
	o     ServerOptions
	http  *http.Server
	gate  *gate
	front atomic.Pointer[front]
}

const maxHeader = 16 << 10 // bytes; a token has at most 4 KiB

// NewServer returns a server that hands its requests to h.
func NewServer(o ServerOptions, h http.Handler) *Server {
	var one http.Protocols
	one.SetHTTP1(true)
	return &Server{o: o, gate: newGate(&o.Limits), http: &http.Server{
		Handler: h, Protocols: &one, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: o.Limits.HeaderTimeout, IdleTimeout: o.Limits.KeepAlive,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}}
}

// tls is for browsers too: they have TLS 1.2 at least.
func (s *Server) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.o.Certificate}
}

// Serve takes connections until Shutdown, and closes the listener; then it returns nil. It is called once.
func (s *Server) Serve(l net.Listener) error {
	f := newFront(l, s.gate, s.tls(), s.o)
	defer f.Close() // nothing depends on it any more
	s.front.Store(f)
	if err := s.http.Serve(f); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Shutdown takes no connection any more and waits for the requests that are being answered. What is still there when ctx
// ends is cut, with an error. WebSockets are the Handler's: stop that first.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // what is still there had its time
	}
	if f := s.front.Load(); f != nil {
		_ = f.Close() // it takes nothing any more
	}
	return err
}

// ServerCounts is what came to the listener.
type ServerCounts struct {
	Connections int64 // that are open, WebSockets included
	Accepted    int64
	Crowded     int64 // were closed before their handshake: too many, or too many of their address
	Unsecured   int64 // had no handshake
}

// Counts may be called at any time.
func (s *Server) Counts() ServerCounts { return s.gate.read() }
