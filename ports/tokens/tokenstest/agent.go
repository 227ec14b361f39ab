package tokenstest

import (
	"crypto/sha256"
	"time"

	"berth/ports/tokens"
)

// Agent holds a key, as the agent in a cluster does.
type Agent struct{ Key }

// NewAgent returns the agent that a seed gives.
func NewAgent(seed uint64) *Agent { return &Agent{seeded("agent", seed)} }

// Request is what a token is bound to for a request with this body.
func Request(method, url string, body []byte) tokens.AgentRequest {
	return tokens.AgentRequest{Method: method, URL: url, Body: sha256.Sum256(body)}
}

// Token returns the token that proves a request, and lives for half a minute from t.IssuedAt.
func (a *Agent) Token(t tokens.AgentToken, r tokens.AgentRequest) string {
	return a.Sign(AgentHeader(), AgentClaims(t, r))
}

// AgentHeader is the header of an agent's token, to be bent.
func AgentHeader() map[string]any {
	return map[string]any{"alg": "EdDSA", "typ": tokens.AgentTokenType}
}

// AgentClaims are the claims of an agent's token, to be bent.
func AgentClaims(t tokens.AgentToken, r tokens.AgentRequest) map[string]any {
	return map[string]any{
		"iss": t.Agent, "aud": t.Install, "ins": t.Instance,
		"htm": r.Method, "htu": r.URL, "bdh": segment(r.Body[:]),
		"iat": t.IssuedAt.Unix(), "exp": t.IssuedAt.Add(30 * time.Second).Unix(),
	}
}
