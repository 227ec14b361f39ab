package tokenstest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// Fake is a tokens.Issuer and a tokens.AssertionVerifier for tests of use cases. It reads what Device.Assert makes and
// refuses what is wrong with it, but it is no defence against a forger.
type Fake struct {
	mu     sync.Mutex
	issued []Issued
	broken error
}

// Issued is a token that a Fake was asked for.
type Issued struct {
	Key    tokens.SigningKey
	Claims tokens.DeviceClaims
}

var (
	_ tokens.Issuer            = (*Fake)(nil)
	_ tokens.AssertionVerifier = (*Fake)(nil)
)

// Break makes issuing fail with cause, until Break(nil).
func (f *Fake) Break(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = cause
}

// Issued returns what was issued so far, in order.
func (f *Fake) Issued() []Issued {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Issued(nil), f.issued...)
}

// IssueDeviceToken remembers the claims and returns a token that names the principal and its jti.
func (f *Fake) IssueDeviceToken(_ context.Context, key tokens.SigningKey, claims tokens.DeviceClaims) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return "", f.broken
	}
	f.issued = append(f.issued, Issued{key, claims})
	return "token-of-" + claims.Principal + "-" + claims.ID, nil
}

type assertion struct {
	Sub, Aud, JTI string
	Iat, Exp      int64
}

// PrincipalOf returns the subject.
func (f *Fake) PrincipalOf(text string) (string, error) {
	a, err := read(text)
	return a.Sub, err
}

// Verify checks signature, audience and times.
func (f *Fake) Verify(text string, key ed25519.PublicKey, audience string, now time.Time) (tokens.Assertion, error) {
	a, err := read(text)
	if err != nil {
		return tokens.Assertion{}, err
	}
	at := strings.LastIndexByte(text, '.')
	signature, err := base64.RawURLEncoding.DecodeString(text[at+1:])
	issued, until := time.Unix(a.Iat, 0).UTC(), time.Unix(a.Exp, 0).UTC().Add(tokens.Skew)
	switch {
	case err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte(text[:at]), signature):
		return tokens.Assertion{}, refuse("signature")
	case a.Aud != audience:
		return tokens.Assertion{}, refuse("audience")
	case issued.After(now.Add(tokens.Skew)):
		return tokens.Assertion{}, refuse("from_future")
	case !now.Before(until):
		return tokens.Assertion{}, refuse("expired")
	}
	return tokens.Assertion{Principal: a.Sub, JTI: a.JTI, ExpiresAt: until}, nil
}

func read(text string) (assertion, error) {
	var a assertion
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return a, refuse("malformed")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(claims, &a) != nil {
		return a, refuse("malformed")
	}
	return a, nil
}

func refuse(what string) error {
	return fault.New(fault.Unauthenticated, "device_assertion_"+what, "the assertion is refused")
}
