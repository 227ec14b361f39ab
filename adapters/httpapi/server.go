package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"berth/adapters/contract"
)

// Server is one listener's HTTP server.
type Server struct {
	Name     string
	Listener net.Listener
	Handler  http.Handler
	TLS      *tls.Config // nil for a Unix socket or a loopback listener
	Log      *slog.Logger
	MaxConns int // connections at once; 0 is 10,000

	// Ahead is closed once nobody needs the server any more who has to stop before it; nil for nobody. Until then a server
	// that stops still takes requests, and ends long polls at once.
	Ahead <-chan struct{}
}

const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 15 * time.Second                      // of each body, set by the engine: a read timeout of the server would end long polls
	writeTimeout  = (contract.MaxWait + 15) * time.Second // longer than the longest long poll
	idleTimeout   = 2 * time.Minute
)

// Run serves until ctx ends, then takes no new request, lets those it accepted finish within grace, and returns.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	stopping := make(chan struct{})
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, (<-chan struct{})(stopping))
	server := &http.Server{
		Handler: s.Handler, ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: contract.MaxHeader, TLSConfig: s.TLS,
		DisableGeneralOptionsHandler: true, // the engine refuses "*" as it does every target that is no path
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return base },
	}
	most := s.MaxConns
	if most == 0 {
		most = 10_000
	}
	server.ConnState = newCrowd(server, most).changed
	failed := make(chan error, 1)
	go func() { failed <- s.serve(server, netutil.LimitListener(s.Listener, most)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Long polls end at once, so that a stop does not wait for them; whatever else runs keeps its context.
	close(stopping)
	if s.Ahead != nil {
		<-s.Ahead
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(stop)
	return errors.Join(err, <-failed)
}

func (s *Server) serve(server *http.Server, l net.Listener) error {
	var err error
	if s.TLS != nil {
		err = server.ServeTLS(l, "", "")
	} else {
		err = server.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

type stoppingKey struct{}

// Waiting bounds a long poll: its context ends after wait, when the client leaves, or when the server begins to stop,
// so that a stop waits for no poll. The work of a request uses the request's own context.
func Waiting(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	stopping, ok := ctx.Value(stoppingKey{}).(<-chan struct{})
	if !ok {
		return bounded, cancel
	}
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-bounded.Done():
		}
	}()
	return bounded, cancel
}
