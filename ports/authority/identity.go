package authority

import (
	"context"
	"time"
)

// Enrolment is the plane on which a node gets its first certificate (I5).
type Enrolment interface {
	// Enroll spends a join token. csr is a PKCS #10 request in DER. Repeating it with the same token and a request by the
	// same key is safe: a lost answer is given again, as another certificate for that key.
	// Faults: Unauthenticated join_token_unknown, join_token_used, join_token_expired; Invalid join_token_malformed, and
	// further ones for a request that is not accepted; Unavailable ca_unavailable, after which the token is unspent.
	Enroll(ctx context.Context, joinToken string, csr []byte) (Issued, error)
}

// Credentials is how a node gets its next certificate, over the current one (I5).
type Credentials interface {
	// Rotate asks for a certificate for the key of the request. The current one stays in force until the new one is used
	// first. Repeating it with the same key gives another certificate for it. Faults: Invalid; Unavailable ca_unavailable.
	Rotate(ctx context.Context, csr []byte) (Issued, error)
}

// Issued is a certificate that was signed and admitted. Nothing in it was judged.
type Issued struct {
	Chain      [][]byte // DER, the node's own first, then what stands between it and a root
	ServerTime time.Time
}
