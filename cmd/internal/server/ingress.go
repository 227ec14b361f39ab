package server

import (
	"context"
	"time"

	"berth/cmd/internal/config"
	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/wiring/ingress"
)

// front is the ingress within this process; one without a process is none.
type front struct {
	process *ingressd.Process
	url     string
	reload  chan struct{}
	gone    chan struct{} // closed once it needs the internal listener no more
}

// bundleRefresh is short: asking costs next to nothing on a socket within one process.
const bundleRefresh = 2 * time.Second

// ingressConfig is what berth-ingress would be set to before this control plane.
func ingressConfig(c config.Config, internal string) ingressd.Config {
	i := ingressd.Default()
	i.Listen, i.CertFile, i.KeyFile = c.IngressListen, c.IngressCertFile, c.IngressKeyFile
	i.TrustDomain, i.SecretsFile, i.TrustBundleRefresh = c.TrustDomain, c.IngressSecretsFile, bundleRefresh
	i.Upstream = []string{internal}
	i.MaxConnections, i.NodeRate, i.NodeBurst, i.StopGrace = c.MaxConnections, c.NodeRate, c.NodeBurst, c.StopGrace
	return i
}

// openIngress opens the ingress where there is to be one. The internal listener stops after it.
func (s *Server) openIngress(ctx context.Context, open []bound) (*front, error) {
	f := &front{reload: make(chan struct{}, 1), gone: make(chan struct{})}
	if s.Process.Config.IngressListen == "" {
		return f, nil
	}
	internal := ""
	for _, l := range open {
		if l.Name == "internal" {
			internal, l.Ahead = l.url, f.gone
		}
	}
	g := s.Process.Ground
	p, err := ingress.Within(ingressConfig(s.Process.Config, internal), ingressd.Ground{
		Log: s.Process.Log.With("listener", "ingress"), Clock: g.Clock, IDs: g.IDs, Registry: g.Metrics.Registry(),
	})
	if err != nil {
		return nil, err
	}
	f.process = p
	f.url, err = p.Open(ctx)
	return f, err
}

// run serves until the context ends.
func (f *front) run(ctx context.Context) error {
	defer close(f.gone)
	if f.process == nil {
		return nil
	}
	return f.process.Run(ctx, f.reload)
}

// prepare has the ingress learn the roots of node certificates, over the internal listener that serves by now.
func (f *front) prepare(ctx context.Context) {
	if f.process != nil {
		f.process.Prepare(ctx)
	}
}

// reread has the ingress read its files anew.
func (f *front) reread() {
	select {
	case f.reload <- struct{}{}:
	default:
	}
}
