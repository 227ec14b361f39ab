package tokens

import (
	"context"
	"crypto/ed25519"
	"time"
)

// The exact types of what the delivery half signs.
const (
	AgentTokenType   = "berth-agent+jwt" //nolint:gosec // the name of a type
	DesiredStateType = "berth-desired+jws"
	PackageType      = "berth-package+jws"
	TrustSetType     = "berth-trust+jws"
)

// MaxAgentTokenLifetime is the longest life of the token that proves one request of an agent.
const MaxAgentTokenLifetime = time.Minute

// AgentRequest is what an agent's token is bound to (G1).
type AgentRequest struct {
	Method string
	URL    string   // the request target as it was sent: path and query
	Body   [32]byte // SHA-256 of the body; of nothing where there is none
}

// AgentToken is what an agent's token says: iss is the agent's id, aud the install id, htm, htu and bdh (base64url of the
// body's SHA-256) the request, ins the process that sends it.
type AgentToken struct {
	Agent    string
	Install  string
	Instance string
	IssuedAt time.Time
}

// AgentVerifier checks the token of an agent's request, without a call to anywhere. All refusals are Unauthenticated:
// agent_token_malformed, agent_token_header, agent_token_signature, agent_token_request (another method, URL or body),
// agent_token_audience, agent_token_lifetime, agent_token_from_future, agent_token_expired.
type AgentVerifier interface {
	// Claimed returns the agent id that a token names, unverified: to look the key up.
	Claimed(token string) (agent string, err error)
	// VerifyAgent checks the token by the agent's key.
	VerifyAgent(token string, key ed25519.PublicKey, request AgentRequest, install string, now time.Time) (AgentToken, error)
}

// DocumentSigner signs documents as compact JWS with EdDSA (RFC 7515, RFC 8037), typ in the protected header.
type DocumentSigner interface {
	// SignDocument returns the compact JWS. The payload is signed as it is. Invalid message_size where the signing input
	// is longer than signer.MaxMessage; Unavailable signer_unavailable.
	SignDocument(ctx context.Context, key SigningKey, typ string, payload []byte) (string, error)
}

// DocumentVerifier checks documents.
type DocumentVerifier interface {
	// VerifyDocument returns payload and kid of a compact JWS of exactly this typ, signed by a key of the set before its
	// end. Unauthenticated: document_malformed, document_header, document_type, document_key_unknown,
	// document_key_retired, document_signature.
	VerifyDocument(token, typ string, keys KeySet, now time.Time) (payload []byte, kid string, err error)
}
