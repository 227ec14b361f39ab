package berthd

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"berth/application/access"
	"berth/application/desired"
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
	Desired *desired.Desired
	Store   store.Store
	Clock   clock.Clock
	Log     *slog.Logger
	Secrets *IngressSecrets
	Roots   *ExternalRoots
}

const (
	fileInterval   = 2 * time.Second
	nonceInterval  = 5 * time.Second
	answerInterval = 10 * time.Minute
)

// provideDuties are the duties of a replica. Those that run everywhere do what no other replica can do for this one:
// each counts leases by itself (P9), and reads its own files; that a lease lapsed is recorded by whichever counted it out
// first. Steps of a migration are made when they are reported; the sweep is for deadlines, and for what a crash left
// behind. Keys are looked after often enough for a signer that was away at the start, by the leader alone: whoever signs
// or verifies reads the keys from the database for each use, so that no replica has any of its own to keep, and replicas
// that all find a new key due would each have the signing service make one.
func provideDuties(c config.Config, s sweeps) []watch.Duty {
	keys := min(c.KeyPublishAhead/4, c.CAPublishAhead/4, 5*time.Second)
	return []watch.Duty{
		{Name: "leases", Every: c.SweepInterval, Everywhere: true, Run: s.Fleet.SweepLeases},
		{Name: "files", Every: fileInterval, Everywhere: true, Run: s.files},
		{Name: "migrations", Every: c.SweepInterval, Run: s.Fleet.SweepMigrations},
		{Name: "queue", Every: c.SweepInterval, Run: s.Fleet.SweepQueue},
		{Name: "drains", Every: c.SweepInterval, Run: s.Fleet.SweepDrains},
		{Name: "access", Every: c.SweepAccess, Run: s.Access.SweepAccess},
		{Name: "reviews", Every: c.SweepInterval, Run: s.reviews},
		{Name: "keys", Every: keys, Run: s.Trust.KeepKeys},
		{Name: "nonces", Every: nonceInterval, Run: s.Trust.SweepNonces},
		{Name: "answers", Every: answerInterval, Run: s.answers},
	}
}

// reviews looks at every deployment that is due (E6).
func (s sweeps) reviews(ctx context.Context) error {
	_, err := s.Desired.SweepReviews(ctx)
	return err
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

// files takes up ingress secrets and roots of other CAs that changed. Those that can not be used leave what was there.
func (s sweeps) files(ctx context.Context) error {
	changed, secrets := s.Secrets.Refresh()
	if changed {
		s.Log.InfoContext(ctx, "ingress secrets were read anew")
	}
	changed, roots := s.Roots.Refresh()
	if changed {
		s.Log.InfoContext(ctx, "the roots of other CAs were read anew", "roots", len(s.Roots.Current()))
	}
	return errors.Join(secrets, roots)
}
