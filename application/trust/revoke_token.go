package trust

import (
	"context"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

// RevokeTokenRequest names the operator token to revoke.
type RevokeTokenRequest struct {
	Actor audit.Actor
	ID    string
}

// RevokeToken ends an operator token at once; again, it changes nothing. The last admin's is not revoked: nobody could
// make another, and the bootstrap token, which lies in a file, would work again.
// Faults: NotFound token_not_found; Conflict last_admin.
func (t *Trust) RevokeToken(ctx context.Context, in RevokeTokenRequest) (identity.OperatorTokenRecord, error) {
	var out identity.OperatorTokenRecord
	err := t.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		token, err := w.Tokens.Get(ctx, in.ID)
		if err != nil {
			return err
		}
		if err := w.notLastAdmin(ctx, token); err != nil {
			return err
		}
		changed := token.Revoke(w.now)
		out = withoutHash(token)
		if !changed {
			return nil
		}
		if err := w.Tokens.Save(ctx, token); err != nil {
			return err
		}
		return w.note(ctx, "token.revoked", "token/"+out.ID, map[string]string{"name": out.Name, "role": string(out.Role)})
	})
	if err != nil {
		return identity.OperatorTokenRecord{}, err
	}
	return out, nil
}

func (w *work) notLastAdmin(ctx context.Context, token *identity.OperatorToken) error {
	if !token.LiveAdmin(w.now) {
		return nil
	}
	admins, err := w.Tokens.Admins(ctx, w.now)
	if err != nil || admins > 1 {
		return err
	}
	return fault.New(fault.Conflict, "last_admin", "this is the last token with the role admin").
		Curable("make another admin token first")
}
