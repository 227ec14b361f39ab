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

// Process is a node with what it serves, and its page.
type Process struct {
	Config    Config
	Node      *relay.Node
	Serving   *Serving
	Authority *apiclient.Authority
	Roots     *Roots // nil where the system's count
	Page      Page
	Log       *slog.Logger
}

// Page serves metrics and what people look at.
type Page struct{ http.Handler }

const lookReady = 50 * time.Millisecond

// Run lives until the context ends or another process is the node. out gets a line for each listener, and the line ready
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
	err = p.live(ctx, out, end)
	end(nil)
	rest()
	all.Wait()
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// live runs the node, and serves. When the context ends the devices are sent away while the node still answers for what
// they published, and then the node ends; all of that takes no longer than the grace.
func (p *Process) live(ctx context.Context, out io.Writer, end func(error)) error {
	open, err := p.open(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Node.Run(running) }()
	wait := serve(open, out, end)
	select {
	case err = <-ended:
		ended <- err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Config.StopGrace)
	defer cancel()
	parting, parted := context.WithTimeout(grace, p.Config.StopGrace*3/4) // the rest is the node's, to close what is open
	p.part(parting, open)
	parted()
	wait()
	stop()
	select {
	case err := <-ended:
		return err
	case <-grace.Done():
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
