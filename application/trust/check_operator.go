package trust

import (
	"context"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

// BootstrapID is the id of the bootstrap token's bearer. No token that Berth gives out has it.
const BootstrapID = "bootstrap"

// Operator is who bears an operator token.
type Operator struct {
	ID        string // of the token
	Name      string
	Role      identity.Role
	Bootstrap bool // by the bootstrap token: an admin while no other exists
}

func bootstrapLimited() error {
	return fault.New(fault.Forbidden, "bootstrap_limited", "the bootstrap token makes the first admin token, and no other token").
		Curable("make a token with the role admin and use that one")
}

// CheckOperator says who bears a token. The bootstrap token works only while no admin exists.
// Faults: those of identity.CheckToken; Forbidden bootstrap_closed.
func (t *Trust) CheckOperator(ctx context.Context, clear string) (Operator, error) {
	if t.Bootstrap.is(clear) {
		return t.checkBootstrap(ctx)
	}
	id, err := identity.ParseToken(clear)
	if err != nil {
		return Operator{}, err
	}
	var stored *identity.OperatorToken
	err = t.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		stored, err = r.Tokens.Get(ctx, id)
		return err
	})
	if fault.KindOf(err) == fault.NotFound {
		stored, err = nil, nil
	}
	if err != nil {
		return Operator{}, err
	}
	if err := identity.CheckToken(stored, clear, t.Clock.Now()); err != nil {
		return Operator{}, err
	}
	r := stored.Record()
	return Operator{ID: r.ID, Name: r.Name, Role: r.Role}, nil
}

func (t *Trust) checkBootstrap(ctx context.Context) (Operator, error) {
	now := t.Clock.Now()
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		admins, err := r.Tokens.Admins(ctx, now)
		if err != nil {
			return err
		}
		return identity.CheckBootstrap(admins)
	})
	if err != nil {
		return Operator{}, err
	}
	return Operator{ID: BootstrapID, Name: BootstrapID, Role: identity.RoleAdmin, Bootstrap: true}, nil
}
