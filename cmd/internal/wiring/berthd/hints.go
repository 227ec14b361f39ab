package berthd

import (
	"log/slog"

	"github.com/google/wire"

	"berth/adapters/metrics"
	"berth/adapters/notify/inprocess"
	"berth/adapters/notify/pgnotify"
	"berth/application/access"
	"berth/application/desired"
	"berth/application/fleet"
	"berth/cmd/internal/config"
	"berth/ports/notify"
)

// LocalHintsSet is for a process that has its database to itself.
var LocalHintsSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideHub, wire.Bind(new(fleet.Hints), new(*inprocess.Hub)), wire.Bind(new(access.Hints), new(*inprocess.Hub)),
	wire.Bind(new(desired.Hints), new(*inprocess.Hub)), wire.Bind(new(notify.Publisher), new(*inprocess.Hub)),
	wire.Bind(new(notify.Subscriber), new(*inprocess.Hub)),
)

// SharedHintsSet is for replicas on one Postgres server.
var SharedHintsSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideHub, provideRelay, wire.Bind(new(notify.Subscriber), new(*inprocess.Hub)), wire.Struct(new(relayed), "*"),
	wire.Bind(new(fleet.Hints), new(relayed)), wire.Bind(new(access.Hints), new(relayed)), wire.Bind(new(desired.Hints), new(relayed)),
	wire.Bind(new(notify.Publisher), new(relayed)),
)

func provideHub(c config.Config, m *metrics.Metrics) *inprocess.Hub {
	hub := inprocess.New(inprocess.Limits{Subscriptions: c.MaxWaiters, Topics: c.MaxWaiters}) // each waits for one
	m.Gauge("berth_hint_subscriptions", "Long polls that wait for a change.", func() float64 { return float64(hub.Waiting()) })
	return hub
}

// relayed hints at who waits here and at the other replicas; who waits here hears both.
type relayed struct {
	*pgnotify.Relay
	notify.Subscriber
}

func provideRelay(c config.Config, hub *inprocess.Hub, m *metrics.Metrics, log *slog.Logger) (*pgnotify.Relay, func(), error) {
	r, err := pgnotify.Open(c.DatabaseURL, pgnotify.Options{Local: hub, Log: log, Password: c.DatabasePassword()})
	if err != nil {
		return nil, nil, err
	}
	measureHints(m, r.Stats)
	return r, r.Close, nil
}

func measureHints(m *metrics.Metrics, stats func() pgnotify.Stats) {
	m.Gauge("berth_hints_connected", "1 while change hints pass between replicas, 0 while polling alone finds changes.", func() float64 {
		if stats().Connected {
			return 1
		}
		return 0
	})
	m.Gauge("berth_hints_waiting", "Topics that wait to be sent to other replicas.", func() float64 { return float64(stats().Waiting) })
	m.Gauge("berth_hints_lag_seconds", "How long the last message took through the server and back.", func() float64 {
		return stats().Lag.Seconds()
	})
	for _, c := range []struct {
		name, help string
		read       func(pgnotify.Stats) uint64
	}{
		{"sent", "Topics hinted at to other replicas.", func(s pgnotify.Stats) uint64 { return s.Sent }},
		{"notifies", "Messages to other replicas, each of many topics.", func(s pgnotify.Stats) uint64 { return s.Notifies }},
		{"received", "Topics hinted at by other replicas.", func(s pgnotify.Stats) uint64 { return s.Received }},
		{"foreign", "Messages that were nobody's hints.", func(s pgnotify.Stats) uint64 { return s.Foreign }},
		{"dropped", "Topics too long to be sent.", func(s pgnotify.Stats) uint64 { return s.TooLong }},
		{"overruns", "How often too much waited to be sent and became one hint for all.", func(s pgnotify.Stats) uint64 { return s.Overruns }},
		{"wakes", "How often everybody was woken, since hints may have been lost.", func(s pgnotify.Stats) uint64 { return s.Wakes }},
		{"connects", "Connections made for hints.", func(s pgnotify.Stats) uint64 { return s.Connects }},
	} {
		m.Counter("berth_hints_"+c.name+"_total", c.help, func() float64 { return float64(c.read(stats())) })
	}
}
