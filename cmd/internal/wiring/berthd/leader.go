package berthd

import (
	"log/slog"

	"github.com/google/wire"

	"berth/adapters/metrics"
	"berth/application/watch"
	"berth/domain/leadership"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/store"
)

// AloneSet is for a database that one process has to itself.
var AloneSet = wire.NewSet(provideAlone) //nolint:gochecknoglobals // a wire set, which nothing writes to

// ElectedSet is for a database that several replicas share.
var ElectedSet = wire.NewSet(provideElected) //nolint:gochecknoglobals // a wire set, which nothing writes to

func provideAlone(m *metrics.Metrics) watch.Leader { return measured(m, watch.Alone{}) }

func provideElected(s store.Store, c clock.Clock, i ids.Source, log *slog.Logger, m *metrics.Metrics) (watch.Leader, error) {
	l, err := watch.NewLeadership(s, c, i, log, leadership.DefaultTiming())
	if err != nil {
		return nil, err
	}
	return measured(m, l), nil
}

func measured(m *metrics.Metrics, l watch.Leader) watch.Leader {
	m.Gauge("berth_sweep_leader", "1 on the replica that runs the sweeps, 0 on every other.", func() float64 {
		if l.Leads() {
			return 1
		}
		return 0
	})
	return l
}
