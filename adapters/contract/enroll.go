package contract

import "time"

// NewJoinToken asks for a join token of a node.
type NewJoinToken struct {
	ExpiresIn string `json:"expires_in,omitempty" maxLength:"16" doc:"A Go duration such as 30m; an hour when absent, a day at most" example:"1h"`
}

// JoinToken lets one process enrol as one node, once (I5).
type JoinToken struct {
	ID        string    `json:"id" doc:"By which the audit log names it"`
	Node      string    `json:"node"`
	Token     string    `json:"token,omitempty" doc:"Shown once"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Enroll asks for a node's first certificate.
type Enroll struct {
	JoinToken string `json:"join_token" minLength:"1" maxLength:"128"`
	CSR       string `json:"csr" minLength:"1" maxLength:"8192" doc:"PKCS #10 in PEM, signed by the node's new key: Ed25519, or ECDSA on P-256 or P-384"`
}

// Rotate asks for a node's next certificate.
type Rotate struct {
	CSR string `json:"csr" minLength:"1" maxLength:"8192" doc:"As that of enrolment; the key is a new one"`
}

// Enrolled is a certificate that was signed and admitted. It is in force at once, and becomes the current one when it is
// used first (I5).
type Enrolled struct {
	Node        string    `json:"node"`
	SPIFFEID    string    `json:"spiffe_id"`
	Fingerprint string    `json:"fingerprint" doc:"SHA-256 of the certificate, lower-case hex"`
	Certificate string    `json:"certificate" doc:"PEM, the node's own"`
	Chain       string    `json:"chain" doc:"PEM, what stands between it and a root; empty where a root signed it"`
	TrustBundle string    `json:"trust_bundle" doc:"PEM, every root that nodes believe now"`
	ExpiresAt   time.Time `json:"expires_at"`
	RenewAfter  time.Time `json:"renew_after" doc:"Half of its life; renew from here on, each node at its own moment"`
	ServerTime  time.Time `json:"server_time"`
}

// TrustBundle is every root that nodes believe now.
type TrustBundle struct {
	TrustDomain string            `json:"trust_domain"`
	PEM         string            `json:"pem" doc:"Each root as one CERTIFICATE block"`
	Roots       []TrustBundleRoot `json:"roots"`
}

// TrustBundleRoot is one root of a trust bundle.
type TrustBundleRoot struct {
	KID         string    `json:"kid" doc:"The key's own; of a CA outside external- and the first 16 digits of the fingerprint"`
	State       string    `json:"state" enum:"pending,active,retiring,external" doc:"Where the control plane's own stands; external: of a CA outside"`
	Fingerprint string    `json:"fingerprint" doc:"SHA-256 of the certificate, lower-case hex"`
	ExpiresAt   time.Time `json:"expires_at" doc:"Nothing it signed is believed from here on"`
}
