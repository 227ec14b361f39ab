package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/settings"
	"berth/cmd/internal/wiring/ingress"
)

const serveLong = "Serve nodes until SIGINT or SIGTERM; then what was accepted is finished. SIGHUP reads secrets, certificates and\n" +
	"the trust bundle anew. One line on standard output names each listener, and the line \"ready\" says that all serve."

func newServe(s streams) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Serve nodes; what is done without a command", Long: serveLong, Args: none, RunE: s.serve}
	ingressd.AddFlags(cmd.Flags())
	return cmd
}

func (s streams) serve(cmd *cobra.Command, _ []string) error {
	l, err := s.load(cmd)
	if err != nil {
		return err
	}
	c, ctx := l.Values, cmd.Context()
	log := settings.Logger(s.err, c.LogLevel, c.LogFormat)
	p, err := ingress.Alone(c, log, ingress.Version(version))
	if err != nil {
		return err
	}
	url, err := p.Open(ctx)
	if err != nil {
		return err
	}
	page, err := openPage(ctx, c, p.Metrics, log)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	log.Info("starting", "version", version)
	defer log.Info("stopped")
	p.Prepare(ctx)
	fmt.Fprintf(s.out, "listening ingress %s\n", url)
	if page.url != "" {
		fmt.Fprintf(s.out, "listening metrics %s\n", page.url)
	}
	fmt.Fprintln(s.out, "ready")
	return serveAll(ctx, p, page)
}

// serveAll ends both where either fails. The metrics end last, so that a stop can be watched.
func serveAll(ctx context.Context, p *ingress.Process, page *page) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watching, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var metrics sync.WaitGroup
	metrics.Go(func() {
		if err := page.run(watching); err != nil {
			stop(fmt.Errorf("the metrics listener: %w", err))
		}
	})
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	reload := make(chan struct{}, 1)
	metrics.Go(func() { passOn(watching, hangUp, reload) })
	err := p.Run(serving, reload)
	rest()
	metrics.Wait()
	if cause := context.Cause(serving); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

// passOn asks for a reload at each signal, until the context ends. One that was asked for and has not begun is enough for
// all: whoever reads anew may be busy, or gone already.
func passOn(ctx context.Context, signals <-chan os.Signal, reload chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		select {
		case reload <- struct{}{}:
		default:
		}
	}
}
