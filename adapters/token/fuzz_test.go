package token_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"berth/adapters/token"
	"berth/domain/fault"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

// The fuzzer writes header and claims, which are then truly signed, and what follows the signature; the kept corpus is
// in testdata. Whatever it writes is refused by a slug, or is exactly what the contract allows.

func FuzzDeviceAssertion(f *testing.F) {
	f.Add([]byte(`{"alg":"EdDSA","typ":"berth-device-assertion+jwt"}`),
		[]byte(`{"sub":"prn_1","aud":"a","jti":"0123456789abcdef","iat":1772366400,"exp":1772366460}`), "")
	d := tokenstest.NewDevice(1)
	f.Fuzz(func(t *testing.T, header, claims []byte, tail string) {
		text := d.SignRaw(header, claims) + tail
		principal, errPeek := token.AssertionVerifier{}.PrincipalOf(text)
		got, err := token.AssertionVerifier{}.Verify(text, d.PublicKey(), "a", noon())
		if err != nil {
			refusedBySlug(t, err, "device_assertion_")
			return
		}
		if errPeek != nil || principal != got.Principal {
			t.Fatalf("verified as %q, looked up as %q (%v)", got.Principal, principal, errPeek)
		}
		oneText(t, text, tail)
		says := reread(t, header, claims, tokens.DeviceAssertionType)
		if says["sub"] != got.Principal || says["jti"] != got.JTI || says["aud"] != "a" ||
			len(got.JTI) < tokens.MinID || len(got.JTI) > tokens.MaxID {
			t.Fatalf("%s was taken for %+v", claims, got)
		}
		if left := got.ExpiresAt.Sub(noon()); left <= 0 || left > tokens.MaxAssertionLifetime+2*tokens.Skew {
			t.Fatalf("it is to be remembered for %v", left)
		}
	})
}

func FuzzDeviceToken(f *testing.F) {
	f.Add([]byte(`{"alg":"EdDSA","kid":"k1","typ":"berth-device+jwt"}`),
		[]byte(`{"iss":"spiffe://berth.example","sub":"prn_1","aud":["eu-1","acme"],"cnf":{"jkt":`+
			`"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"},"iat":1772366400,"nbf":1772366400,"exp":1772367000,`+
			`"jti":"0123456789abcdef"}`), "")
	d := tokenstest.NewDevice(1)
	keys := tokens.KeySet{"k1": {PublicKey: d.PublicKey(), VerifyUntil: noon().Add(time.Hour)}}
	f.Fuzz(func(t *testing.T, header, claims []byte, tail string) {
		text := d.SignRaw(header, claims) + tail
		got, err := token.NewDeviceVerifier(trustDomain).VerifyDeviceToken(text, keys, "eu-1", noon())
		if err != nil {
			refusedBySlug(t, err, "device_token_")
			return
		}
		oneText(t, text, tail)
		says := reread(t, header, claims, tokens.DeviceTokenType)
		if says["sub"] != got.Principal || says["jti"] != got.ID || says["iss"] != trustDomain || got.Region != "eu-1" ||
			got.Tenant == "" || got.KID != "k1" || len(got.Thumbprint) != 43 {
			t.Fatalf("%s was taken for %+v", claims, got)
		}
		if life := got.ExpiresAt.Sub(got.IssuedAt); life <= 0 || life > tokens.MaxTokenLifetime {
			t.Fatalf("it lives for %v", life)
		}
	})
}

func refusedBySlug(t *testing.T, err error, prefix string) {
	t.Helper()
	if fault.KindOf(err) != fault.Unauthenticated || !strings.HasPrefix(fault.SlugOf(err), prefix) {
		t.Fatalf("refused with %v", err)
	}
}

// oneText checks that decoding and encoding again gives the text that was accepted.
func oneText(t *testing.T, text, tail string) {
	t.Helper()
	if tail != "" {
		t.Fatalf("accepted with %q after the signature", tail)
	}
	for part := range strings.SplitSeq(text, ".") {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || base64.RawURLEncoding.EncodeToString(raw) != part {
			t.Fatalf("%q is not the one encoding of its bytes", part)
		}
	}
}

// reread reads what was accepted with another JSON reader, which must see the same.
func reread(t *testing.T, header, claims []byte, typ string) map[string]any {
	t.Helper()
	var h, c map[string]any
	if err := json.Unmarshal(header, &h); err != nil || h["alg"] != "EdDSA" || h["typ"] != typ {
		t.Fatalf("the header %s was accepted (%v)", header, err)
	}
	for _, name := range []string{"jwk", "jku", "x5u", "x5c", "crit"} {
		if _, there := h[name]; there {
			t.Fatalf("the header %s was accepted", header)
		}
	}
	if err := json.Unmarshal(claims, &c); err != nil {
		t.Fatalf("the claims %s were accepted (%v)", claims, err)
	}
	return c
}
