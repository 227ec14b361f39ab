package ingressd

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"berth/adapters/ingress"
	"berth/adapters/ingress/upstream"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/settings"
	"berth/domain/identity"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Ground is what an ingress stands on, in a process of its own or in that of the control plane.
type Ground struct {
	Log      *slog.Logger
	Clock    clock.Clock
	IDs      ids.Source
	Registry prometheus.Registerer
}

// Process is an ingress, ready to be served. Use New.
type Process struct {
	config   Config
	ground   Ground
	ingress  *ingress.Ingress
	trust    *ingress.Trust
	follower follower
	keeper   *keeper
	listener net.Listener
}

// NewTrust returns the bundle that believes nobody yet.
func NewTrust() *ingress.Trust { return new(ingress.Trust) }

// NewMetrics returns the instruments of an ingress.
func NewMetrics(g Ground) *ingress.Metrics { return ingress.NewMetrics(g.Registry) }

// NewUpstream returns the control plane as the ingress reaches it.
func NewUpstream(c Config, f *Files) (*upstream.Upstream, error) { return newUpstream(c, f.client) }

// NewIngress returns the ingress itself.
func NewIngress(c Config, g Ground, f *Files, u *upstream.Upstream, m *ingress.Metrics) *ingress.Ingress {
	i := ingress.New(ingress.Options{
		TrustDomain: c.TrustDomain, Trust: f.trust, Upstream: u, Limits: c.limits(), AccessLog: ingress.AccessLog(c.AccessLog),
		Certificate: func() *tls.Certificate { return f.certificate.Current() },
		Secrets:     func() identity.IngressSecrets { return f.secrets.Current() },
		Log:         g.Log, Clock: g.Clock, IDs: g.IDs, Metrics: m,
	})
	i.Observe(g.Registry)
	return i
}

// New puts a process together.
func New(c Config, g Ground, i *ingress.Ingress, f *Files, u *upstream.Upstream, m *ingress.Metrics) *Process {
	return &Process{
		config: c, ground: g, ingress: i, trust: f.trust,
		follower: follower{files: f, log: g.Log, metrics: m, clock: g.Clock},
		keeper: &keeper{config: c, trust: f.trust, heard: func() { f.heard.Store(true) }, upstream: u, log: g.Log, metrics: m, clock: g.Clock,
			wake: make(chan struct{}, 1)},
	}
}

// Open opens the listener and returns where nodes connect, https://host:port or unix:PATH.
func (p *Process) Open(ctx context.Context) (url string, err error) {
	a, err := settings.ParseAddress(p.config.Listen)
	if err != nil {
		return "", err
	}
	const mode = 0o660
	if p.listener, err = listen.Open(ctx, a, mode); err != nil {
		return "", fmt.Errorf("the ingress listener: %w", err)
	}
	if a.Network == "unix" {
		return "unix:" + p.listener.Addr().String(), nil
	}
	return "https://" + p.listener.Addr().String(), nil
}

// Close lets go of a listener that was opened and is not to be served.
func (p *Process) Close() error { return p.listener.Close() }

// Prepare asks the upstream for the trust bundle once, so that the first node finds it. An upstream that is away is told
// of, and asked again later.
func (p *Process) Prepare(ctx context.Context) {
	if p.config.TrustBundleRefresh != 0 {
		p.keeper.ask(ctx)
	}
}

// Ready says whether nodes can be told from others.
func (p *Process) Ready() bool {
	n, _ := p.trust.Roots()
	return n > 0
}

const filesInterval = 2 * time.Second

// Run serves the listener that Open opened, and follows files and bundle, until the context ends and what was accepted is
// finished. A value on reload has all files read anew.
func (p *Process) Run(ctx context.Context, reload <-chan struct{}) error {
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	var duties sync.WaitGroup
	duties.Go(func() { p.follow(working, reload) })
	if p.config.TrustBundleRefresh != 0 {
		duties.Go(func() { p.keeper.keep(working) })
	}
	err := p.ingress.Run(ctx, p.listener, p.config.StopGrace)
	rest()
	duties.Wait()
	return err
}

func (p *Process) follow(ctx context.Context, reload <-chan struct{}) {
	p.follower.first()
	for {
		timer := p.ground.Clock.NewTimer(filesInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-reload:
			timer.Stop()
			p.follower.reload()
			p.keeper.rouse()
		case <-timer.C():
			p.follower.refresh()
		}
	}
}
