package tokens

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
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

// AgentVerifier checks the token of an agent's request, without a call to anywhere. All refusals are Unauthenticated, by
// a slug that starts with agent_token_ and ends with what is wrong, in this order: too_large, malformed, header, algorithm,
// type, signature, and then, of what was truly signed: claims, audience, request (another method, URL or body), lifetime,
// from_future, expired.
type AgentVerifier interface {
	// Claimed returns the agent id that a token names, unverified: to look the key up. It refuses what VerifyAgent would
	// refuse by its form.
	Claimed(token string) (agent string, err error)
	// VerifyAgent checks the token by the agent's key. The caller compares the agent with the owner of the key.
	VerifyAgent(token string, key ed25519.PublicKey, request AgentRequest, install string, now time.Time) (AgentToken, error)
}

// DocumentSigner signs documents as compact JWS with EdDSA (RFC 7515, RFC 8037), typ in the protected header.
type DocumentSigner interface {
	// SignDocument returns the compact JWS. The payload is signed as it is. Invalid message_size where it is empty, or the
	// signing input longer than signer.MaxMessage (DocumentInput tells); Unavailable signer_unavailable where the key can
	// not sign, for whatever reason; Internal document_claims for a type or kid that no document has.
	SignDocument(ctx context.Context, key SigningKey, typ string, payload []byte) (string, error)
}

// DocumentVerifier checks documents.
type DocumentVerifier interface {
	// VerifyDocument returns payload and kid of a compact JWS of exactly this typ, signed by a key of the set before its
	// end. The refusals are Unauthenticated: document_too_large, document_malformed, document_header,
	// document_algorithm, document_type, document_key_unknown, document_key_retired, document_signature, in this order.
	VerifyDocument(token, typ string, keys KeySet, now time.Time) (payload []byte, kid string, err error)
}

// IsDocumentType tells the types of documents from those of tokens: a key that signs the one never signs the other.
func IsDocumentType(typ string) bool {
	return typ == DesiredStateType || typ == PackageType || typ == TrustSetType
}

// DocumentHeader is the protected header of a document, byte for byte.
func DocumentHeader(kid, typ string) string {
	return `{"alg":"EdDSA","kid":"` + kid + `","typ":"` + typ + `"}`
}

// DocumentInput is how long, in bytes, the signing input of a document is whose payload has so many bytes.
func DocumentInput(kid, typ string, payload int) int {
	text := base64.RawURLEncoding
	return text.EncodedLen(len(DocumentHeader(kid, typ))) + 1 + text.EncodedLen(payload)
}
