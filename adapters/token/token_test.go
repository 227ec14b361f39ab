package token_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"berth/adapters/token"
	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

const (
	trustDomain = "spiffe://berth.example"
	audience    = "https://api.berth.example/v1/devices/token"
	principal   = "prn_01jq0000000000000000000001"
	jti         = "0123456789abcdef"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// world is an issuer with one key, one device and a verifier that trusts the key for an hour.
type world struct {
	kms      *signertest.Memory
	issuer   *token.Issuer
	key      tokens.SigningKey
	keys     tokens.KeySet
	device   *tokenstest.Device
	verifier *token.DeviceVerifier
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	kms := signertest.NewMemory(1)
	ref, public, err := kms.Create(tb.Context(), signer.DeviceToken)
	if err != nil {
		tb.Fatal(err)
	}
	return &world{
		kms: kms, issuer: token.NewIssuer(kms, trustDomain), key: tokens.SigningKey{KID: "k1", Ref: ref},
		keys:   tokens.KeySet{"k1": {PublicKey: public, VerifyUntil: noon().Add(time.Hour)}},
		device: tokenstest.NewDevice(1), verifier: token.NewDeviceVerifier(trustDomain),
	}
}

func (w *world) claims() tokens.DeviceClaims {
	return tokens.DeviceClaims{
		ID: jti, Principal: principal, Region: "eu-1", Tenant: "acme", DeviceKey: w.device.PublicKey(),
		IssuedAt: noon(), NotBefore: noon(), ExpiresAt: noon().Add(10 * time.Minute),
	}
}

func (w *world) issue(tb testing.TB) string {
	tb.Helper()
	text, err := w.issuer.IssueDeviceToken(tb.Context(), w.key, w.claims())
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func (w *world) verify(text string, now time.Time) error {
	_, err := w.verifier.VerifyDeviceToken(text, w.keys, "eu-1", now)
	return err
}

func wants(tb testing.TB, what string, err error, slug string) {
	tb.Helper()
	switch {
	case slug == "" && err != nil:
		tb.Errorf("%s: refused with %v", what, err)
	case slug != "" && (err == nil || fault.SlugOf(err) != slug || fault.KindOf(err) != fault.Unauthenticated):
		tb.Errorf("%s: got %v, not %s", what, err, slug)
	}
}

// with returns m changed in one place; nil removes the member.
func with(m map[string]any, name string, value any) map[string]any {
	m = maps.Clone(m)
	m[name] = value
	if value == nil {
		delete(m, name)
	}
	return m
}

func payload(tb testing.TB, text string, at int) map[string]any {
	tb.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[at])
	if err != nil {
		tb.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		tb.Fatal(err)
	}
	return m
}
