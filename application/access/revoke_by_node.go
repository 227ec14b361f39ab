package access

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/ports/store"
)

// RevokeByNodeRequest passes on what a device asked of its node.
type RevokeByNodeRequest struct {
	Caller     identity.Caller
	Ticket     store.Ticket
	Tenant     string
	Principal  string // the one to revoke
	Generation int64  // of the placement
	AskedBy    string // the principal who asks
}

// RevokeByNode revokes a device for good at the wish of another one of its tenant, or its own (A5). Only the node that
// holds the placement may ask, at its current generation. Principal, handles, revision, change log, audit and ticket are
// one transaction; only after it committed does anybody hear of it. Repeating it changes nothing and answers the same.
//
// Faults: Invalid out_of_range; NotFound not_found for any other node, principal_not_found; Conflict generation_stale,
// generation_ahead, last_owner; Forbidden revoke_not_allowed; Unauthenticated assertion_replayed; Exhausted
// revision_exhausted.
func (a *Access) RevokeByNode(ctx context.Context, in RevokeByNodeRequest) (RevokedAnswer, error) {
	if f := ident.Counter("generation", in.Generation); f != nil {
		return RevokedAnswer{}, f
	}
	var out RevokedAnswer
	err := a.commit(ctx, nodeActor(in.Caller), in.Ticket, func(ctx context.Context, w *work) error {
		s, err := entered(ctx, w.Roles, authorization.OpRevoke, in.Tenant, in.Caller.Node)
		if err != nil {
			return err
		}
		if err := authorization.CheckGeneration(in.Generation, s.Placement.Record().Generation); err != nil {
			return err
		}
		p, err := principalOf(ctx, w.Roles, in.Tenant, in.Principal)
		if err != nil {
			return err
		}
		asker, err := principalOf(ctx, w.Roles, in.Tenant, in.AskedBy)
		if err != nil && !missing(err) {
			return err
		}
		out, err = w.revoke(ctx, s, p, authorization.ByNode(asker), map[string]string{
			"asked_by": in.AskedBy, "generation": number(in.Generation),
		})
		return err
	})
	if err != nil {
		return RevokedAnswer{}, err
	}
	return out, nil
}
