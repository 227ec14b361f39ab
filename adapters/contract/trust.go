package contract

import "time"

// NewCredential admits a node certificate that a CA outside Berth issued.
type NewCredential struct {
	Certificate string `json:"certificate" maxLength:"16384" doc:"PEM, one certificate; its SPIFFE id must be this node's"`
}

// Credential is a node's certificate as Berth knows it.
type Credential struct {
	Fingerprint string     `json:"fingerprint" doc:"SHA-256 of the certificate, lower-case hex"`
	SPIFFEID    string     `json:"spiffe_id"`
	State       string     `json:"state" enum:"prepared,current,superseded,revoked"`
	IssuedAt    time.Time  `json:"issued_at"`
	ExpiresAt   time.Time  `json:"expires_at"`
	UsedAt      *time.Time `json:"used_at,omitempty"`
	RevokedAt   *time.Time `json:"revoked_at,omitempty"`
	Reason      string     `json:"reason,omitempty"`
}

// Credentials are a node's certificates.
type Credentials struct {
	Credentials []Credential `json:"credentials"`
}

// Reason says why.
type Reason struct {
	Reason string `json:"reason,omitempty" maxLength:"256"`
}

// SigningKey is a key that signs device tokens or node certificates; its private half is in the KMS.
type SigningKey struct {
	KID         string     `json:"kid"`
	Purpose     string     `json:"purpose"`
	State       string     `json:"state" enum:"pending,active,retiring,retired,compromised"`
	PublicKey   string     `json:"public_key" doc:"Ed25519, base64url without padding"`
	NotBefore   time.Time  `json:"not_before"`
	SignUntil   time.Time  `json:"sign_until"`
	VerifyUntil time.Time  `json:"verify_until"`
	CreatedAt   time.Time  `json:"created_at"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// RotateKey asks for the next key of a purpose.
type RotateKey struct {
	Purpose string `json:"purpose,omitempty" enum:"device-token,ca" doc:"device-token when absent"`
}

// SigningKeys are the keys, or those that verify now.
type SigningKeys struct {
	Keys []SigningKey `json:"keys"`
}

// JWK is a public key (RFC 7517, RFC 8037).
type JWK struct {
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	X   string `json:"x"`
	KID string `json:"kid"`
	Use string `json:"use"`
	Alg string `json:"alg"`
}

// JWKS is the key set of device tokens.
type JWKS struct {
	Keys []JWK `json:"keys"`
}

// NewToken asks for an operator token.
type NewToken struct {
	Name      string `json:"name" minLength:"1" maxLength:"64"`
	Role      string `json:"role" enum:"viewer,operator,admin"`
	ExpiresIn string `json:"expires_in,omitempty" maxLength:"16" doc:"A Go duration such as 720h; 30 days when absent, a year at most" example:"720h"`
}

// Token is an operator token.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role" enum:"viewer,operator,admin"`
	Token     string     `json:"token,omitempty" doc:"Shown once, when it is made"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// Tokens is a page of tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"`
	Next   string  `json:"next,omitempty"`
}

// Actor is who did something.
type Actor struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Source string `json:"source,omitempty"`
}

// AuditEntry is a link of the audit chain.
type AuditEntry struct {
	Sequence int64             `json:"sequence"`
	At       time.Time         `json:"at"`
	Actor    Actor             `json:"actor"`
	Action   string            `json:"action"`
	Subject  string            `json:"subject"`
	Detail   map[string]string `json:"detail,omitempty"`
	Previous string            `json:"previous" doc:"Hash of the entry before, hex"`
	Hash     string            `json:"hash"`
}

// AuditEntries is a page of the audit log.
type AuditEntries struct {
	Entries []AuditEntry `json:"entries"`
	Next    string       `json:"next,omitempty"`
}

// AuditVerdict says whether the chain is whole.
type AuditVerdict struct {
	Whole    bool   `json:"whole"`
	Entries  int64  `json:"entries" doc:"How many were verified"`
	Head     string `json:"head" doc:"Hash of the last one, hex"`
	BrokenAt int64  `json:"broken_at,omitempty,omitzero"`
	Reason   string `json:"reason,omitempty"`
}
