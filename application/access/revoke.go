package access

import (
	"context"
	"maps"

	"berth/domain/authorization"
	"berth/ports/store"
)

// RevokedAnswer is what a revocation did, now or when it was first asked for.
type RevokedAnswer struct {
	Revision int64 // the tenant's revision that carries it
	Handles  int   // route handles that it ended
}

// revoke ends a principal and all of its handles, and logs it, in the caller's transaction (A5). A repetition writes
// nothing.
func (w *work) revoke(ctx context.Context, s store.Standing, p *authorization.Principal, by authorization.Requester,
	detail map[string]string,
) (RevokedAnswer, error) {
	id := p.Record().ID
	handles, err := w.Handles.OfPrincipal(ctx, s.Tenant.ID(), id)
	if err != nil {
		return RevokedAnswer{}, err
	}
	done, err := s.Tenant.Revoke(p, handles, by, w.now)
	if err != nil {
		return RevokedAnswer{}, err
	}
	answer := RevokedAnswer{Revision: done.Revision, Handles: done.Handles}
	if len(done.Changes) == 0 {
		return answer, nil
	}
	if err := w.Principals.Save(ctx, p); err != nil {
		return RevokedAnswer{}, err
	}
	if err := w.Handles.Save(ctx, revokedAt(done.Revision, handles)); err != nil {
		return RevokedAnswer{}, err
	}
	full := map[string]string{"principal": id, "handles": number(int64(done.Handles))}
	maps.Copy(full, detail)
	return answer, w.amended(ctx, s, done.Changes, "principal.revoked", full)
}

func revokedAt(revision int64, handles []*authorization.Handle) []*authorization.Handle {
	var out []*authorization.Handle
	for _, h := range handles {
		if h.Record().RevokedRevision == revision {
			out = append(out, h)
		}
	}
	return out
}
