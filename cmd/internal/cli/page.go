package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// Page is the listener of metrics, and of what people look at.
type Page struct {
	URL string // empty for none

	listener net.Listener
	server   *http.Server
}

// PageAt is where a page is.
type PageAt struct {
	Listen   string      // as the setting metrics_listen
	Mode     fs.FileMode // of a Unix socket
	CertFile string      // empty for no TLS; a Unix socket has none
	KeyFile  string
}

const (
	pageTimeout = 15 * time.Second
	pageHeader  = 16 << 10
)

// OpenPage opens the listener of a page; Run serves it.
func OpenPage(ctx context.Context, at PageAt, handler http.Handler, log *slog.Logger) (*Page, error) {
	if at.Listen == settings.Off {
		return &Page{}, nil
	}
	a, err := settings.ParseAddress(at.Listen)
	if err != nil {
		return nil, err
	}
	l, err := listen.Open(ctx, a, at.Mode)
	if err != nil {
		return nil, pageFault(err)
	}
	p := &Page{URL: "http://" + l.Addr().String(), listener: l, server: &http.Server{
		Handler: handler, ReadTimeout: pageTimeout, WriteTimeout: pageTimeout, MaxHeaderBytes: pageHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	switch {
	case a.Network == "unix":
		p.URL = "unix:" + l.Addr().String()
	case at.CertFile != "":
		if err := p.secure(at); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return p, nil
}

// secure has the page served by a certificate that is followed as its files change.
func (p *Page) secure(at PageAt) error {
	pair, err := secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(at.CertFile, at.KeyFile) },
		at.CertFile, at.KeyFile)
	if err != nil {
		return err
	}
	p.URL = "https://" + p.listener.Addr().String()
	p.listener = tls.NewListener(p.listener, listen.TLS(func() *tls.Certificate {
		_, _ = pair.Refresh() // what can not be used leaves what was there
		return pair.Current()
	}))
	return nil
}

// Run serves until the context ends. A page that is read meanwhile is read again.
func (p *Page) Run(ctx context.Context) error {
	if p.listener == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = p.server.Close() })
	defer stop()
	if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return pageFault(err)
	}
	return nil
}

func pageFault(err error) error { return fmt.Errorf("the metrics listener: %w", err) }
