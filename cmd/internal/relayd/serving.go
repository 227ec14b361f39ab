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
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// Serving is what the node serves: devices on their listener, and what its peers forward on theirs.
type Serving struct {
	Handler *connect.Handler
	Peers   Server // what is forwarded; nil where there are no peers
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
		certificate, err := p.certificate()
		if err != nil {
			return all, err
		}
		server := connect.NewServer(connect.ServerOptions{Certificate: certificate, Limits: c.Limits(), Log: p.Log}, p.Serving.Handler)
		if all, err = add(ctx, all, served{name: "devices", server: server}, c.Listen); err != nil {
			return all, err
		}
	}
	if c.PeerListen != "" && p.Serving.Peers != nil {
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
func (p *Process) certificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	c := p.Config
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
			tell(p.Log, pair)
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
