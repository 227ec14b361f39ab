package relayd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"berth/adapters/apiclient"
	"berth/application/relay"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// Process is a node and its page.
type Process struct {
	Config    Config
	Node      *relay.Node
	Authority *apiclient.Authority
	Roots     *Roots // nil where the system's count
	Page      Page
	Log       *slog.Logger
}

// Page serves metrics and what people look at.
type Page struct{ http.Handler }

const (
	pageTimeout = 15 * time.Second
	lookReady   = 50 * time.Millisecond
)

// Run lives until the context ends or another process is the node. out gets a line for the listener, and the line ready
// once the node has a lease.
func (p *Process) Run(ctx context.Context, out io.Writer) error {
	l, url, err := p.listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: p.Page, ReadTimeout: pageTimeout, WriteTimeout: pageTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var all sync.WaitGroup
	if l != nil {
		fmt.Fprintf(out, "listening metrics %s\n", url)
		all.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				end(fmt.Errorf("the metrics listener: %w", err))
			}
		})
	}
	all.Go(func() { p.announce(ctx, out) })
	all.Go(func() { p.followRoots(ctx) })
	err = p.live(ctx)
	end(nil)
	_ = server.Close() // a page that is read while the node stops is read again
	all.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// live runs the node. From the moment that the context ends it serves nothing; what of it still runs is waited for no
// longer than the grace.
func (p *Process) live(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- p.Node.Run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(p.Config.StopGrace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return err
	case <-grace.C:
		p.Log.Warn("the node does not come to an end, and is left as it is", "after", p.Config.StopGrace)
		return nil
	}
}

// announce tells scripts that the node is ready, once.
func (p *Process) announce(ctx context.Context, out io.Writer) {
	look := time.NewTicker(lookReady)
	defer look.Stop()
	for !p.Node.Status().Ready() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
	fmt.Fprintln(out, "ready")
}

// listen opens the page's listener; nil for none. Beyond this machine it has the certificate.
func (p *Process) listen(ctx context.Context) (l net.Listener, url string, err error) {
	c := p.Config
	if c.MetricsListen == settings.Off {
		return nil, "", nil
	}
	a, err := settings.ParseAddress(c.MetricsListen)
	if err != nil {
		return nil, "", err
	}
	const mode = 0o600
	if l, err = listen.Open(ctx, a, mode); err != nil {
		return nil, "", fmt.Errorf("the metrics listener: %w", err)
	}
	switch {
	case a.Network == "unix":
		return l, "unix:" + l.Addr().String(), nil
	case c.TLSCertFile == "":
		return l, "http://" + l.Addr().String(), nil
	}
	pair, err := secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(c.TLSCertFile, c.TLSKeyFile) },
		c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return tls.NewListener(l, listen.TLS(func() *tls.Certificate {
		_, _ = pair.Refresh() // what can not be used leaves what was there
		return pair.Current()
	})), "https://" + l.Addr().String(), nil
}
