package token_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/adapters/token"
	"berth/domain/fault"
	"berth/ports/tokens"
)

// A device token has exactly the header and claims of the contract.
func TestDeviceTokenOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.issue(t)
	header := map[string]any{"alg": "EdDSA", "typ": "berth-device+jwt", "kid": "k1"}
	if got := payload(t, text, 0); !reflect.DeepEqual(got, header) {
		t.Errorf("the header is %v", got)
	}
	claims := map[string]any{
		"iss": trustDomain, "sub": principal, "aud": []any{"eu-1", "acme"}, "jti": jti,
		"cnf": map[string]any{"jkt": tokens.Thumbprint(w.device.PublicKey())},
		"iat": float64(noon().Unix()), "nbf": float64(noon().Unix()), "exp": float64(noon().Unix() + 600),
	}
	if got := payload(t, text, 1); !reflect.DeepEqual(got, claims) {
		t.Errorf("the claims are %v", got)
	}
}

// What was issued is verified to say the same.
func TestDeviceTokenSaysWhatItWasToldTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := w.verifier.VerifyDeviceToken(w.issue(t), w.keys, "eu-1", noon())
	if err != nil {
		t.Fatal(err)
	}
	want := tokens.DeviceToken{
		KID: "k1", ID: jti, Principal: principal, Region: "eu-1", Tenant: "acme",
		Thumbprint: tokens.Thumbprint(w.device.PublicKey()),
		IssuedAt:   noon(), NotBefore: noon(), ExpiresAt: noon().Add(10 * time.Minute),
	}
	if got != want {
		t.Fatalf("it says %+v", got)
	}
}

// Whatever claims are issued are accepted from skew before their time until skew after it, and at no other time.
func TestDeviceTokenLivesFromSkewBeforeToSkewAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		c := w.claims()
		life := rapid.Int64Range(1, 600).Draw(r, "life")
		c.ExpiresAt = c.IssuedAt.Add(time.Duration(life) * time.Second)
		c.NotBefore = c.IssuedAt.Add(time.Duration(rapid.Int64Range(-600, life-1).Draw(r, "not before")) * time.Second)
		text, err := w.issuer.IssueDeviceToken(t.Context(), w.key, c)
		if err != nil {
			r.Fatal(err)
		}
		from, until := c.IssuedAt.Add(-tokens.Skew), c.ExpiresAt.Add(tokens.Skew)
		if c.NotBefore.After(c.IssuedAt) {
			from = c.NotBefore.Add(-tokens.Skew)
		}
		now := noon().Add(time.Duration(rapid.Int64Range(-700_000, 700_000).Draw(r, "now")) * time.Millisecond)
		want := ""
		switch {
		case now.Before(from):
			want = "device_token_from_future"
		case !now.Before(until):
			want = "device_token_expired"
		}
		if got := w.verify(text, now); (got == nil) != (want == "") || (got != nil && fault.SlugOf(got) != want) {
			r.Fatalf("at %v, of %v to %v: %v, not %q", now, from, until, got, want)
		}
	})
}

// Skew is tested to the instant, both ways.
func TestDeviceTokenSkewToTheInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, end := w.issue(t), noon().Add(10*time.Minute)
	for now, slug := range map[time.Time]string{
		noon().Add(-tokens.Skew - 1): "device_token_from_future",
		noon().Add(-tokens.Skew):     "",
		end.Add(tokens.Skew - 1):     "",
		end.Add(tokens.Skew):         "device_token_expired",
	} {
		wants(t, now.String(), w.verify(text, now), slug)
	}
}

// A key is trusted until the end of its window to the instant and no longer, though it is still in the set and the token
// still lives; a key without an end is not trusted; a key that is not in the set is unknown.
func TestDeviceTokenKeyWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, public := w.issue(t), w.keys["k1"].PublicKey
	end := noon().Add(time.Minute)
	w.keys = tokens.KeySet{"k1": {PublicKey: public, VerifyUntil: end}}
	wants(t, "before the end", w.verify(text, end.Add(-1)), "")
	wants(t, "at the end", w.verify(text, end), "device_token_key_retired")
	w.keys = tokens.KeySet{"k1": {PublicKey: public}}
	wants(t, "no end", w.verify(text, noon()), "device_token_key_retired")
	w.keys = tokens.KeySet{"k2": {PublicKey: public, VerifyUntil: end}}
	wants(t, "another kid", w.verify(text, noon()), "device_token_key_unknown")
	w.keys = nil
	wants(t, "no keys", w.verify(text, noon()), "device_token_key_unknown")
	w.keys = tokens.KeySet{"k1": {PublicKey: w.device.PublicKey(), VerifyUntil: end}}
	wants(t, "another key under the kid", w.verify(text, noon()), "device_token_signature")
	for _, bad := range []ed25519.PublicKey{nil, public[:31], append(public[:32:32], 0)} {
		w.keys = tokens.KeySet{"k1": {PublicKey: bad, VerifyUntil: end}}
		wants(t, "a key of the wrong size", w.verify(text, noon()), "device_token_signature")
	}
}

// A token is for one region and one trust domain.
func TestDeviceTokenForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.issue(t)
	for _, region := range []string{"eu-2", "acme", "EU-1", ""} {
		_, err := w.verifier.VerifyDeviceToken(text, w.keys, region, noon())
		wants(t, "region "+region, err, "device_token_audience")
	}
	_, err := token.NewDeviceVerifier("spiffe://other.example").VerifyDeviceToken(text, w.keys, "eu-1", noon())
	wants(t, "another trust domain", err, "device_token_issuer")
}

// Claims that were truly signed are still refused where they are not those of the contract: the key may have signed
// under an older or a broken program.
func TestDeviceTokenWithWrongClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := payload(t, w.issue(t), 1)
	w.keys = tokens.KeySet{"k1": {PublicKey: w.device.PublicKey(), VerifyUntil: noon().Add(time.Hour)}}
	header := map[string]any{"alg": "EdDSA", "typ": tokens.DeviceTokenType, "kid": "k1"}
	iat := noon().Unix()
	wants(t, "unchanged", w.verify(w.device.Sign(header, good), noon()), "")
	for name, c := range map[string]struct {
		claims any
		slug   string
	}{
		"null":                {nil, "claims"},
		"a list":              {[]int{1}, "malformed"},
		"no sub":              {with(good, "sub", nil), "claims"},
		"a sub with a space":  {with(good, "sub", "a b"), "claims"},
		"a number for sub":    {with(good, "sub", 7), "malformed"},
		"aud as text":         {with(good, "aud", "eu-1"), "malformed"},
		"one aud":             {with(good, "aud", []string{"eu-1"}), "claims"},
		"three aud":           {with(good, "aud", []string{"eu-1", "acme", "x"}), "claims"},
		"an empty tenant":     {with(good, "aud", []string{"eu-1", ""}), "claims"},
		"aud the other way":   {with(good, "aud", []string{"acme", "eu-1"}), "audience"},
		"no cnf":              {with(good, "cnf", nil), "claims"},
		"a short thumbprint":  {with(good, "cnf", map[string]string{"jkt": "AAAA"}), "claims"},
		"cnf with a jwk":      {with(good, "cnf", map[string]any{"jkt": "x", "jwk": map[string]any{}}), "malformed"},
		"no jti":              {with(good, "jti", nil), "claims"},
		"a short jti":         {with(good, "jti", "short"), "claims"},
		"no iat":              {with(good, "iat", nil), "claims"},
		"no nbf":              {with(good, "nbf", nil), "claims"},
		"no exp":              {with(good, "exp", nil), "claims"},
		"exp of zero":         {with(good, "exp", 0), "claims"},
		"a negative iat":      {with(good, "iat", -1), "claims"},
		"exp past all time":   {with(good, "exp", int64(1)<<62), "claims"},
		"exp with a fraction": {with(good, "exp", 1.5), "malformed"},
		"exp as text":         {with(good, "exp", "1772367000"), "malformed"},
		"a longer life":       {with(good, "exp", iat+601), "lifetime"},
		"exp at iat":          {with(good, "exp", iat), "lifetime"},
		"nbf at exp":          {with(good, "nbf", iat+600), "lifetime"},
		"nbf still to come":   {with(good, "nbf", iat+31), "from_future"},
		"another iss":         {with(good, "iss", "spiffe://other"), "issuer"},
		"an unknown claim":    {with(good, "scope", "all"), "malformed"},
		"a wrongly cased one": {with(good, "Sub", "other"), "malformed"},
	} {
		wants(t, name, w.verify(w.device.Sign(header, c.claims), noon()), "device_token_"+c.slug)
	}
}

// A verifier would refuse these, so they are not signed; that is the caller's defect, and not the device's.
func TestDeviceTokenThatCannotBeIssued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, spoil := range map[string]func(c *tokens.DeviceClaims, k *tokens.SigningKey){
		"lives longer than ten minutes": func(c *tokens.DeviceClaims, _ *tokens.SigningKey) {
			c.ExpiresAt = c.ExpiresAt.Add(time.Second)
		},
		"lives for no time": func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.ExpiresAt = c.IssuedAt },
		"no times": func(c *tokens.DeviceClaims, _ *tokens.SigningKey) {
			c.IssuedAt, c.NotBefore, c.ExpiresAt = time.Time{}, time.Time{}, time.Time{}
		},
		"no not-before": func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.NotBefore = time.Time{} },
		"no principal":  func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.Principal = "" },
		"no region":     func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.Region = "" },
		"no tenant":     func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.Tenant = "" },
		"no jti":        func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.ID = "" },
		"no device key": func(c *tokens.DeviceClaims, _ *tokens.SigningKey) { c.DeviceKey = nil },
		"no kid":        func(_ *tokens.DeviceClaims, k *tokens.SigningKey) { k.KID = "" },
	} {
		c, k := w.claims(), w.key
		spoil(&c, &k)
		text, err := w.issuer.IssueDeviceToken(t.Context(), k, c)
		if text != "" || fault.SlugOf(err) != "device_claims" || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}

// A signer that fails, a key that is gone and a context that ended make issuing unavailable: a device is never told that
// something of its own was not found.
func TestIssuingHangsOnTheSigner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unavailable := func(ctx context.Context, when string, cause error) {
		t.Helper()
		text, err := w.issuer.IssueDeviceToken(ctx, w.key, w.claims())
		if text != "" || fault.KindOf(err) != fault.Unavailable || (cause != nil && !errors.Is(err, cause)) {
			t.Errorf("%s: got %q, %v", when, text, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	unavailable(ended, "ended", context.Canceled)
	cause := errors.New("broken")
	w.kms.Break(cause)
	unavailable(t.Context(), "broken", cause)
	w.kms.Break(nil)
	if err := w.kms.Destroy(t.Context(), w.key.Ref); err != nil {
		t.Fatal(err)
	}
	unavailable(t.Context(), "destroyed", nil)
}

// A device's own signature makes no device token, and a device token no assertion: types keep them apart even where the
// key would fit.
func TestTypesKeepApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	assertion := w.device.Assert(principal, audience, jti, noon())
	w.keys["k1"] = tokens.VerificationKey{PublicKey: w.device.PublicKey(), VerifyUntil: noon().Add(time.Hour)}
	wants(t, "an assertion for a token", w.verify(assertion, noon()), "device_token_type")
	_, err := token.AssertionVerifier{}.Verify(newWorld(t).issue(t), w.device.PublicKey(), audience, noon())
	wants(t, "a token for an assertion", err, "device_assertion_type")
	_, err = token.AssertionVerifier{}.PrincipalOf(newWorld(t).issue(t))
	wants(t, "a token's principal", err, "device_assertion_type")
}

func BenchmarkIssueDeviceToken(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		w.issue(b)
	}
}

func BenchmarkVerifyDeviceToken(b *testing.B) {
	w := newWorld(b)
	text := w.issue(b)
	for b.Loop() {
		if err := w.verify(text, noon()); err != nil {
			b.Fatal(err)
		}
	}
}
