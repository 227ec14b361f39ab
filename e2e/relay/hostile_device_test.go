package relay

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

const tokenURL = "https://api.berth.test/v1/devices/token"

type claims map[string]any

func coded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func signed(key ed25519.PrivateKey, header, payload any) string {
	text := coded(header) + "." + coded(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

// A device proves its own key, once, in one way: by no other algorithm, key, type, recipient or time, and not by the
// token that it got for it (A7).
func TestHostileAssertions(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "BERTH_PUBLIC_URL=https://api.berth.test")
	d, other := w.Pair("acme", "owner", "desktop"), w.Pair("acme", "member", "phone")
	header := func(alg string) claims { return claims{"alg": alg, "typ": "berth-device-assertion+jwt"} }
	serial := 0
	body := func(change claims) claims {
		serial++
		now := time.Now().Unix()
		c := claims{"sub": d.Principal, "aud": tokenURL, "jti": fmt.Sprintf("assertion-%08d", serial), "iat": now, "exp": now + 30}
		maps.Copy(c, change)
		return c
	}
	ask := func(assertion string) harness.Answer {
		return w.Do("", "POST", "/v1/devices/token", contract.TokenRequest{Assertion: assertion})
	}
	good := signed(d.Key, header("EdDSA"), body(nil))
	var got contract.AccessToken
	harness.Decode(t, ask(good), 200, &got)
	text := coded(header("HS256")) + "." + coded(body(nil))
	public, _ := d.Key.Public().(ed25519.PublicKey)
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(text))
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	for name, c := range map[string]struct{ assertion, slug string }{
		"once more":              {good, "assertion_replayed"},
		"no algorithm":           {coded(header("none")) + "." + coded(body(nil)) + ".", "device_assertion_algorithm"},
		"a MAC by its own key":   {text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), "device_assertion_algorithm"},
		"a key of its own":       {signed(stranger, claims{"alg": "EdDSA", "typ": "berth-device-assertion+jwt", "jwk": claims{}}, body(nil)), "device_assertion_header"},
		"another's key":          {signed(other.Key, header("EdDSA"), body(nil)), "device_assertion_signature"},
		"for a device not known": {signed(d.Key, header("EdDSA"), body(claims{"sub": "prn_nobody"})), "device_assertion_signature"},
		"for another":            {signed(d.Key, header("EdDSA"), body(claims{"sub": other.Principal})), "device_assertion_signature"},
		"another type":           {signed(d.Key, claims{"alg": "EdDSA", "typ": "berth-device+jwt"}, body(nil)), "device_assertion_type"},
		"another recipient":      {signed(d.Key, header("EdDSA"), body(claims{"aud": "https://evil.test"})), "device_assertion_audience"},
		"a long life":            {signed(d.Key, header("EdDSA"), body(claims{"exp": now + 86400})), "device_assertion_lifetime"},
		"no end":                 {signed(d.Key, header("EdDSA"), body(claims{"exp": 0})), ""},
		"expired":                {signed(d.Key, header("EdDSA"), body(claims{"iat": now - 600, "exp": now - 570})), "device_assertion_expired"},
		"from the future":        {signed(d.Key, header("EdDSA"), body(claims{"iat": now + 600, "exp": now + 630})), "device_assertion_from_future"},
		"a short jti":            {signed(d.Key, header("EdDSA"), body(claims{"jti": "1"})), "device_assertion_claims"},
		"a NUL in sub":           {signed(d.Key, header("EdDSA"), body(claims{"sub": "a\x00b"})), ""},
		"the token it got":       {got.AccessToken, "device_assertion_type"},
		"nothing":                {"..", ""},
	} {
		if a := ask(c.assertion); a.Status != 401 || (c.slug != "" && a.Slug() != c.slug) {
			t.Errorf("%s: %d %q, want 401 %q", name, a.Status, a.Slug(), c.slug)
		}
	}
	path := "/v1/devices/" + d.Principal + "/connection"
	if a := w.Do(got.AccessToken, "GET", path, nil); a.Status != 200 {
		t.Errorf("its own token: %d %s", a.Status, a.Body)
	}
	for name, c := range map[string]struct{ token, path string }{
		"an assertion":      {signed(d.Key, header("EdDSA"), body(nil)), path},
		"an operator token": {w.Token, path},
		"another's device":  {got.AccessToken, "/v1/devices/" + other.Principal + "/connection"},
		"nothing":           {"", path},
	} {
		if a := w.Do(c.token, "GET", c.path, nil); a.Status/100 != 4 {
			t.Errorf("a connection by %s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := w.Do(got.AccessToken, "GET", "/api/v1/nodes", nil); a.Slug() != "token_malformed" {
		t.Errorf("an operator by a device's token: %d %s", a.Status, a.Body)
	}
	w.Operator("POST", "/api/v1/tenants/acme/principals/"+d.Principal+"/revoke", nil, 200, nil)
	if a := ask(signed(d.Key, header("EdDSA"), body(nil))); a.Slug() != "device_assertion_signature" {
		t.Errorf("a revoked device gets a token: %d %s", a.Status, a.Body)
	}
	if a := w.Do(got.AccessToken, "GET", path, nil); a.Status/100 != 4 {
		t.Errorf("a revoked device by its old token: %d %s", a.Status, a.Body)
	}
}

// Who guesses pairing codes is slowed down after a few, and the code stays good for who has it; of many who have it, it
// admits one.
func TestGuessedAndRacedPairingCodes(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "BERTH_DEVICE_RATE=1", "BERTH_DEVICE_BURST=30")
	var code contract.PairingCode
	w.Operator("POST", "/api/v1/tenants/acme/pairing-codes", contract.NewPairingCode{Role: "member"}, 201, &code)
	pair := func(code string) string {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return err.Error()
		}
		a := w.Do("", "POST", "/v1/devices", contract.NewDevice{
			PairingCode: code, Name: "x", Kind: "phone", PublicKey: base64.RawURLEncoding.EncodeToString(public),
		})
		return fmt.Sprintf("%d %s", a.Status, a.Slug())
	}
	counts := atOnce(16, func(int) string { return pair(code.Code) })
	if counts["201 "] != 1 || counts["401 pairing_code_used"] != 15 {
		t.Fatalf("16 with one code: %v", counts)
	}
	guesses := atOnce(48, func(int) string { return pair("AAAA-AAAA-AAAA-AAAA") })
	if guesses["401 pairing_code_unknown"] > 40 || guesses["429 rate_limited"] < 8 {
		t.Fatalf("48 guesses: %v", guesses)
	}
}
