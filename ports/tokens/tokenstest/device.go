// Package tokenstest plays the device, and the parts of the control plane that know tokens, in other packages' tests.
// It signs and reads JWS with the standard library alone, so that it also serves to check the true adapter.
package tokenstest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"berth/ports/tokens"
)

// Device holds a key, as a phone or a desktop does.
type Device struct{ key ed25519.PrivateKey }

// NewDevice returns the device that a seed gives.
func NewDevice(seed uint64) *Device {
	sum := sha256.Sum256(fmt.Appendf(nil, "device %d", seed))
	return &Device{ed25519.NewKeyFromSeed(sum[:])}
}

// PublicKey returns the device's public key.
func (d *Device) PublicKey() ed25519.PublicKey {
	return ed25519.PublicKey(d.key[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
}

// Assert returns an assertion made at now that lives for half a minute.
func (d *Device) Assert(principal, audience, jti string, now time.Time) string {
	return d.Sign(
		map[string]any{"alg": "EdDSA", "typ": tokens.DeviceAssertionType},
		map[string]any{
			"sub": principal, "aud": audience, "jti": jti,
			"iat": now.Unix(), "exp": now.Add(30 * time.Second).Unix(),
		})
}

// Sign returns the compact JWS of any header and claims, also such as should be refused.
func (d *Device) Sign(header, claims any) string { return d.SignRaw(encode(header), encode(claims)) }

// SignRaw is Sign for header and claims that need not be JSON.
func (d *Device) SignRaw(header, claims []byte) string {
	input := segment(header) + "." + segment(claims)
	return input + "." + segment(ed25519.Sign(d.key, []byte(input)))
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("tokenstest: %v", err)) // a test gave what JSON cannot say
	}
	return text
}

func segment(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
