package access_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/notify"
	"berth/ports/store/storetest"
	"berth/ports/tokens/tokenstest"
)

func keyOf(w *world, code string) string {
	w.t.Helper()
	canonical, err := identity.CanonicalPairingCode(code)
	w.must(err)
	hash := identity.HashSecret(identity.PairingCode, canonical)
	return hex.EncodeToString(hash[:])
}

// A code is kept as its hash only, with its role and its end.
func TestPairingCode(t *testing.T) {
	t.Parallel()
	w := housed(t)
	out, err := w.PairingCode(w.ctx, access.PairingCodeRequest{Actor: alice, Tenant: "acme", Role: authorization.Owner})
	w.must(err)
	if !out.ExpiresAt.Equal(noon.Add(10*time.Minute)) || len(out.Code) != 19 {
		t.Fatalf("the code is %+v", out)
	}
	kept := w.dump(keyOf(w, out.Code)).Secrets[0]
	if kept.Grants != "owner" || kept.Subject != "acme" || !kept.ExpiresAt.Equal(out.ExpiresAt) || !kept.UsedAt.IsZero() {
		t.Fatalf("kept is %+v", kept)
	}
	e := w.lastEntry("pairing_code.issued")
	for _, v := range e.Detail {
		if v == out.Code {
			t.Fatalf("the audit entry shows the code: %+v", e)
		}
	}
	if topics := w.hints.Took(); len(topics) > 0 {
		t.Fatalf("a code, which changes nobody's rights, hinted at %v", topics)
	}
}

// No code is made for a role that there is not, or for a tenant that takes nobody.
func TestPairingCodeRefused(t *testing.T) {
	t.Parallel()
	ask := func(w *world, tenant string, role authorization.Role) error {
		_, err := w.PairingCode(w.ctx, access.PairingCodeRequest{Actor: alice, Tenant: tenant, Role: role})
		return err
	}
	w := housed(t)
	w.refused(ask(w, "acme", "admin"), fault.Invalid, "invalid_role")
	w.refused(ask(w, "nobody", authorization.Owner), fault.NotFound, "tenant_not_found")
	_, err := w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	w.refused(ask(w, "acme", authorization.Owner), fault.Conflict, "tenant_suspended")
	w.closeTenant()
	w.refused(ask(w, "acme", authorization.Owner), fault.Conflict, "tenant_closed")
}

// A device is admitted with the code's role and a handle for every route, shown once and kept as digests.
func TestRegisterDevice(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.route("alerts")
	code := w.code(authorization.Member)
	w.hints.Took()
	w.mem.Inject(storetest.Faults{Twice: true})
	out, err := w.RegisterDevice(w.ctx, registration(code, 1))
	w.must(err)
	if out.Tenant != "acme" || out.Role != authorization.Member ||
		out.Connection != (access.ConnectionAnswer{State: placement.Ready, URL: "wss://eu.example.test:8443/connect/v1"}) {
		t.Fatalf("the device is %+v", out)
	}
	s := w.snapshot("a")
	if len(out.Handles) != 2 || len(s.Handles) != 2 || out.Handles[0].Route != "alerts" || out.Handles[1].Route != "main" {
		t.Fatalf("the handles are %+v", out.Handles)
	}
	for _, h := range out.Handles {
		digest, err := authorization.ParseHandle(h.Handle)
		w.must(err)
		if !slices.Contains(s.Handles, authorization.HandleView{
			SHA256: digest, Principal: out.Principal, Route: h.Route, Status: authorization.Active,
		}) {
			t.Fatalf("the snapshot lacks the digest of %+v", h)
		}
	}
	p, err := w.Principals(w.ctx, access.TenantPageRequest{Tenant: "acme"})
	w.must(err)
	if r := p.Items[0]; r.Name != "phone 1" || !bytes.Equal(r.PublicKey[:], tokenstest.NewDevice(1).PublicKey()) {
		t.Fatalf("kept is %+v", r)
	}
	e := w.lastEntry("principal.admitted")
	if e.Actor != (audit.Actor{Kind: audit.ActorDevice, ID: out.Principal, Source: "192.0.2.7"}) || e.Detail["revision"] != "3" {
		t.Fatalf("the audit entry is %+v", e)
	}
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/a", "tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
}

// A registration that is refused leaves the code as it was, and everything else.
func TestRegisterDeviceRefused(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	key := keyOf(w, code)
	before := w.dump(key)
	cases := []struct {
		slug   string
		kind   fault.Kind
		change func(*access.RegisterDeviceRequest)
	}{
		{"pairing_code_malformed", fault.Invalid, func(r *access.RegisterDeviceRequest) { r.PairingCode = "AAAA" }},
		{"pairing_code_unknown", fault.Unauthenticated, func(r *access.RegisterDeviceRequest) {
			r.PairingCode = "AAAA-AAAA-AAAA-AAAA"
		}},
		{"invalid_name", fault.Invalid, func(r *access.RegisterDeviceRequest) { r.Name = "" }},
		{"invalid_kind", fault.Invalid, func(r *access.RegisterDeviceRequest) { r.Kind = "toaster" }},
		{"invalid_public_key", fault.Invalid, func(r *access.RegisterDeviceRequest) { r.PublicKey = r.PublicKey[:31] }},
		{"invalid_public_key", fault.Invalid, func(r *access.RegisterDeviceRequest) { r.PublicKey = make([]byte, 32) }},
	}
	for _, c := range cases {
		in := registration(code, 1)
		c.change(&in)
		_, err := w.RegisterDevice(w.ctx, in)
		w.refused(err, c.kind, c.slug)
		w.same(before, c.slug, key)
	}
	w.clock.Advance(10*time.Minute - time.Microsecond)
	_, err := w.RegisterDevice(w.ctx, registration(code, 1))
	w.must(err)
	_, err = w.RegisterDevice(w.ctx, registration(code, 2))
	w.refused(err, fault.Unauthenticated, "pairing_code_used")
}

// A code ends at the moment that was told.
func TestPairingCodeExpires(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	w.clock.Advance(10 * time.Minute)
	_, err := w.RegisterDevice(w.ctx, registration(code, 1))
	w.refused(err, fault.Unauthenticated, "pairing_code_expired")
}

// A tenant that takes nobody refuses by a slug of its own, and the code stays usable for when it is resumed.
func TestRegisterDeviceWithTenantNotActive(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	_, err := w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	_, err = w.RegisterDevice(w.ctx, registration(code, 1))
	w.refused(err, fault.Conflict, "tenant_suspended")
	_, err = w.Resume(w.ctx, access.ResumeRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	_, err = w.RegisterDevice(w.ctx, registration(code, 1))
	w.must(err)
	other := w.code(authorization.Owner)
	w.closeTenant()
	_, err = w.RegisterDevice(w.ctx, registration(other, 2))
	w.refused(err, fault.Conflict, "tenant_closed")
}

// The bounds of a tenant hold, and a device that they refuse is not admitted in part.
func TestRegisterDeviceBounded(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.pair(1, authorization.Owner)
	code := w.code(authorization.Member)
	w.hints.Took()
	before := w.dump(keyOf(w, code))
	for slug, limits := range map[string]authorization.Limits{
		"principals_exhausted":        {Principals: 1, Routes: 9, Handles: 9, PrincipalHandles: 9},
		"handles_exhausted":           {Principals: 9, Routes: 9, Handles: 1, PrincipalHandles: 9},
		"principal_handles_exhausted": {Principals: 9, Routes: 9, Handles: 9, PrincipalHandles: 0},
	} {
		w.Settings.Limits = limits
		_, err := w.RegisterDevice(w.ctx, registration(code, 2))
		w.refused(err, fault.Exhausted, slug)
		w.same(before, slug, keyOf(w, code))
	}
}

// Of fifty devices that come with one code at once, on two replicas, one is admitted.
func TestOneCodeAdmitsOneDevice(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	replicas := []*access.Access{w.Access, w.replica(2)}
	errs := make([]error, 50)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = replicas[i%2].RegisterDevice(w.ctx, registration(code, uint64(i))) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		w.refused(err, fault.Unauthenticated, "pairing_code_used")
	}
	if head := w.tenant(); won != 1 || head.Principals != 1 || head.Owners != 1 || head.Revision != 2 {
		t.Fatalf("%d were admitted: %+v", won, head)
	}
}

// A registration that the store fails, at whichever write, leaves nothing behind.
func TestRegisterDeviceIsAtomic(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	key := keyOf(w, code)
	before := w.dump(key)
	for n := int64(1); ; n++ {
		broken := &failing{Store: w.mem, at: n}
		w.Store = broken
		_, err := w.RegisterDevice(w.ctx, registration(code, 1))
		if err == nil {
			if n < 6 {
				t.Fatalf("there were but %d writes", n-1)
			}
			return
		}
		w.refused(err, fault.Unavailable, "store_unavailable")
		w.same(before, fmt.Sprintf("a registration whose write %d failed", n), key)
	}
}

// Every key in the table of weak ones is one that anybody can sign for, which is why it is there.
func TestWeakKeysAreRefused(t *testing.T) {
	t.Parallel()
	w := housed(t)
	code := w.code(authorization.Owner)
	weak := []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	}
	for _, text := range weak {
		key, err := hex.DecodeString(text)
		w.must(err)
		if !forgeable(key) {
			t.Errorf("nobody can sign for %s", text)
		}
		in := registration(code, 1)
		in.PublicKey = key
		_, err = w.RegisterDevice(w.ctx, in)
		w.refused(err, fault.Invalid, "invalid_public_key")
	}
	if forgeable(tokenstest.NewDevice(1).PublicKey()) {
		t.Error("anybody can sign for a good key")
	}
}

// forgeable signs without a private key: R is the neutral point and S is zero, which verifies for a key of small order
// as soon as the hash is a multiple of that order.
func forgeable(key ed25519.PublicKey) bool {
	signature := make([]byte, ed25519.SignatureSize)
	signature[0] = 1
	for i := range 200 {
		if ed25519.Verify(key, fmt.Append(nil, i), signature) {
			return true
		}
	}
	return false
}
