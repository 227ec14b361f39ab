package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// page is the listener of metrics. Beyond this machine it has the ingress's certificate.
type page struct {
	listener net.Listener // nil for none
	server   *http.Server
	url      string
}

const pageTimeout = 15 * time.Second

func openPage(ctx context.Context, c ingressd.Config, handler http.Handler, log *slog.Logger) (*page, error) {
	if c.MetricsListen == settings.Off {
		return &page{}, nil
	}
	a, err := settings.ParseAddress(c.MetricsListen)
	if err != nil {
		return nil, err
	}
	const mode = 0o660
	l, err := listen.Open(ctx, a, mode)
	if err != nil {
		return nil, fmt.Errorf("the metrics listener: %w", err)
	}
	p := &page{listener: l, url: "http://" + l.Addr().String(), server: &http.Server{
		Handler: listen.Unambiguous(handler), ReadTimeout: pageTimeout, WriteTimeout: pageTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	switch {
	case a.Network == "unix":
		p.url = "unix:" + l.Addr().String()
	case !a.Local():
		certificate, err := secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(c.CertFile, c.KeyFile) }, c.CertFile, c.KeyFile)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		p.server.TLSConfig, p.url = listen.TLS(func() *tls.Certificate {
			_, _ = certificate.Refresh() // what can not be used is told by whoever serves nodes
			return certificate.Current()
		}), "https://"+l.Addr().String()
	}
	return p, nil
}

// run serves until the context ends.
func (p *page) run(ctx context.Context) error {
	if p.listener == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = p.server.Close() })
	defer stop()
	serve := p.server.Serve
	if p.server.TLSConfig != nil {
		serve = func(l net.Listener) error { return p.server.ServeTLS(l, "", "") }
	}
	if err := serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
