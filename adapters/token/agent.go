package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"berth/ports/tokens"
)

var agentToken = kind{tokens.AgentTokenType, "agent_token", tokens.MaxSize} //nolint:gochecknoglobals // an immutable value

// AgentVerifier is a tokens.AgentVerifier. Its zero value is ready.
type AgentVerifier struct{}

var _ tokens.AgentVerifier = AgentVerifier{}

// Claimed returns the agent that a token claims to come from.
func (AgentVerifier) Claimed(text string) (string, error) {
	if _, err := agentToken.open(text); err != nil {
		return "", err
	}
	var claims agentClaims
	if err := agentToken.peek(text, &claims); err != nil {
		return "", err
	}
	if err := claims.check(); err != nil {
		return "", err
	}
	return claims.Issuer, nil
}

// VerifyAgent checks a token against its agent's key and the request that it came with.
func (AgentVerifier) VerifyAgent(
	text string, key ed25519.PublicKey, request tokens.AgentRequest, install string, now time.Time,
) (tokens.AgentToken, error) {
	var none tokens.AgentToken
	if _, err := agentToken.open(text); err != nil {
		return none, err
	}
	var claims agentClaims
	if err := agentToken.verify(text, key, &claims); err != nil {
		return none, err
	}
	if err := claims.accept(request, install, now); err != nil {
		return none, err
	}
	return tokens.AgentToken{
		Agent: claims.Issuer, Install: claims.Audience, Instance: claims.Instance, IssuedAt: instant(claims.IssuedAt),
	}, nil
}

// agentClaims is the payload of an agent's token, and all of it.
type agentClaims struct {
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Method    string `json:"htm"`
	URL       string `json:"htu"`
	Body      string `json:"bdh"`
	Instance  string `json:"ins"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// UnmarshalJSON reads the claims strictly, though golang-jwt asks encoding/json for them.
func (c *agentClaims) UnmarshalJSON(text []byte) error {
	type plain agentClaims
	return unmarshal(text, (*plain)(c))
}

func (c *agentClaims) check() error {
	switch {
	case !isName(c.Issuer):
		return agentToken.refuse("claims", "iss is no agent")
	case !isName(c.Audience):
		return agentToken.refuse("claims", "aud is no installation")
	case !isName(c.Instance):
		return agentToken.refuse("claims", "ins is no process")
	case !areTimes(c.IssuedAt, c.ExpiresAt):
		return agentToken.refuse("claims", "iat and exp are not both times")
	}
	return nil
}

func (c *agentClaims) accept(request tokens.AgentRequest, install string, now time.Time) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Audience != install {
		return agentToken.refuse("audience", "it is for another installation")
	}
	if c.Method != request.Method || c.URL != request.URL || c.Body != base64.RawURLEncoding.EncodeToString(request.Body[:]) {
		return agentToken.refuse("request", "it was made for another method, URL or body")
	}
	if !lives(c.IssuedAt, c.ExpiresAt, tokens.MaxAgentTokenLifetime) {
		return agentToken.refuse("lifetime", "it does not live for up to %v", tokens.MaxAgentTokenLifetime)
	}
	return agentToken.inTime(c.IssuedAt, c.ExpiresAt, now)
}

// The rest of jwt.Claims serves golang-jwt's own validation, which is switched off; the answers are true all the same.

func (c *agentClaims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.ExpiresAt), nil }
func (c *agentClaims) GetIssuedAt() (*jwt.NumericDate, error)       { return date(c.IssuedAt), nil }
func (*agentClaims) GetNotBefore() (*jwt.NumericDate, error)        { return nil, nil }
func (c *agentClaims) GetIssuer() (string, error)                   { return c.Issuer, nil }
func (*agentClaims) GetSubject() (string, error)                    { return "", nil }
func (c *agentClaims) GetAudience() (jwt.ClaimStrings, error) {
	return jwt.ClaimStrings{c.Audience}, nil
}
