package trust_test

import (
	"testing"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
)

// Desired states and packages have keys of their own, active from the start; the JWKS shows none of them (I9), and they
// are rotated ahead by far more than a cluster is cut off.
func TestTheDeliveryHalfHasKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings = trust.DefaultSettings(domain)
	w.must(w.KeepKeys(w.ctx))
	active := map[identity.KeyPurpose]string{}
	keys, err := w.SigningKeys(w.ctx)
	w.must(err)
	for _, k := range keys {
		if k.State != identity.KeyActive || active[k.Purpose] != "" {
			t.Fatalf("%+v", k)
		}
		active[k.Purpose] = k.KID
	}
	if len(active) != 3 || active[identity.KeyForDesiredState] == "" || active[identity.KeyForPackages] == "" {
		t.Fatalf("%v", active)
	}
	jwks, err := w.JWKS(w.ctx)
	w.must(err)
	if len(jwks) != 1 || jwks[0].Purpose != identity.KeyForDeviceTokens {
		t.Fatalf("%+v", jwks)
	}
	next, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: identity.KeyForDesiredState})
	w.must(err)
	if next.State != identity.KeyPending || next.NotBefore.Sub(noon) < w.Settings.Delivery.PublishAhead/2 {
		t.Fatalf("%+v", next)
	}
	out, err := w.CompromiseSigningKey(w.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: active[identity.KeyForPackages], Reason: "leaked"})
	w.must(err)
	if out.Active == nil || out.Active.Purpose != identity.KeyForPackages {
		t.Fatalf("%+v", out)
	}
	w.Settings.Delivery.SignFor = w.Settings.Delivery.PublishAhead
	w.refused(w.Settings.Check(), fault.Invalid, "key_windows_invalid")
}
