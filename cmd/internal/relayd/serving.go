package relayd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"berth/adapters/connect"
	"berth/adapters/peering"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// Serving is what the node serves: devices on their listener, and what its peers forward on theirs.
type Serving struct {
	Handler *connect.Handler
	Devices *connect.Server   // nil where devices have no listener
	Peers   *peering.Listener // nil where peers have none
}

// NewServing serves devices by a handler.
func NewServing(c Config, h *connect.Handler, log *slog.Logger) (*Serving, error) {
	s := &Serving{Handler: h}
	if c.Listen == "" {
		return s, nil
	}
	certificate, err := c.certificate(log)
	if err != nil {
		return nil, err
	}
	s.Devices = connect.NewServer(connect.ServerOptions{Certificate: certificate, Limits: c.Limits(), Log: log}, h)
	return s, nil
}

// Server serves a listener until it is shut down.
type Server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
}

// served is one listener and who serves it.
type served struct {
	name     string
	listener net.Listener
	server   Server
}

// open opens the listeners that are wanted.
func (p *Process) open(ctx context.Context) (all []served, err error) {
	c := p.Config
	defer func() {
		if err != nil {
			for _, s := range all {
				_ = s.listener.Close()
			}
		}
	}()
	if c.Listen != "" {
		if all, err = add(ctx, all, served{name: "devices", server: p.Serving.Devices}, c.Listen); err != nil {
			return all, err
		}
	}
	if c.PeerListen != "" {
		return add(ctx, all, served{name: "peers", server: p.Serving.Peers}, c.PeerListen)
	}
	return all, nil
}

func add(ctx context.Context, all []served, s served, at string) ([]served, error) {
	address, err := settings.ParseAddress(at)
	if err == nil {
		s.listener, err = listen.Open(ctx, address, 0o600)
	}
	if err != nil {
		return all, fmt.Errorf("the listener of %s: %w", s.name, err)
	}
	return append(all, s), nil
}

const lookCertificate = time.Second

// certificate is the one of the origin, as its files have it now: they are looked at once a second at most, however many
// handshakes there are.
func (c Config) certificate(log *slog.Logger) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	pair, err := secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(c.TLSCertFile, c.TLSKeyFile) },
		c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	next := time.Now().Add(lookCertificate)
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.After(next) {
			next = now.Add(lookCertificate)
			tell(log, pair)
		}
		return pair.Current(), nil
	}, nil
}

func tell(log *slog.Logger, pair *secretfile.Watched[*tls.Certificate]) {
	switch changed, err := pair.Refresh(); {
	case err != nil:
		log.Error("the certificate that was read before stays in use", "error", err)
	case changed:
		log.Info("read anew", "read", "tls_cert_file")
	}
}

// serve runs the servers until they are shut down; where one fails, end is told.
func serve(all []served, out io.Writer, end func(error)) (wait func()) {
	var running sync.WaitGroup
	for _, s := range all {
		fmt.Fprintf(out, "listening %s %s\n", s.name, s.listener.Addr())
		running.Go(func() {
			if err := s.server.Serve(s.listener); err != nil {
				end(fmt.Errorf("the listener of %s: %w", s.name, err))
			}
		})
	}
	return running.Wait
}

// part sends the devices away and then closes the listeners. What is not done when ctx ends is cut.
func (p *Process) part(ctx context.Context, all []served) {
	p.Serving.Handler.Stop(ctx)
	for _, s := range all {
		if err := s.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			p.Log.Warn("connections were cut", "listener", s.name, "error", err)
		}
	}
}
