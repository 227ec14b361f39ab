package access_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

// bears is a world in which a device of acme bears a good token.
func bears(t *testing.T) (*world, access.DeviceAnswer) {
	t.Helper()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	w.bearer.token = tokens.DeviceToken{
		KID: "key-1", ID: "x", Principal: d.Principal, Region: "eu", Tenant: "acme",
		Thumbprint: tokens.Thumbprint(tokenstest.NewDevice(1).PublicKey()), ExpiresAt: noon.Add(10 * time.Minute),
	}
	return w, d
}

func (w *world) connection(principal, token string) (access.ConnectionAnswer, error) {
	return w.Connection(w.ctx, access.ConnectionRequest{Principal: principal, Token: token})
}

// The state names why a device can not connect (P13).
func TestConnectionState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(w *world)
		want    placement.ConnectionState
	}{
		"nothing":         {func(*world) {}, placement.Ready},
		"preparing":       {func(w *world) { w.moves(placement.PhasePreparing) }, placement.Ready},
		"quiescing":       {func(w *world) { w.moves(placement.PhaseQuiescing) }, placement.Migrating},
		"switching":       {func(w *world) { w.moves(placement.PhaseSwitching) }, placement.Migrating},
		"draining":        {func(w *world) { w.moves(placement.PhaseDraining) }, placement.Ready},
		"a lapsed lease":  {func(w *world) { w.lapse("a") }, placement.NodeUnavailable},
		"another's lapse": {func(w *world) { w.lapse("b") }, placement.Ready},
		"suspended": {func(w *world) {
			_, err := w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
			w.must(err)
		}, placement.Suspended},
	} {
		w, d := bears(t)
		c.happens(w)
		got, err := w.connection(d.Principal, goodToken)
		w.must(err)
		if got.State != c.want || got.URL != "wss://eu.example.test:8443/connect/v1" {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func (w *world) lapse(node string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		lease, err := r.Leases.Get(ctx, node)
		w.must(err)
		w.must(lease.Lapse(lease.Mark()))
		return r.Leases.Save(ctx, lease)
	})
}

// Whatever is wrong with the token or with whom it is shown for, the answer is the same.
func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	w, d := bears(t)
	other := w.pair(2, authorization.Member)
	revoked := func(w *world) {
		_, err := w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: d.Principal})
		w.must(err)
	}
	good := w.bearer.token
	cases := []struct {
		what      string
		principal string
		token     string
		change    func(*tokens.DeviceToken)
	}{
		{"no token", d.Principal, "", nil},
		{"another text", d.Principal, "a token", nil},
		{"another device of the tenant", other.Principal, goodToken, nil},
		{"nobody", "prn_nobody", goodToken, nil},
		{"nobody, out of form", "\x00", goodToken, nil},
		{"nobody, no token", "prn_nobody", "", nil},
		{"another device with the same key", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.Principal = "prn_twin" }},
		{"another tenant", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.Tenant = "other" }},
		{"another region", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.Region = "us" }},
		{"another key of the device", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.Thumbprint = "x" }},
		{"an unknown signing key", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.KID = "key-9" }},
		{"too old", d.Principal, goodToken, func(t *tokens.DeviceToken) { t.ExpiresAt = noon }},
	}
	var first *fault.Error
	same := func(what string, err error) {
		w.refused(err, fault.Unauthenticated, "device_token_refused")
		f, _ := fault.As(err)
		shown := f.Because(nil)
		if first == nil {
			first = shown
		}
		if !reflect.DeepEqual(shown, first) {
			t.Errorf("%s is refused as %+v", what, shown)
		}
	}
	for _, c := range cases {
		w.bearer.token = good
		if c.change != nil {
			c.change(&w.bearer.token)
		}
		_, err := w.connection(c.principal, c.token)
		same(c.what, err)
	}
	w.bearer.token = good
	revoked(w)
	_, err := w.connection(d.Principal, goodToken)
	same("a revoked device", err)
}

// Tokens are verified by the keys that verify now: not by those to come, not by ended ones, not by other purposes'.
func TestConnectionVerifiesByTheRing(t *testing.T) {
	t.Parallel()
	w, d := bears(t)
	record := func(kid string, change func(*identity.SigningKeyRecord)) {
		r := identity.SigningKeyRecord{
			KID: kid, Purpose: identity.KeyForDeviceTokens, PublicKey: make([]byte, 32), Ref: "memory:" + kid,
			State: identity.KeyRetiring, NotBefore: noon.Add(-time.Hour), SignUntil: noon, VerifyUntil: noon.Add(time.Minute),
		}
		change(&r)
		w.do(func(ctx context.Context, r2 *store.Roles) error {
			return r2.Keys.Create(ctx, identity.RestoreSigningKey(r))
		})
	}
	record("retiring", func(*identity.SigningKeyRecord) {})
	record("past", func(r *identity.SigningKeyRecord) { r.VerifyUntil = noon })
	record("future", func(r *identity.SigningKeyRecord) {
		r.State, r.NotBefore = identity.KeyPending, noon.Add(time.Second)
	})
	record("retired", func(r *identity.SigningKeyRecord) { r.State = identity.KeyRetired })
	record("stolen", func(r *identity.SigningKeyRecord) { r.State = identity.KeyCompromised })
	record("foreign", func(r *identity.SigningKeyRecord) { r.Purpose = identity.KeyForPackages })
	_, err := w.connection(d.Principal, goodToken)
	w.must(err)
	if len(w.bearer.keys) != 2 || !w.bearer.keys["retiring"].VerifyUntil.Equal(noon.Add(time.Minute)) {
		t.Fatalf("the keys are %+v", w.bearer.keys)
	}
}
