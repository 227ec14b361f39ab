package relay

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
)

// Settings are what a node is and how it behaves. Use DefaultSettings.
type Settings struct {
	Self      identity.SPIFFEID
	Version   string // of this program, for people
	Advertise string // host:port where peers reach the node; may be empty

	Capacity *placement.Capacity // the node's own limit; nil for none

	Bound       time.Duration // the oldest that a snapshot may be (A6)
	Refresh     time.Duration // a full snapshot is taken so often (A4)
	Poll        time.Duration // and changes are asked for so often
	Timeout     time.Duration // of a poll, and of the snapshot after it
	Wait        time.Duration // of a long poll
	ClockBound  time.Duration // by how much the two clocks may diverge between beats
	Parallel    int           // tenants that are worked on at a time
	KeyRefresh  time.Duration // the keys of devices' tokens are asked for so often
	PeerRefresh time.Duration // and so are the peers' certificates
	RouteLife   time.Duration // a tenant's route is believed for so long

	Pace time.Duration // a pause before each report of a migration, so that a person can watch it

	EngineIdle              time.Duration // a tenant that nobody uses for so long is closed (R1)
	MaxEngines              int           // tenants that are open at a time
	MaxConnections          int           // sessions at a time, of all tenants
	ConnectionsPerPrincipal int           // and of one device
	PublishRate             int           // messages a second of one device, and as many at once
	TenantPublishRate       int           // and of one tenant
	DrainSpread             time.Duration // over which a node that is drained sends its devices away
}

// DefaultSettings are those of A4 and A6.
func DefaultSettings(self identity.SPIFFEID) Settings {
	return Settings{
		Self: self, Bound: 65 * time.Second, Refresh: time.Minute, Poll: 5 * time.Second, Timeout: 3 * time.Second,
		Wait: 25 * time.Second, ClockBound: time.Second, Parallel: 8,
		KeyRefresh: 20 * time.Second, PeerRefresh: 20 * time.Second, RouteLife: 30 * time.Second,
		EngineIdle: 5 * time.Minute, MaxEngines: 512, MaxConnections: 50_000, ConnectionsPerPrincipal: 8,
		PublishRate: 1_000, TenantPublishRate: 20_000, DrainSpread: 30 * time.Second,
	}
}

// Check refuses settings with which the node could not keep its promises. Faults: Invalid invalid_setting, invalid_id.
func (s Settings) Check() error {
	between := func(name string, v, least, most time.Duration) *fault.Error {
		if v >= least && v <= most {
			return nil
		}
		return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(name)
	}
	var capacity error
	if s.Capacity != nil {
		capacity = s.Capacity.Check("capacity")
	}
	if capacity != nil {
		return capacity
	}
	return fault.All(ident.Check("node", s.Self.Node()),
		between("bound", s.Bound, 2*time.Second, 65*time.Second),
		between("refresh", s.Refresh, time.Second, s.Bound-s.Timeout),
		between("poll", s.Poll, 100*time.Millisecond, s.Refresh),
		between("timeout", s.Timeout, 100*time.Millisecond, s.Bound/2),
		between("wait", s.Wait, time.Second, 30*time.Second),
		between("clock_bound", s.ClockBound, 100*time.Millisecond, time.Minute),
		between("pace", s.Pace, 0, time.Minute),
		between("key_refresh", s.KeyRefresh, time.Second, s.Bound/2),
		between("peer_refresh", s.PeerRefresh, time.Second, s.Bound/2),
		between("route_life", s.RouteLife, time.Second, s.Bound),
		count("parallel", s.Parallel, 256),
		between("engine_idle", s.EngineIdle, time.Second, 24*time.Hour),
		count("max_engines", s.MaxEngines, 100_000),
		count("max_connections", s.MaxConnections, 10_000_000),
		count("connections_per_principal", s.ConnectionsPerPrincipal, max(s.MaxConnections, 1)),
		count("publish_rate", s.PublishRate, 1_000_000),
		count("tenant_publish_rate", s.TenantPublishRate, 1_000_000),
		between("drain_spread", s.DrainSpread, time.Second, 10*time.Minute))
}

func count(name string, n, most int) *fault.Error {
	if n >= 1 && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between 1 and %d", most).At(name)
}
