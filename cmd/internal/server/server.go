// Package server serves a control plane: it opens the listeners, runs the duties beside them, and stops both in order.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"berth/adapters/httpapi"
	"berth/cmd/internal/config"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/settings"
	"berth/cmd/internal/wiring/berthd"
)

// Server serves one process.
type Server struct {
	Process *berthd.Process
	Out     io.Writer // a line for each listener and one when all serve, for scripts
	Ready   func()    // called once all serve; may be nil
}

// bound is a listener that is open.
type bound struct {
	*httpapi.Server
	url string
}

// Run serves until the context ends. Then no request is taken any more, those that were are finished within the grace,
// and after them the duties end. A listener that fails ends all of it.
func (s *Server) Run(ctx context.Context) error {
	certs, err := openCertificates(s.Process.Config)
	if err != nil {
		return err
	}
	open, err := s.open(ctx, certs)
	if err != nil {
		return err
	}
	front, err := s.openIngress(ctx, open)
	if err != nil {
		closeAll(open)
		return err
	}
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The duties outlive the listeners: what was accepted may need them.
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var duties, listeners sync.WaitGroup
	duties.Go(func() {
		if err := s.Process.Watch.Run(working, append(s.Process.Duties, certs.duty(s.Process.Log))...); err != nil {
			stop(err)
		}
	})
	duties.Go(func() { s.reloadOnHangUp(working, certs, front) })
	for _, l := range open {
		listeners.Go(func() {
			if err := l.Run(serving, s.Process.Config.StopGrace); err != nil {
				stop(fmt.Errorf("the %s listener: %w", l.Name, err))
			}
		})
	}
	front.prepare(ctx)
	listeners.Go(func() {
		if err := front.run(serving); err != nil {
			stop(fmt.Errorf("the ingress listener: %w", err))
		}
	})
	s.announce(open, front)
	listeners.Wait()
	rest()
	duties.Wait()
	if cause := context.Cause(serving); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// open opens every listener or none.
func (s *Server) open(ctx context.Context, certs *certificates) ([]bound, error) {
	var open []bound
	c, h := s.Process.Config, s.Process.Handlers
	for _, l := range []struct {
		name, address string
		handler       http.Handler
	}{
		{"api", c.Listen, h.API}, {"internal", c.InternalListen, h.Internal}, {"enroll", c.EnrollListen, h.Enroll},
		{"metrics", c.MetricsListen, h.Metrics},
	} {
		if l.address == "" || l.address == config.Off {
			continue
		}
		one, err := s.openOne(ctx, l.name, l.address, certs)
		if err != nil {
			closeAll(open)
			return nil, fmt.Errorf("the %s listener: %w", l.name, err)
		}
		one.Handler = l.handler
		open = append(open, one)
	}
	return open, nil
}

func closeAll(open []bound) {
	for _, o := range open {
		_ = o.Listener.Close()
	}
}

func (s *Server) openOne(ctx context.Context, name, text string, certs *certificates) (bound, error) {
	a, err := settings.ParseAddress(text)
	if err != nil {
		return bound{}, err
	}
	l, err := listen.Open(ctx, a, s.Process.Config.SocketMode())
	if err != nil {
		return bound{}, err
	}
	b := bound{Server: &httpapi.Server{
		Name: name, Listener: l, Log: s.Process.Log.With("listener", name), MaxConns: s.Process.Config.MaxConnections,
	}}
	if a.Network == "unix" {
		b.url = "unix:" + l.Addr().String()
		return b, nil
	}
	b.TLS = certs.tls(name, s.Process.Config.InternalClientPins)
	b.url = address(l.Addr(), b.TLS != nil)
	return b, nil
}

func address(a net.Addr, secured bool) string {
	if secured {
		return "https://" + a.String()
	}
	return "http://" + a.String()
}

// announce tells scripts and people where what is served.
func (s *Server) announce(open []bound, front *front) {
	for _, l := range open {
		fmt.Fprintf(s.Out, "listening %s %s\n", l.Name, l.url)
	}
	if front.url != "" {
		fmt.Fprintf(s.Out, "listening ingress %s\n", front.url)
	}
	fmt.Fprintln(s.Out, "ready")
	if s.Ready != nil {
		s.Ready()
	}
}

// reloadOnHangUp reads the files of secrets anew whenever the process gets SIGHUP.
func (s *Server) reloadOnHangUp(ctx context.Context, certs *certificates, front *front) {
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangUp:
		}
		front.reread()
		_, err := s.Process.Secrets.Reload()
		said(s.Process.Log, "ingress secrets", err)
		if s.Process.Config.ExternalRootsFile != "" {
			_, err := s.Process.Roots.Reload()
			said(s.Process.Log, "the roots of other CAs", err)
		}
		for _, w := range certs.all() {
			_, err := w.Reload()
			said(s.Process.Log, "a certificate", err)
		}
	}
}

func said(log *slog.Logger, what string, err error) {
	if err != nil {
		log.Error("what was there before stays in use", "read", what, "error", err)
		return
	}
	log.Info("read anew", "read", what)
}
