// Package tokens is how Berth issues the tokens that devices carry and checks what devices sign (A7). Both are compact
// JWS (RFC 7515) by Ed25519 (RFC 8037) with JWT claims (RFC 7519); what is issued is signed by a key management
// service, what is checked needs no call to anywhere.
//
// Whatever is refused here is refused as Unauthenticated, by a slug that starts with device_token_ or
// device_assertion_ and ends with what is wrong, in this order: too_large, malformed, header, algorithm, type,
// key_unknown and key_retired (of tokens), signature, and then, of what was truly signed: claims, issuer (of tokens),
// audience, lifetime, from_future, expired.
package tokens

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"berth/ports/signer"
)

// The exact types, in the JWS header, of what is signed.
const (
	DeviceTokenType     = "berth-device+jwt" //nolint:gosec // the name of a type
	DeviceAssertionType = "berth-device-assertion+jwt"
)

// Bounds that issuing and verifying hold to alike.
const (
	MaxSize              = 4096             // bytes of a token or assertion
	MaxTokenLifetime     = 10 * time.Minute // from iat to exp of a device token
	MaxAssertionLifetime = time.Minute      // from iat to exp of a device assertion
	MinID                = 16               // characters of a jti
	MaxID                = 64               // characters of a jti
	MaxName              = 128              // characters of a principal, region, tenant or kid
)

// Skew is how far the clocks of who signed and who verifies may be apart, in either direction: something is accepted
// from Skew before the time it was issued at until, and not including, Skew after its expiry.
const Skew = 30 * time.Second

// SigningKey is the key that signs: the id under which its public half is published, and where the private half is.
type SigningKey struct {
	KID string
	Ref signer.KeyRef
}

// DeviceClaims is what a device token says. Every field is needed. Times are cut to whole seconds.
type DeviceClaims struct {
	ID        string            // jti: MinID to MaxID printable ASCII characters
	Principal string            // sub
	Region    string            // the first aud
	Tenant    string            // the second aud
	DeviceKey ed25519.PublicKey // cnf holds its thumbprint
	IssuedAt  time.Time
	NotBefore time.Time
	ExpiresAt time.Time // at most MaxTokenLifetime after IssuedAt
}

// Issuer makes device tokens.
type Issuer interface {
	// IssueDeviceToken returns a device token signed by the key. Each call signs anew. Claims that a verifier would
	// refuse are a defect of the caller: Internal device_claims. Where the key cannot sign, for whatever reason:
	// Unavailable signer_unavailable.
	IssueDeviceToken(ctx context.Context, key SigningKey, claims DeviceClaims) (string, error)
}

// VerificationKey is the public half of a key for device tokens.
type VerificationKey struct {
	PublicKey ed25519.PublicKey
	// VerifyUntil is the moment from which nothing signed by the key is accepted (I6), by the verifier's clock and
	// without Skew. Zero lies in the past: a key without an end is not trusted.
	VerifyUntil time.Time
}

// KeySet holds verification keys by kid: those for device tokens and no others (I9). A verifier only reads it.
type KeySet map[string]VerificationKey

// DeviceToken is what a verified device token says.
type DeviceToken struct {
	KID        string
	ID         string
	Principal  string
	Region     string
	Tenant     string
	Thumbprint string // of the device's key, to compare with Thumbprint
	IssuedAt   time.Time
	NotBefore  time.Time
	ExpiresAt  time.Time
}

// DeviceVerifier checks device tokens offline.
type DeviceVerifier interface {
	// VerifyDeviceToken checks signature, key window, issuer, region, form and times of a device token. The caller
	// compares tenant, principal and route handle with its snapshot.
	VerifyDeviceToken(token string, keys KeySet, region string, now time.Time) (DeviceToken, error)
}

// Assertion is what a verified device assertion says.
type Assertion struct {
	Principal string
	JTI       string // unique to the device: MinID to MaxID printable ASCII characters
	// ExpiresAt is the moment from which the assertion is refused, Skew included: an assertion counts once, and its JTI
	// is remembered until then.
	ExpiresAt time.Time
}

// AssertionVerifier checks what a device signs to prove its key.
type AssertionVerifier interface {
	// PrincipalOf returns the principal that an assertion claims to come from. Nothing is proved by it: it serves to look
	// up the key for Verify, and refuses what Verify would refuse by its form.
	PrincipalOf(assertion string) (principal string, err error)
	// Verify checks an assertion against the principal's own key and the exact audience. The caller compares the
	// principal with the owner of the key, and spends the JTI.
	Verify(assertion string, publicKey ed25519.PublicKey, audience string, now time.Time) (Assertion, error)
}

// Thumbprint returns the JWK thumbprint (RFC 7638, SHA-256) of an Ed25519 key in base64url: 43 characters.
func Thumbprint(key ed25519.PublicKey) string {
	jwk := `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(key) + `"}`
	sum := sha256.Sum256([]byte(jwk))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
