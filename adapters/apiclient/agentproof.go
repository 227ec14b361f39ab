package apiclient

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// AgentProof is what a cluster's agent proves itself by: a short-lived token for each request, signed by the agent's own
// key and bound to method, target and body (G1).
type AgentProof struct {
	Agent    string // the id that the enrolment answered with
	Install  string
	Instance string        // this process, another one after each start
	Key      crypto.Signer // Ed25519
	Now      func() time.Time
}

// agentTokenLife is how long a token may be on its way; it is half of what is allowed.
const agentTokenLife = tokens.MaxAgentTokenLifetime / 2

type agentHeader struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
}

type agentClaims struct {
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Method    string `json:"htm"`
	Target    string `json:"htu"`
	Body      string `json:"bdh"`
	Instance  string `json:"ins"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// Prove adds the token. Fault: Internal agent_proof where the key does not sign.
func (p AgentProof) Prove(r *http.Request, body []byte) error {
	digest := sha256.Sum256(body)
	now := p.Now()
	input, err := compact(agentHeader{"EdDSA", tokens.AgentTokenType}, agentClaims{
		Issuer: p.Agent, Audience: p.Install, Method: r.Method, Target: r.URL.RequestURI(),
		Body: base64.RawURLEncoding.EncodeToString(digest[:]), Instance: p.Instance,
		IssuedAt: now.Unix(), ExpiresAt: now.Add(agentTokenLife).Unix(),
	})
	if err != nil {
		return unproven(err)
	}
	if _, ok := p.Key.Public().(ed25519.PublicKey); !ok {
		return unproven(nil)
	}
	signature, err := p.Key.Sign(nil, []byte(input), crypto.Hash(0))
	if err != nil {
		return unproven(err)
	}
	r.Header.Set("Authorization", "Bearer "+input+"."+base64.RawURLEncoding.EncodeToString(signature))
	return nil
}

// String never shows the key.
func (p AgentProof) String() string { return "agent " + p.Agent }

// GoString never shows the key.
func (p AgentProof) GoString() string { return p.String() }

func compact(header, claims any) (string, error) {
	first, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	second, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(first) + "." + base64.RawURLEncoding.EncodeToString(second), nil
}

func unproven(err error) error {
	return fault.New(fault.Internal, "agent_proof", "the agent's key does not sign").Because(err)
}
