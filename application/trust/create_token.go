package trust

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

const tokenSecret = 32 // bytes

// CreateTokenRequest asks for an operator token.
type CreateTokenRequest struct {
	Actor     audit.Actor
	By        Operator // as CheckOperator gave it
	Name      string
	Role      identity.Role
	ExpiresIn *time.Duration // nil for Settings.TokenLife
}

// CreatedToken is a new token, shown only here: what is kept is its hash.
type CreatedToken struct {
	Token identity.OperatorTokenRecord // without the hash
	Clear string
}

// CreateToken makes an operator token. Only an admin may; the bearer of the bootstrap token makes an admin's, and only
// while there is none: of several at once one succeeds.
// Faults: Forbidden role_insufficient, bootstrap_limited, bootstrap_closed; Invalid text_out_of_bounds, role_unknown,
// expiry_out_of_range.
func (t *Trust) CreateToken(ctx context.Context, in CreateTokenRequest) (CreatedToken, error) {
	life, err := t.tokenLife(in.ExpiresIn)
	if err != nil {
		return CreatedToken{}, err
	}
	clear, err := identity.FormatToken(t.IDs.New("tok"), t.IDs.Secret(tokenSecret))
	if err != nil {
		return CreatedToken{}, err
	}
	var out identity.OperatorTokenRecord
	err = t.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		if err := w.mayCreate(ctx, in.By, in.Role); err != nil {
			return err
		}
		token, err := identity.NewOperatorToken(identity.NewToken{
			Name: in.Name, Role: in.Role, Clear: clear, ExpiresAt: w.now.Add(life),
		}, w.now)
		if err != nil {
			return err
		}
		if err := w.Tokens.Create(ctx, token); err != nil {
			return err
		}
		out = withoutHash(token)
		return w.note(ctx, "token.created", "token/"+out.ID, map[string]string{
			"name": out.Name, "role": string(out.Role), "expires_at": out.ExpiresAt.Format(time.RFC3339),
		})
	})
	if err != nil {
		return CreatedToken{}, err
	}
	return CreatedToken{Token: out, Clear: clear}, nil
}

func (w *work) mayCreate(ctx context.Context, by Operator, role identity.Role) error {
	if !by.Bootstrap {
		return identity.CheckRole(by.Role, identity.RoleAdmin)
	}
	if role != identity.RoleAdmin {
		return bootstrapLimited()
	}
	admins, err := w.Tokens.Admins(ctx, w.now)
	if err != nil {
		return err
	}
	return identity.CheckBootstrap(admins)
}

// tokenLife is how long a token is to live. Zero is no life, and least of all an endless one.
func (t *Trust) tokenLife(asked *time.Duration) (time.Duration, error) {
	if asked == nil {
		return t.Settings.TokenLife, nil
	}
	if *asked < time.Minute || *asked > t.Settings.MaxTokenLife {
		return 0, fault.New(fault.Invalid, "expiry_out_of_range", "a token lives between a minute and %s",
			t.Settings.MaxTokenLife).At("expires_in")
	}
	return *asked, nil
}

func withoutHash(t *identity.OperatorToken) identity.OperatorTokenRecord {
	r := t.Record()
	r.Hash = [32]byte{}
	return r
}
