package access_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

func jti(n int) string { return fmt.Sprintf("jti-%016d", n) }

func (w *world) assertion(device uint64, principal string, n int) string {
	return tokenstest.NewDevice(device).Assert(principal, audience, jti(n), w.clock.Now())
}

func (w *world) token(assertion string) (access.DeviceTokenAnswer, error) {
	return w.DeviceToken(w.ctx, access.DeviceTokenRequest{Assertion: assertion})
}

// A device that proves its key is given a token for its tenant in its home region, signed by the active key.
func TestDeviceToken(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	w.clock.Advance(300 * time.Millisecond)
	before := w.dump()
	w.hints.Took()
	out, err := w.token(w.assertion(1, d.Principal, 1))
	w.must(err)
	issued := w.fake.Issued()
	if len(issued) != 1 {
		t.Fatalf("issued %d tokens", len(issued))
	}
	c := issued[0].Claims
	want := tokens.DeviceClaims{
		ID: c.ID, Principal: d.Principal, Region: "eu", Tenant: "acme", DeviceKey: tokenstest.NewDevice(1).PublicKey(),
		IssuedAt: noon, NotBefore: noon, ExpiresAt: noon.Add(10 * time.Minute),
	}
	if !reflect.DeepEqual(c, want) || len(c.ID) < tokens.MinID || len(c.ID) > tokens.MaxID {
		t.Fatalf("the claims are %+v", c)
	}
	if issued[0].Key != (tokens.SigningKey{KID: "key-1", Ref: "memory:key-1"}) {
		t.Fatalf("signed by %+v", issued[0].Key)
	}
	if !out.ExpiresAt.Equal(c.ExpiresAt) || out.AccessToken == "" {
		t.Fatalf("the answer is %+v", out)
	}
	w.same(before, "a token, but for the spent assertion,")
}

// A tenant that still waits for a place has a region already.
func TestDeviceTokenWhileTheTenantWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.CreateTenant(w.ctx, create("acme", "us"))
	w.must(err)
	d := w.pair(1, authorization.Owner)
	if d.Connection.State != "placing" || d.Connection.URL != "wss://us.example.test:8443/connect/v1" {
		t.Fatalf("the connection is %+v", d.Connection)
	}
	_, err = w.token(w.assertion(1, d.Principal, 1))
	w.must(err)
	if got := w.fake.Issued()[0].Claims.Region; got != "us" {
		t.Fatalf("the region is %q", got)
	}
}

// An assertion counts once, on all replicas.
func TestAssertionCountsOnce(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	assertion := w.assertion(1, d.Principal, 1)
	replicas := []*access.Access{w.Access, w.replica(2)}
	errs := make([]error, 20)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = replicas[i%2].DeviceToken(w.ctx, access.DeviceTokenRequest{Assertion: assertion})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		w.refused(err, fault.Unauthenticated, "assertion_replayed")
	}
	if won != 1 || len(w.fake.Issued()) != 1 {
		t.Fatalf("%d tokens for one assertion", won)
	}
	_, err := w.token(w.assertion(1, d.Principal, 2))
	w.must(err)
}

// The jti of one device is nothing to another.
func TestAssertionIDsArePerDevice(t *testing.T) {
	t.Parallel()
	w := housed(t)
	for n := range uint64(2) {
		d := w.pair(n, authorization.Owner)
		_, err := w.token(w.assertion(n, d.Principal, 1))
		w.must(err)
	}
}

// A wrong key, a device that does not exist and one that is revoked are refused in exactly the same words.
func TestUnprovenDevicesLookAlike(t *testing.T) {
	t.Parallel()
	w := housed(t)
	owner, gone := w.pair(1, authorization.Owner), w.pair(2, authorization.Member)
	_, err := w.revoke(gone.Principal, owner.Principal)
	w.must(err)
	var first error
	for what, assertion := range map[string]string{
		"a wrong key":               w.assertion(9, owner.Principal, 1),
		"nobody":                    w.assertion(1, "prn_nobody", 1),
		"nobody, out of form":       w.assertion(1, "PRN \x00\u2028", 1),
		"no name":                   w.assertion(1, "", 1),
		"a revoked device":          w.assertion(2, gone.Principal, 1),
		"a revoked device, too old": tokenstest.NewDevice(2).Assert(gone.Principal, audience, jti(1), noon.Add(-time.Hour)),
		"another's key, too old":    tokenstest.NewDevice(2).Assert(owner.Principal, audience, jti(1), noon.Add(-time.Hour)),
	} {
		_, err := w.token(assertion)
		w.refused(err, fault.Unauthenticated, "device_assertion_signature")
		if first == nil {
			first = err
		}
		if !reflect.DeepEqual(err, first) {
			t.Errorf("%s is refused as %+v, another as %+v", what, err, first)
		}
	}
	if n := len(w.fake.Issued()); n != 0 {
		t.Fatalf("issued %d tokens", n)
	}
}

// forged is an assertion that verifies by the base point of the curve, whose private scalar is one: R = B, S = 1 + k.
func forged(w *world, principal string) string {
	base := append([]byte{0x58}, bytes.Repeat([]byte{0x66}, 31)...)
	claims := fmt.Sprintf(`{"sub":%q,"aud":%q,"jti":%q,"iat":%d,"exp":%d}`, principal, audience, jti(1), noon.Unix(), noon.Unix()+30)
	text := "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	sum := sha512.Sum512(slices.Concat(base, base, []byte(text)))
	slices.Reverse(sum[:])
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := new(big.Int).SetBytes(sum[:])
	s.Mod(s.Add(s, big.NewInt(1)), order)
	scalar := s.FillBytes(make([]byte, 32))
	slices.Reverse(scalar)
	signature := append(slices.Clone(base), scalar...)
	if !ed25519.Verify(base, []byte(text), signature) {
		w.t.Fatalf("the forgery does not verify")
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Whoever signs by the key that stands in for a missing one gains nothing by it.
func TestDecoyKeyProvesNothing(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	_, err := w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: d.Principal})
	w.must(err)
	for _, principal := range []string{"prn_nobody", d.Principal} {
		_, err := w.token(forged(w, principal))
		w.refused(err, fault.Unauthenticated, "device_assertion_signature")
	}
}

// What is truly signed is told what is wrong with it.
func TestDeviceAssertionRefused(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	device := tokenstest.NewDevice(1)
	for slug, assertion := range map[string]string{
		"device_assertion_malformed":   "nonsense",
		"device_assertion_audience":    device.Assert(d.Principal, "https://elsewhere.test/", jti(1), noon),
		"device_assertion_expired":     device.Assert(d.Principal, audience, jti(1), noon.Add(-2*time.Minute)),
		"device_assertion_from_future": device.Assert(d.Principal, audience, jti(1), noon.Add(2*time.Minute)),
	} {
		_, err := w.token(assertion)
		w.refused(err, fault.Unauthenticated, slug)
	}
	_, err := w.token(w.assertion(1, d.Principal, 1))
	w.must(err)
}

// A tenant that is not active gives no tokens, and says why to its own devices. The assertion is not spent by it.
func TestDeviceTokenOfTenantNotActive(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	assertion := w.assertion(1, d.Principal, 1)
	_, err := w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	_, err = w.token(assertion)
	w.refused(err, fault.Forbidden, "tenant_suspended")
	_, err = w.Resume(w.ctx, access.ResumeRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	_, err = w.token(assertion)
	w.must(err)
	w.closeTenant()
	_, err = w.token(w.assertion(1, d.Principal, 2))
	w.refused(err, fault.Forbidden, "tenant_closed")
}

// meddler does something between the verifying of an assertion and the transaction that spends it.
type meddler struct {
	tokens.AssertionVerifier
	meddle func()
}

func (m meddler) Verify(text string, key ed25519.PublicKey, audience string, now time.Time) (tokens.Assertion, error) {
	a, err := m.AssertionVerifier.Verify(text, key, audience, now)
	m.meddle()
	return a, err
}

// A revocation that falls between the check of the signature and the transaction is seen by the latter.
func TestDeviceRevokedWhileItAsks(t *testing.T) {
	t.Parallel()
	w := housed(t)
	owner, d := w.pair(1, authorization.Owner), w.pair(2, authorization.Member)
	w.Tokens.Assertions = meddler{w.fake, func() {
		_, err := w.revoke(d.Principal, owner.Principal)
		w.must(err)
	}}
	_, err := w.token(w.assertion(2, d.Principal, 1))
	w.refused(err, fault.Unauthenticated, "device_assertion_signature")
	if n := len(w.fake.Issued()); n != 0 {
		t.Fatalf("issued %d tokens", n)
	}
}

// Without a key that may sign, or a service that signs, there is no token, and the device is told to come again.
func TestDeviceTokenWithoutSigner(t *testing.T) {
	t.Parallel()
	w := housed(t)
	d := w.pair(1, authorization.Owner)
	w.fake.Break(signer.Unreachable(errors.New("gone")))
	_, err := w.token(w.assertion(1, d.Principal, 1))
	w.refused(err, fault.Unavailable, "signer_unavailable")
	w.fake.Break(nil)
	w.clock.Advance(24 * time.Hour)
	_, err = w.token(w.assertion(1, d.Principal, 2))
	w.refused(err, fault.Unavailable, "signing_key_missing")
}
