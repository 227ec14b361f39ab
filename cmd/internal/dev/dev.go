// Package dev runs everything of Berth on loopback for development: the control plane on SQLite with keys in files, and
// beside it, as processes of their own, the ingress and two nodes, which enrol as they would anywhere. It makes what it
// needs in one directory and finds it there again after a restart.
package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"berth/cmd/internal/config"
	"berth/cmd/internal/devca"
	"berth/cmd/internal/server"
	"berth/cmd/internal/wiring/berthd"
)

// Options say what to run and where.
type Options struct {
	Dir         string        // that keeps the state
	Port        int           // of the API; another one where it is taken
	MetricsPort int           // likewise
	Pace        time.Duration // before each step of a migration that a node takes, so that a person can watch it
	Environ     []string      // settings that are nobody's business here pass through
	Version     string
	Out         io.Writer
	Err         io.Writer // where the programs log, which run beside this one
	Logger      func(config.Config) *slog.Logger
}

// What dev makes, besides two nodes.
const (
	trustDomain = "dev.berth.internal"
	region      = "local"
	tenant      = "demo"
	customer    = "acme"
)

// startTime is how long everything may take to come up.
const startTime = time.Minute

// Run runs until the context ends.
func Run(ctx context.Context, o Options) error {
	found, err := programs(o.Environ)
	if err != nil {
		return err
	}
	p, err := openPlace(ctx, o)
	if err != nil {
		return err
	}
	defer p.close()
	l, err := p.configuration(o.Environ)
	if err != nil {
		return err
	}
	log := o.Logger(l.Config)
	process, release, err := berthd.OnSQLite(l.Config, log, berthd.Version(o.Version))
	if err != nil {
		return err
	}
	defer release()
	if _, err := process.Ground.Schema.Up(ctx); err != nil {
		return err
	}
	r := &running{place: p, process: process, options: o, log: log, programs: found}
	return r.run(ctx)
}

// running is everything while it runs.
type running struct {
	*place
	process  *berthd.Process
	options  Options
	log      *slog.Logger
	programs map[string]string // paths by name
}

func (r *running) run(ctx context.Context) error {
	// The control plane stops after the nodes, which part from it.
	serving, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ready := make(chan struct{})
	served := make(chan struct{})
	s := &server.Server{Process: r.process, Out: io.Discard, Ready: func() { close(ready) }}
	go func() {
		defer close(served)
		stop(s.Run(serving))
	}()
	select {
	case <-ready:
		stop(r.bringUp(ctx))
	case <-ctx.Done():
	}
	rest()
	<-served
	// Of all that ended because of one another the first is what happened.
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	_, err := fmt.Fprintf(r.options.Out, "Stopped; %s keeps its state.\n", shorter(r.dir))
	return err
}

// bringUp seeds the control plane, starts ingress and nodes, and tells people and scripts; it returns when those have
// ended.
func (r *running) bringUp(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	soon, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	fronting, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	front := keepAll(fronting, stop, r.ingress())
	for _, serve := range []func(context.Context) error{r.origin.balance, r.shelf.serve} {
		front.Go(func() error {
			err := serve(fronting)
			if err != nil {
				stop()
			}
			return err
		})
	}
	seeds, err := r.seed(soon)
	if err != nil {
		rest()
		return errors.Join(fmt.Errorf("seeding: %w", err), front.Wait())
	}
	defer seeds.close() // a stop then waits for no connection of ours
	nodes := keepAll(ctx, stop, r.relay(seeds, r.nodes[0]), r.relay(seeds, r.nodes[1]))
	nodes.Go(func() error { r.letJoinAgain(ctx, seeds); return nil })
	err = r.settle(soon, seeds)
	if err == nil {
		err = r.tell(seeds)
	}
	if err != nil {
		stop()
	}
	err = errors.Join(err, nodes.Wait())
	rest()
	return errors.Join(err, front.Wait())
}

// authority opens the CA and the server's certificate.
func (p *place) authority() error {
	ca, err := devca.Open(p.dir, trustDomain, time.Now())
	if err != nil {
		return err
	}
	p.ca = ca
	_, p.certFile, p.keyFile, err = ca.Server("server")
	return err
}
