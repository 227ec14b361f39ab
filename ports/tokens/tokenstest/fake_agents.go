package tokenstest

import (
	"crypto/ed25519"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// Agents is a tokens.AgentVerifier on the standard library, for tests of use cases. Its zero value is ready.
type Agents struct{}

var _ tokens.AgentVerifier = Agents{}

// Claimed returns the agent that a token claims to come from.
func (Agents) Claimed(token string) (string, error) {
	claims, err := opened(token)
	return text(claims, "iss"), err
}

// VerifyAgent checks a token as the contract says.
func (Agents) VerifyAgent(
	token string, key ed25519.PublicKey, r tokens.AgentRequest, install string, now time.Time,
) (tokens.AgentToken, error) {
	claims, err := opened(token)
	if err == nil {
		err = judged(token, claims, key, r, install, now)
	}
	if err != nil {
		return tokens.AgentToken{}, err
	}
	return tokens.AgentToken{
		Agent: text(claims, "iss"), Install: text(claims, "aud"), Instance: text(claims, "ins"),
		IssuedAt: time.Unix(number(claims, "iat"), 0).UTC(),
	}, nil
}

// opened checks the form of a token.
func opened(token string) (map[string]any, error) {
	split, ok := parts(token)
	if len(token) > tokens.MaxSize {
		return nil, refuseAgent("too_large")
	}
	if !ok {
		return nil, refuseAgent("malformed")
	}
	header, ok := members(split[0], "alg", "typ", "kid")
	switch {
	case !ok:
		return nil, refuseAgent("header")
	case header["alg"] != "EdDSA":
		return nil, refuseAgent("algorithm")
	case header["typ"] != tokens.AgentTokenType:
		return nil, refuseAgent("type")
	}
	claims, ok := members(split[1], "iss", "aud", "ins", "htm", "htu", "bdh", "iat", "exp")
	if !ok {
		return nil, refuseAgent("malformed")
	}
	for _, name := range []string{"iss", "aud", "ins"} {
		if s := text(claims, name); s == "" || len(s) > tokens.MaxName || strings.ContainsFunc(s, invisible) {
			return nil, refuseAgent("claims")
		}
	}
	if number(claims, "iat") <= 0 || number(claims, "exp") <= 0 {
		return nil, refuseAgent("claims")
	}
	return claims, nil
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

func judged(
	token string, claims map[string]any, key ed25519.PublicKey, r tokens.AgentRequest, install string, now time.Time,
) error {
	at := strings.LastIndexByte(token, '.')
	split, _ := parts(token)
	issued, until := time.Unix(number(claims, "iat"), 0), time.Unix(number(claims, "exp"), 0)
	switch {
	case len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, []byte(token[:at]), split[2]):
		return refuseAgent("signature")
	case text(claims, "aud") != install:
		return refuseAgent("audience")
	case text(claims, "htm") != r.Method || text(claims, "htu") != r.URL || text(claims, "bdh") != segment(r.Body[:]):
		return refuseAgent("request")
	case !until.After(issued) || until.Sub(issued) > tokens.MaxAgentTokenLifetime:
		return refuseAgent("lifetime")
	case issued.After(now.Add(tokens.Skew)):
		return refuseAgent("from_future")
	case !now.Before(until.Add(tokens.Skew)):
		return refuseAgent("expired")
	}
	return nil
}

func refuseAgent(what string) error {
	return fault.New(fault.Unauthenticated, "agent_token_"+what, "the agent's token is refused")
}
