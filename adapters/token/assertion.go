package token

import (
	"crypto/ed25519"
	"time"

	"berth/ports/tokens"
)

//nolint:gochecknoglobals // an immutable value
var deviceAssertion = kind{tokens.DeviceAssertionType, "device_assertion", tokens.MaxSize}

// AssertionVerifier is a tokens.AssertionVerifier. Its zero value is ready.
type AssertionVerifier struct{}

var _ tokens.AssertionVerifier = AssertionVerifier{}

// PrincipalOf returns the principal that an assertion claims to come from.
func (AssertionVerifier) PrincipalOf(text string) (string, error) {
	if _, err := deviceAssertion.open(text); err != nil {
		return "", err
	}
	var claims assertionClaims
	if err := deviceAssertion.peek(text, &claims); err != nil {
		return "", err
	}
	if err := claims.check(); err != nil {
		return "", err
	}
	return claims.Subject, nil
}

// Verify checks an assertion against its principal's key.
func (AssertionVerifier) Verify(
	text string, publicKey ed25519.PublicKey, audience string, now time.Time,
) (tokens.Assertion, error) {
	var none tokens.Assertion
	if _, err := deviceAssertion.open(text); err != nil {
		return none, err
	}
	var claims assertionClaims
	if err := deviceAssertion.verify(text, publicKey, &claims); err != nil {
		return none, err
	}
	if err := accept(&claims, audience, now); err != nil {
		return none, err
	}
	return tokens.Assertion{
		Principal: claims.Subject, JTI: claims.ID, ExpiresAt: instant(claims.ExpiresAt).Add(tokens.Skew),
	}, nil
}

func accept(claims *assertionClaims, audience string, now time.Time) error {
	if err := claims.check(); err != nil {
		return err
	}
	if audience == "" || claims.Audience != audience {
		return deviceAssertion.refuse("audience", "it is for another recipient")
	}
	if !lives(claims.IssuedAt, claims.ExpiresAt, tokens.MaxAssertionLifetime) {
		return deviceAssertion.refuse("lifetime", "it does not live for up to %v", tokens.MaxAssertionLifetime)
	}
	return deviceAssertion.inTime(claims.IssuedAt, claims.ExpiresAt, now)
}
