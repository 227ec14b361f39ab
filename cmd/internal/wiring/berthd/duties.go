package berthd

import (
	"context"
	"log/slog"
	"time"

	"berth/application/access"
	"berth/application/fleet"
	"berth/application/trust"
	"berth/application/watch"
	"berth/cmd/internal/config"
	"berth/ports/clock"
	"berth/ports/store"
)

// sweeps is what does by itself whatever is owed.
type sweeps struct {
	Fleet   *fleet.Fleet
	Access  *access.Access
	Trust   *trust.Trust
	Store   store.Store
	Clock   clock.Clock
	Log     *slog.Logger
	Secrets *IngressSecrets
}

const (
	fileInterval   = 2 * time.Second
	nonceInterval  = 5 * time.Second
	answerInterval = 10 * time.Minute
)

// provideDuties are the duties of every replica. Steps of a migration are made when they are reported; the sweep is for
// deadlines, and for what a crash left behind. Keys are looked after often enough for a signer that was away at the start.
func provideDuties(c config.Config, s sweeps) []watch.Duty {
	keys := min(c.KeyPublishAhead/4, 5*time.Second)
	return []watch.Duty{
		{Name: "leases", Every: c.SweepInterval, Run: s.Fleet.SweepLeases},
		{Name: "migrations", Every: c.SweepInterval, Run: s.Fleet.SweepMigrations},
		{Name: "queue", Every: c.SweepInterval, Run: s.Fleet.SweepQueue},
		{Name: "drains", Every: c.SweepInterval, Run: s.Fleet.SweepDrains},
		{Name: "access", Every: c.SweepAccess, Run: s.Access.SweepAccess},
		{Name: "keys", Every: keys, Run: s.Trust.KeepKeys},
		{Name: "nonces", Every: nonceInterval, Run: s.Trust.SweepNonces},
		{Name: "answers", Every: answerInterval, Run: s.answers},
		{Name: "files", Every: fileInterval, Run: s.files},
	}
}

const (
	answerLife  = 24 * time.Hour
	answerBatch = 500
)

// answers forgets what was kept for requests that come again under one Idempotency-Key.
func (s sweeps) answers(ctx context.Context) error {
	before := s.Clock.Now().Add(-answerLife)
	for {
		var swept int
		err := s.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			swept, err = r.Idempotency.Sweep(ctx, before, answerBatch)
			return err
		})
		if err != nil || swept < answerBatch {
			return err
		}
	}
}

// files takes up ingress secrets that changed.
func (s sweeps) files(ctx context.Context) error {
	changed, err := s.Secrets.Refresh()
	if changed {
		s.Log.InfoContext(ctx, "ingress secrets were read anew")
	}
	return err
}
