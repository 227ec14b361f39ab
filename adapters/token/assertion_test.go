package token_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/adapters/token"
	"berth/domain/fault"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

func verifyAssertion(text string, now time.Time) error {
	_, err := token.AssertionVerifier{}.Verify(text, tokenstest.NewDevice(1).PublicKey(), audience, now)
	return err
}

func assertionHeader() map[string]any {
	return map[string]any{"alg": "EdDSA", "typ": tokens.DeviceAssertionType}
}

func assertionClaims() map[string]any {
	return map[string]any{
		"sub": principal, "aud": audience, "jti": jti, "iat": noon().Unix(), "exp": noon().Unix() + 60,
	}
}

// A device's assertion is read and verified, and is to be remembered until it would be refused by its age.
func TestAssertion(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	text := d.Sign(assertionHeader(), assertionClaims())
	if got, err := (token.AssertionVerifier{}).PrincipalOf(text); err != nil || got != principal {
		t.Fatalf("principal %q, %v", got, err)
	}
	got, err := token.AssertionVerifier{}.Verify(text, d.PublicKey(), audience, noon())
	want := tokens.Assertion{Principal: principal, JTI: jti, ExpiresAt: noon().Add(time.Minute + tokens.Skew)}
	if err != nil || got != want {
		t.Fatalf("it says %+v, %v", got, err)
	}
	wants(t, "an instant before", verifyAssertion(text, got.ExpiresAt.Add(-1)), "")
	wants(t, "at that time", verifyAssertion(text, got.ExpiresAt), "device_assertion_expired")
}

// A clock that is wrong by up to the skew, either way, does not lock a device out; by an instant more it does.
func TestAssertionSkewBothWays(t *testing.T) {
	t.Parallel()
	text := tokenstest.NewDevice(1).Sign(assertionHeader(), assertionClaims())
	for now, slug := range map[time.Time]string{
		noon().Add(-tokens.Skew - 1):              "device_assertion_from_future",
		noon().Add(-tokens.Skew):                  "",
		noon().Add(time.Minute + tokens.Skew - 1): "",
		noon().Add(time.Minute + tokens.Skew):     "device_assertion_expired",
	} {
		wants(t, now.String(), verifyAssertion(text, now), slug)
	}
}

// Whatever an assertion's times are: what is accepted was issued within the skew of now or before, lives no longer than
// a minute, and is refused from its ExpiresAt on.
func TestAssertionTimes(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	rapid.Check(t, func(r *rapid.T) {
		iat := rapid.Int64Range(-120, 120).Draw(r, "iat")
		life := rapid.Int64Range(-5, 70).Draw(r, "life")
		claims := with(with(assertionClaims(), "iat", noon().Unix()+iat), "exp", noon().Unix()+iat+life)
		text := d.Sign(assertionHeader(), claims)
		a, err := token.AssertionVerifier{}.Verify(text, d.PublicKey(), audience, noon())
		accept := life > 0 && life <= 60 && iat <= 30 && iat+life > -30
		if (err == nil) != accept {
			r.Fatalf("issued at %d for %d: %v", iat, life, err)
		}
		if err == nil && fault.SlugOf(verifyAssertion(text, a.ExpiresAt)) != "device_assertion_expired" {
			r.Fatal("it is accepted after its ExpiresAt")
		}
	})
}

// Only the device's own key and the exact audience will do.
func TestAssertionOfAnother(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	text := d.Assert(principal, audience, jti, noon())
	for _, aud := range []string{"", audience + "/", strings.ToUpper(audience), audience[:len(audience)-1]} {
		_, err := token.AssertionVerifier{}.Verify(text, d.PublicKey(), aud, noon())
		wants(t, "for "+aud, err, "device_assertion_audience")
	}
	_, err := token.AssertionVerifier{}.Verify(d.Assert(principal, "", jti, noon()), d.PublicKey(), "", noon())
	wants(t, "for nobody", err, "device_assertion_audience")
	for _, key := range []ed25519.PublicKey{nil, {}, d.PublicKey()[:31], tokenstest.NewDevice(2).PublicKey()} {
		_, err := token.AssertionVerifier{}.Verify(text, key, audience, noon())
		wants(t, "another key", err, "device_assertion_signature")
	}
}

// Claims that the device truly signed are refused where they are not those of the contract.
func TestAssertionWithWrongClaims(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	good, iat := assertionClaims(), noon().Unix()
	for name, c := range map[string]struct {
		claims any
		slug   string
	}{
		"null":                   {nil, "claims"},
		"text":                   {"claims", "malformed"},
		"no sub":                 {with(good, "sub", nil), "claims"},
		"a long sub":             {with(good, "sub", strings.Repeat("x", tokens.MaxName+1)), "claims"},
		"a sub with NUL":         {with(good, "sub", "prn\x00"), "claims"},
		"no aud":                 {with(good, "aud", nil), "audience"},
		"a list for aud":         {with(good, "aud", []string{audience}), "malformed"},
		"no jti":                 {with(good, "jti", nil), "claims"},
		"a jti of 15 characters": {with(good, "jti", strings.Repeat("x", 15)), "claims"},
		"a jti of 65 characters": {with(good, "jti", strings.Repeat("x", 65)), "claims"},
		"a jti with a space":     {with(good, "jti", "0123456789 abcdef"), "claims"},
		"a jti beyond ASCII":     {with(good, "jti", strings.Repeat("é", 16)), "claims"},
		"no iat":                 {with(good, "iat", nil), "claims"},
		"no exp":                 {with(good, "exp", nil), "claims"},
		"a fraction":             {with(good, "exp", float64(iat)+0.5), "malformed"},
		"61 seconds":             {with(good, "exp", iat+61), "lifetime"},
		"exp at iat":             {with(good, "exp", iat), "lifetime"},
		"exp before iat":         {with(good, "exp", iat-1), "lifetime"},
		"an unknown claim":       {with(good, "nonce", "x"), "malformed"},
		"a wrongly cased claim":  {with(good, "SUB", "other"), "malformed"},
	} {
		wants(t, name, verifyAssertion(d.Sign(assertionHeader(), c.claims), noon()), "device_assertion_"+c.slug)
	}
	for _, id := range []string{strings.Repeat("x", 16), strings.Repeat("x", 64)} {
		wants(t, "a jti at the bound", verifyAssertion(d.Sign(assertionHeader(), with(good, "jti", id)), noon()), "")
	}
	const twice = `{"sub":"a","sub":"b","aud":"x","jti":"0123456789abcdef","iat":1,"exp":2}`
	wants(t, "sub twice", verifyAssertion(d.SignRaw([]byte(`{"alg":"EdDSA","typ":"berth-device-assertion+jwt"}`),
		[]byte(twice)), noon()), "device_assertion_malformed")
	wants(t, "bad UTF-8", verifyAssertion(d.SignRaw([]byte(`{"alg":"EdDSA","typ":"berth-device-assertion+jwt"}`),
		[]byte("{\"sub\":\"\xff\"}")), noon()), "device_assertion_malformed")
}

// The header names one algorithm and one type. A key that comes along, or points elsewhere, is refused before anything
// is done with it, and so is what we might have to understand.
func TestAssertionWithWrongHeader(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	good, claims := assertionHeader(), assertionClaims()
	jwk := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
	wants(t, "a kid is allowed", verifyAssertion(d.Sign(with(good, "kid", "mine"), claims), noon()), "")
	for name, c := range map[string]struct {
		header any
		slug   string
	}{
		"alg none":        {with(good, "alg", "none"), "algorithm"},
		"alg None":        {with(good, "alg", "None"), "algorithm"},
		"alg HS256":       {with(good, "alg", "HS256"), "algorithm"},
		"alg ES256":       {with(good, "alg", "ES256"), "algorithm"},
		"alg eddsa":       {with(good, "alg", "eddsa"), "algorithm"},
		"no alg":          {with(good, "alg", nil), "algorithm"},
		"a number":        {with(good, "alg", 1), "header"},
		"typ JWT":         {with(good, "typ", "JWT"), "type"},
		"typ of a token":  {with(good, "typ", tokens.DeviceTokenType), "type"},
		"typ upper case":  {with(good, "typ", strings.ToUpper(tokens.DeviceAssertionType)), "type"},
		"no typ":          {with(good, "typ", nil), "type"},
		"jwk":             {with(good, "jwk", jwk), "header"},
		"jku":             {with(good, "jku", "https://evil.example/jwks.json"), "header"},
		"x5u":             {with(good, "x5u", "https://evil.example/cert.pem"), "header"},
		"x5c":             {with(good, "x5c", []string{"AAAA"}), "header"},
		"crit":            {with(good, "crit", []string{"exp"}), "header"},
		"b64":             {with(good, "b64", false), "header"},
		"zip":             {with(good, "zip", "DEF"), "header"},
		"Alg beside alg":  {with(good, "Alg", "none"), "header"},
		"no object":       {[]string{"EdDSA"}, "header"},
		"a bare number":   {7, "header"},
		"null for header": {nil, "algorithm"},
	} {
		text := d.Sign(c.header, claims)
		wants(t, name, verifyAssertion(text, noon()), "device_assertion_"+c.slug)
		_, err := token.AssertionVerifier{}.PrincipalOf(text)
		wants(t, name+", principal", err, "device_assertion_"+c.slug)
	}
	const twice = `{"alg":"none","alg":"EdDSA","typ":"berth-device-assertion+jwt"}`
	wants(t, "two dots", verifyAssertion("..", noon()), "device_assertion_header")
	wants(t, "alg twice", verifyAssertion(d.SignRaw([]byte(twice), []byte(`{}`)), noon()), "device_assertion_header")
}

// The public key is no HMAC secret, and an empty signature no signature.
func TestAssertionForged(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	input := d.Sign(with(assertionHeader(), "alg", "HS256"), assertionClaims())
	input = input[:strings.LastIndexByte(input, '.')]
	mac := hmac.New(sha256.New, d.PublicKey())
	mac.Write([]byte(input))
	hs256 := input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	wants(t, "HS256 with the public key", verifyAssertion(hs256, noon()), "device_assertion_algorithm")
	good := d.Sign(assertionHeader(), assertionClaims())
	bare := good[:strings.LastIndexByte(good, '.')+1]
	wants(t, "no signature", verifyAssertion(bare, noon()), "device_assertion_signature")
	wants(t, "a short signature", verifyAssertion(bare+"AAAA", noon()), "device_assertion_signature")
	other := tokenstest.NewDevice(2).Sign(assertionHeader(), assertionClaims())
	swapped := bare + other[strings.LastIndexByte(other, '.')+1:]
	wants(t, "another's signature", verifyAssertion(swapped, noon()), "device_assertion_signature")
}

// An assertion has one text: no padding, line break, other alphabet, stray bit or further part is taken for the same.
func TestAssertionHasOneText(t *testing.T) {
	t.Parallel()
	good := tokenstest.NewDevice(1).Sign(assertionHeader(), assertionClaims())
	parts := strings.Split(good, ".")
	wants(t, "unchanged", verifyAssertion(good, noon()), "")
	for name, text := range map[string]string{
		"empty": "", "a dot": ".", "no signature part": parts[0] + "." + parts[1],
		"four parts": good + ".AAAA", "five parts": "a." + good + ".b", "a space before": " " + good,
		"a line break after": good + "\n", "a line break within": good[:9] + "\r\n" + good[9:], "NUL": good + "\x00",
		"padding": parts[0] + "=." + parts[1] + "." + parts[2], "padding at the end": good + "==",
		"the standard alphabet": parts[0] + "." + parts[1] + ".+/" + parts[2][2:], "beyond ASCII": good + "é",
		"a stray bit": good[:len(good)-1] + stray(good[len(good)-1]), "JSON serialization": `{"payload":"` + parts[1] + `"}`,
		"header no base64": "A." + parts[1] + "." + parts[2],
	} {
		wants(t, name, verifyAssertion(text, noon()), "device_assertion_malformed")
	}
}

// stray sets the lowest bit of the last base64 character, which no byte of a 64-byte signature holds.
func stray(last byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, last)|1])
}

// More than 4 KiB are refused unread, whatever they hold.
func TestAssertionTooLarge(t *testing.T) {
	t.Parallel()
	d := tokenstest.NewDevice(1)
	padded := d.Sign(with(assertionHeader(), "kid", strings.Repeat("k", tokens.MaxSize)), assertionClaims())
	for name, text := range map[string]string{"signed": padded, "dots": strings.Repeat(".", tokens.MaxSize+1)} {
		wants(t, name, verifyAssertion(text, noon()), "device_assertion_too_large")
		_, err := token.AssertionVerifier{}.PrincipalOf(text)
		wants(t, name, err, "device_assertion_too_large")
	}
}

func BenchmarkVerifyAssertion(b *testing.B) {
	text := tokenstest.NewDevice(1).Assert(principal, audience, jti, noon())
	for b.Loop() {
		if err := verifyAssertion(text, noon()); err != nil {
			b.Fatal(err)
		}
	}
}
