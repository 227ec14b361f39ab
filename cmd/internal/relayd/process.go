package relayd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"berth/adapters/apiclient"
	"berth/application/relay"
	"berth/cmd/internal/cli"
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

const lookReady = 50 * time.Millisecond

// Run lives until the context ends or another process is the node. out gets a line for the listener, and the line ready
// once the node has a lease.
func (p *Process) Run(ctx context.Context, out io.Writer) error {
	c := p.Config
	page, err := cli.OpenPage(ctx, cli.PageAt{Listen: c.MetricsListen, Mode: 0o600, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile}, p.Page, p.Log)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watching, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	if page.URL != "" {
		fmt.Fprintf(out, "listening metrics %s\n", page.URL)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := page.Run(watching); err != nil {
			end(err)
		}
	})
	all.Go(func() { p.announce(ctx, out) })
	all.Go(func() { p.followRoots(ctx) })
	err = p.live(ctx)
	end(nil)
	rest()
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
