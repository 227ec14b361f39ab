package token

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// latest is the last second of the year 9999, past which RFC 3339 has no name for a time.
const latest = 253402300799

type confirmation struct {
	Thumbprint string `json:"jkt"`
}

// deviceClaims is the payload of a device token, and all of it.
type deviceClaims struct {
	Issuer       string       `json:"iss"`
	Subject      string       `json:"sub"`
	Audience     []string     `json:"aud"` // region, tenant
	Confirmation confirmation `json:"cnf"`
	IssuedAt     int64        `json:"iat"`
	NotBefore    int64        `json:"nbf"`
	ExpiresAt    int64        `json:"exp"`
	ID           string       `json:"jti"`
}

// UnmarshalJSON reads the claims strictly, though golang-jwt asks encoding/json for them.
func (c *deviceClaims) UnmarshalJSON(text []byte) error {
	type plain deviceClaims
	return unmarshal(text, (*plain)(c))
}

// check and checkLifetime hold for what is issued and for what is verified.
func (c *deviceClaims) check() *fault.Error {
	thumbprint, err := base64.RawURLEncoding.Strict().DecodeString(c.Confirmation.Thumbprint)
	switch {
	case len(c.Audience) != 2 || !isName(c.Audience[0]) || !isName(c.Audience[1]):
		return deviceToken.refuse("claims", "aud is not a region and a tenant")
	case !isName(c.Subject):
		return deviceToken.refuse("claims", "sub is no principal")
	case !isID(c.ID):
		return deviceToken.refuse("claims", "jti has not %d to %d characters", tokens.MinID, tokens.MaxID)
	case err != nil || len(thumbprint) != 32 || len(c.Confirmation.Thumbprint) != 43:
		return deviceToken.refuse("claims", "cnf.jkt is no SHA-256 thumbprint")
	case !areTimes(c.IssuedAt, c.NotBefore, c.ExpiresAt):
		return deviceToken.refuse("claims", "iat, nbf and exp are not all times")
	}
	return nil
}

func (c *deviceClaims) checkLifetime() *fault.Error {
	if !lives(c.IssuedAt, c.ExpiresAt, tokens.MaxTokenLifetime) || c.NotBefore >= c.ExpiresAt {
		return deviceToken.refuse("lifetime", "it does not live for up to %v", tokens.MaxTokenLifetime)
	}
	return nil
}

// The rest of jwt.Claims serves golang-jwt's own validation, which is switched off; the answers are true all the same.

func (c *deviceClaims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.ExpiresAt), nil }
func (c *deviceClaims) GetIssuedAt() (*jwt.NumericDate, error)       { return date(c.IssuedAt), nil }
func (c *deviceClaims) GetNotBefore() (*jwt.NumericDate, error)      { return date(c.NotBefore), nil }
func (c *deviceClaims) GetIssuer() (string, error)                   { return c.Issuer, nil }
func (c *deviceClaims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c *deviceClaims) GetAudience() (jwt.ClaimStrings, error)       { return c.Audience, nil }

// assertionClaims is the payload of a device assertion, and all of it.
type assertionClaims struct {
	Subject   string `json:"sub"`
	Audience  string `json:"aud"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	ID        string `json:"jti"`
}

// UnmarshalJSON reads the claims strictly, though golang-jwt asks encoding/json for them.
func (c *assertionClaims) UnmarshalJSON(text []byte) error {
	type plain assertionClaims
	return unmarshal(text, (*plain)(c))
}

func (c *assertionClaims) check() error {
	switch {
	case !isName(c.Subject):
		return deviceAssertion.refuse("claims", "sub is no principal")
	case !isID(c.ID):
		return deviceAssertion.refuse("claims", "jti has not %d to %d characters", tokens.MinID, tokens.MaxID)
	case !areTimes(c.IssuedAt, c.ExpiresAt):
		return deviceAssertion.refuse("claims", "iat and exp are not both times")
	}
	return nil
}

func (c *assertionClaims) GetExpirationTime() (*jwt.NumericDate, error) {
	return date(c.ExpiresAt), nil
}
func (c *assertionClaims) GetIssuedAt() (*jwt.NumericDate, error) { return date(c.IssuedAt), nil }
func (*assertionClaims) GetNotBefore() (*jwt.NumericDate, error)  { return nil, nil }
func (*assertionClaims) GetIssuer() (string, error)               { return "", nil }
func (c *assertionClaims) GetSubject() (string, error)            { return c.Subject, nil }

func (c *assertionClaims) GetAudience() (jwt.ClaimStrings, error) {
	return jwt.ClaimStrings{c.Audience}, nil
}

// inTime checks the times of claims that were signed, with skew both ways.
func (k kind) inTime(from, until int64, now time.Time) error {
	if time.Unix(from, 0).After(now.Add(tokens.Skew)) {
		return k.refuse("from_future", "it is not valid yet, by more than %v", tokens.Skew)
	}
	if !now.Before(time.Unix(until, 0).Add(tokens.Skew)) {
		return k.refuse("expired", "it expired, more than %v ago", tokens.Skew)
	}
	return nil
}

func lives(from, until int64, limit time.Duration) bool {
	return until > from && until-from <= int64(limit/time.Second)
}

func areTimes(seconds ...int64) bool {
	for _, s := range seconds {
		if s <= 0 || s > latest {
			return false
		}
	}
	return true
}

func isName(s string) bool { return len(s) > 0 && len(s) <= tokens.MaxName && isVisible(s) }

func isID(s string) bool { return len(s) >= tokens.MinID && len(s) <= tokens.MaxID && isVisible(s) }

func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func date(seconds int64) *jwt.NumericDate { return jwt.NewNumericDate(time.Unix(seconds, 0)) }

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
