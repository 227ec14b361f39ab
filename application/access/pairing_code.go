package access

import (
	"context"
	"encoding/hex"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/ports/store"
)

// PairingCodeRequest asks for a code by which one device may join a tenant.
type PairingCodeRequest struct {
	Actor  audit.Actor
	Tenant string
	Role   authorization.Role // what the device will be
}

// PairingCodeAnswer is a code, shown only here: what is kept is its hash.
type PairingCodeAnswer struct {
	Code      string // four groups of four symbols, 80 bits
	ExpiresAt time.Time
}

// PairingCode makes a code that admits one device, once, with the role it was made for.
// Faults: Invalid invalid_role; NotFound tenant_not_found; Conflict tenant_suspended, tenant_closed.
func (a *Access) PairingCode(ctx context.Context, in PairingCodeRequest) (PairingCodeAnswer, error) {
	if in.Role != authorization.Owner && in.Role != authorization.Member {
		return PairingCodeAnswer{}, fault.New(fault.Invalid, "invalid_role", `must be "owner" or "member"`).At("role")
	}
	code, err := identity.FormatPairingCode(a.IDs.Secret(identity.PairingCodeBytes))
	if err != nil {
		return PairingCodeAnswer{}, err
	}
	hash, err := pairingHash(code)
	if err != nil {
		return PairingCodeAnswer{}, err
	}
	id := a.IDs.New("pair")
	var until time.Time
	err = a.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		until = ident.Instant(w.now.Add(a.Settings.PairingLife))
		return w.newPairing(ctx, in, identity.NewSecret{
			ID: id, Hash: hash, Purpose: identity.PairingCode, Subject: in.Tenant, Grants: string(in.Role), ExpiresAt: until,
		})
	})
	if err != nil {
		return PairingCodeAnswer{}, err
	}
	return PairingCodeAnswer{Code: code, ExpiresAt: until}, nil
}

func (w *work) newPairing(ctx context.Context, in PairingCodeRequest, spec identity.NewSecret) error {
	tenant, err := w.Tenants.Get(ctx, in.Tenant)
	if err != nil {
		return err
	}
	if err := inactive(fault.Conflict, tenant.Status()); err != nil {
		return err
	}
	secret, err := identity.NewOneTimeSecret(spec, w.now)
	if err != nil {
		return err
	}
	if err := w.Secrets.Create(ctx, secret); err != nil {
		return err
	}
	return w.note(ctx, "pairing_code.issued", in.Tenant, map[string]string{
		"code_id": spec.ID, "role": spec.Grants, "expires_at": spec.ExpiresAt.Format(time.RFC3339Nano),
	})
}

// pairingHash is what a typed code is stored and found by. Fault: Invalid pairing_code_malformed.
func pairingHash(typed string) ([32]byte, error) {
	canonical, err := identity.CanonicalPairingCode(typed)
	if err != nil {
		return [32]byte{}, err
	}
	return identity.HashSecret(identity.PairingCode, canonical), nil
}

func secretKey(hash [32]byte) string { return hex.EncodeToString(hash[:]) }
