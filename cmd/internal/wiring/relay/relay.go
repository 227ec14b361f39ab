// Package relay puts a relay node together. wire writes the injector; run make generate after a change to a provider.
package relay

import (
	"log/slog"
	"net/http"

	"github.com/google/wire"

	"berth/adapters/apiclient"
	"berth/adapters/clock/systemclock"
	"berth/adapters/connect"
	"berth/adapters/debugpage"
	"berth/adapters/engine/fileidentity"
	"berth/adapters/ids/ulidids"
	"berth/adapters/peering"
	"berth/adapters/token"
	"berth/application/relay"
	"berth/cmd/internal/relayd"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Version is what the process was built from, for people.
type Version string

// Set is a node on this machine.
var Set = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideClock, wire.Bind(new(clock.Clock), new(*systemclock.Clock)),
	ulidids.New, wire.Bind(new(ids.Source), new(*ulidids.Source)),
	provideGround, relayd.NewShown, relayd.OpenRoots, provideAuthority, relayd.OpenDisk, provideNode, provideForwarder, provideServing, providePage,
	wire.Struct(new(relayd.Process), "*"),
)

func provideClock(c relayd.Config) (*systemclock.Clock, error) {
	return systemclock.Shifted(c.ClockOffset)
}

func provideAuthority(c relayd.Config, shown *relayd.Shown, roots *relayd.Roots) (*apiclient.Authority, func(), error) {
	a, err := relayd.OpenAuthority(c, shown, roots)
	if err != nil {
		return nil, nil, err
	}
	return a, a.Close, nil
}

// ground is what a node stands on.
type ground struct {
	clock clock.Clock
	ids   ids.Source
	log   *slog.Logger
}

func provideGround(c clock.Clock, i ids.Source, log *slog.Logger) ground { return ground{c, i, log} }

func provideNode(c relayd.Config, v Version, g ground, a *apiclient.Authority, d *relayd.Disk, shown *relayd.Shown) (*relay.Node, error) {
	n, err := relay.New(c.Settings(string(v)), relay.Ports{
		Clock: g.clock, IDs: g.ids, Log: g.log,
		Authority: relay.Authority{
			Leases: a, Assignments: a, Authorizations: a, Migrations: a, Credentials: a, Enrolment: a,
			Keys: a, Revocations: a, Peers: a, Routes: a,
		},
		Disk: d.Tenants, Engines: d.Tenants, Identity: d.Identity, Tokens: fileidentity.Tokens{Path: c.JoinTokenFile}, Renewed: a.Renew, Place: d.Place,
		Devices: token.NewDeviceVerifier(c.TrustDomain),
	})
	if err != nil {
		return nil, err
	}
	shown.From(func() ([][]byte, any, bool) {
		chain, key, ok := n.Certificate()
		return chain, key, ok
	})
	return n, nil
}

func provideForwarder(c relayd.Config, n *relay.Node, log *slog.Logger) (*peering.Forwarder, func()) {
	f := peering.NewForwarder(peering.Options{Limits: c.PeerLimits(), Log: log}, peering.NodePlane{Node: n})
	return f, f.Close
}

func provideServing(c relayd.Config, n *relay.Node, f *peering.Forwarder, log *slog.Logger) (*relayd.Serving, error) {
	h := connect.New(connect.Options{Limits: c.Limits(), Log: log}, connect.Of(n), f)
	s, err := relayd.NewServing(c, h, log)
	if err == nil && c.PeerListen != "" {
		s.Peers = peering.NewListener(peering.Options{Limits: c.PeerLimits(), Log: log}, peering.NodePlane{Node: n}, h)
	}
	return s, err
}

func providePage(n *relay.Node, s *relayd.Serving, v Version) relayd.Page {
	mux := http.NewServeMux()
	mux.Handle("/", debugpage.Handler(n))
	mux.Handle("GET /metrics", relayd.MetricsHandler(n, s, string(v)))
	return relayd.Page{Handler: mux}
}
