package trust

import (
	"context"

	"berth/domain/identity"
	"berth/ports/store"
)

// Tokens lists the operator tokens, ended ones included, without their hashes, by id.
func (t *Trust) Tokens(ctx context.Context, p store.Page) (store.List[identity.OperatorTokenRecord], error) {
	var out store.List[identity.OperatorTokenRecord]
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		page, err := store.Listed(p, func(p store.Page) ([]*identity.OperatorToken, error) { return r.Tokens.List(ctx, p) },
			func(t *identity.OperatorToken) string { return t.Record().ID })
		out = recordsOf(page, withoutHash)
		return err
	})
	return out, err
}
