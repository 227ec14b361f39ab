package access

import (
	"context"
	"crypto/ed25519"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/signer"
	"berth/ports/store"
	"berth/ports/tokens"
)

// decoyKey stands in for the key of a device that does not exist or is revoked, so that checking its assertion takes as
// long. It is the base point of the curve, for which anybody can sign: what it verifies is refused all the same.
var decoyKey = ed25519.PublicKey("\x58" + //nolint:gochecknoglobals // immutable
	"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66" +
	"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66")

// DeviceTokenRequest is a device's proof of its key.
type DeviceTokenRequest struct{ Assertion string }

// DeviceTokenAnswer is a token that opens the region's origin.
type DeviceTokenAnswer struct {
	AccessToken string
	ExpiresAt   time.Time // at most 10 minutes away, in whole seconds
}

// DeviceToken answers a device's assertion, which counts once, with a token for its tenant in its home region (A7). The
// token is signed outside the transaction that spends the assertion. It is not audited: a token is proof of nothing
// that the device's admission, which is, did not give.
//
// Faults: Unauthenticated, as of tokens.AssertionVerifier, where device_assertion_signature also stands for a device
// that does not exist or is revoked; assertion_replayed. Forbidden tenant_suspended, tenant_closed. Unavailable
// signing_key_missing, signer_unavailable; the device then asks again with another assertion.
func (a *Access) DeviceToken(ctx context.Context, in DeviceTokenRequest) (DeviceTokenAnswer, error) {
	now := a.Clock.Now()
	said, err := a.verified(ctx, in.Assertion, now)
	if err != nil {
		return DeviceTokenAnswer{}, err
	}
	var d device
	var key identity.SigningKeyRecord
	actor := audit.Actor{Kind: audit.ActorDevice, ID: said.Principal}
	ticket := store.Ticket{Scope: "device/" + said.Principal, Nonce: said.JTI, ExpiresAt: said.ExpiresAt}
	err = a.commit(ctx, actor, ticket, func(ctx context.Context, w *work) (err error) {
		if d, err = entitled(ctx, w.Roles, said.Principal); err != nil {
			return err
		}
		ring, err := deviceKeys(ctx, w.Roles)
		if err != nil {
			return err
		}
		key, err = ring.Signing(now)
		return err
	})
	if err != nil {
		return DeviceTokenAnswer{}, err
	}
	return a.issue(ctx, key, d, now)
}

// verified returns what a device's own key signed.
func (a *Access) verified(ctx context.Context, assertion string, now time.Time) (tokens.Assertion, error) {
	claimed, err := a.Tokens.Assertions.PrincipalOf(assertion)
	if err != nil {
		return tokens.Assertion{}, err
	}
	var p *authorization.Principal
	err = a.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		p, err = principal(ctx, r, claimed)
		return err
	})
	if err != nil && !missing(err) {
		return tokens.Assertion{}, err
	}
	known, key := err == nil && p.Active(), decoyKey
	if known {
		r := p.Record()
		key = r.PublicKey[:]
	}
	said, err := a.Tokens.Assertions.Verify(assertion, key, a.Settings.Audience, now)
	if fault.SlugOf(err) == slugSignature || !known {
		return tokens.Assertion{}, unproven()
	}
	if err != nil {
		return tokens.Assertion{}, err
	}
	if said.Principal != claimed {
		return tokens.Assertion{}, unproven()
	}
	return said, nil
}

const slugSignature = "device_assertion_signature"

// unproven is the one refusal of a wrong key, of a device that does not exist and of one that is revoked.
func unproven() error {
	return fault.New(fault.Unauthenticated, slugSignature, "the assertion is not signed by the key of an active device").
		Curable("pair the device anew")
}

// entitled reads the device again in the transaction that spends its assertion, and its tenant.
func entitled(ctx context.Context, r *store.Roles, id string) (device, error) {
	d, err := deviceOf(ctx, r, id)
	if err != nil {
		return device{}, err
	}
	if !d.active() {
		return device{}, unproven()
	}
	return d, inactive(fault.Forbidden, d.standing.Tenant.Status())
}

func (a *Access) issue(ctx context.Context, key identity.SigningKeyRecord, d device, now time.Time) (DeviceTokenAnswer, error) {
	p := d.principal.Record()
	from := now.UTC().Truncate(time.Second)
	claims := tokens.DeviceClaims{
		ID: a.IDs.New("dt"), Principal: p.ID, Region: d.region, Tenant: p.Tenant, DeviceKey: p.PublicKey[:],
		IssuedAt: from, NotBefore: from, ExpiresAt: from.Add(a.Settings.TokenLife),
	}
	signing := tokens.SigningKey{KID: key.KID, Ref: signer.KeyRef(key.Ref)}
	token, err := a.Tokens.Issuer.IssueDeviceToken(ctx, signing, claims)
	if err != nil {
		return DeviceTokenAnswer{}, err
	}
	return DeviceTokenAnswer{AccessToken: token, ExpiresAt: claims.ExpiresAt}, nil
}
