// Package tokenstest plays the device, the agent, and the parts of the control plane that know tokens, in other
// packages' tests, and has the suites that agents' tokens and documents pass. It signs and reads JWS with the standard
// library alone, so that it also serves to check the true adapters.
package tokenstest

import (
	"time"

	"berth/ports/tokens"
)

// Device holds a key, as a phone or a desktop does.
type Device struct{ Key }

// NewDevice returns the device that a seed gives.
func NewDevice(seed uint64) *Device { return &Device{seeded("device", seed)} }

// Assert returns an assertion made at now that lives for half a minute.
func (d *Device) Assert(principal, audience, jti string, now time.Time) string {
	return d.Sign(
		map[string]any{"alg": "EdDSA", "typ": tokens.DeviceAssertionType},
		map[string]any{
			"sub": principal, "aud": audience, "jti": jti,
			"iat": now.Unix(), "exp": now.Add(30 * time.Second).Unix(),
		})
}
