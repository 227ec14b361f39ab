package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/settings"
	"berth/cmd/internal/wiring/ingress"
)

const serveLong = "Serve nodes until SIGINT or SIGTERM; then what was accepted is finished. SIGHUP reads secrets, certificates and\n" +
	"the trust bundle anew. One line on standard output names each listener, and the line \"ready\" says that all serve."

func newServe(s streams) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Serve nodes; what is done without a command", Long: serveLong, Args: cli.None, RunE: s.serve}
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
	page, err := openPage(ctx, c, listen.Unambiguous(p.Metrics), log)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	log.Info("starting", "version", version)
	defer log.Info("stopped")
	p.Prepare(ctx)
	fmt.Fprintf(s.out, "listening ingress %s\n", url)
	if page.URL != "" {
		fmt.Fprintf(s.out, "listening metrics %s\n", page.URL)
	}
	fmt.Fprintln(s.out, "ready")
	return serveAll(ctx, p, page)
}

// openPage opens the listener of metrics. Beyond this machine it has the ingress's certificate.
func openPage(ctx context.Context, c ingressd.Config, handler http.Handler, log *slog.Logger) (*cli.Page, error) {
	at := cli.PageAt{Listen: c.MetricsListen, Mode: 0o660, CertFile: c.CertFile, KeyFile: c.KeyFile}
	if a, err := settings.ParseAddress(at.Listen); err == nil && a.Local() {
		at.CertFile, at.KeyFile = "", ""
	}
	return cli.OpenPage(ctx, at, handler, log)
}

// serveAll ends both where either fails. The metrics end last, so that a stop can be watched.
func serveAll(ctx context.Context, p *ingress.Process, page *cli.Page) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watching, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var metrics sync.WaitGroup
	metrics.Go(func() {
		if err := page.Run(watching); err != nil {
			stop(err)
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
