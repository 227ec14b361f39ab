package desired

import (
	"context"

	"berth/ports/store"
)

// Object returns an object that a revision of the caller's deployment names (D1). Fault: NotFound object_not_found,
// whether it is not there or not for this deployment.
func (d *Desired) Object(ctx context.Context, caller AgentCaller, sha256 string) ([]byte, error) {
	var out []byte
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Objects.Read(ctx, caller.Install, sha256)
		return err
	})
	return out, err
}
