package trust

import (
	"context"

	"berth/ports/store"
)

// SweepNonces forgets spent nonces whose assertions would be refused for their age by now, on a replica whose clock is
// behind by Settings.Skew, too (I4). Each transaction forgets at most Settings.NonceBatch. Any number of replicas may run
// it at once.
func (t *Trust) SweepNonces(ctx context.Context) error {
	before := t.Clock.Now().Add(-t.Settings.Skew)
	for {
		var swept int
		err := t.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			swept, err = r.Nonces.Sweep(ctx, before, t.Settings.NonceBatch)
			return err
		})
		if err != nil || swept < t.Settings.NonceBatch {
			return err
		}
	}
}
