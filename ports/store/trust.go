package store

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/identity"
	"berth/domain/placement"
)

// Callers is the read behind every node request. Concurrent calls may share one query; each sees what was committed
// before it was called. It is not for use within a transaction: Internal store_nested.
type Callers interface {
	// Caller returns the credential with this fingerprint and its node's status.
	// Fault: NotFound credential_not_found.
	Caller(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error)
}

// Credentials are the certificates of nodes, by SHA-256 fingerprint in lower-case hex (I1).
type Credentials interface {
	Aggregate[*identity.Credential]
	// OfNode returns a node's credentials, by time of issue, then fingerprint.
	OfNode(ctx context.Context, node string) ([]*identity.Credential, error)
	// InForce returns the credentials that are accepted at now (identity.Credential.InForce), of all nodes that are not
	// retired, by fingerprint.
	InForce(ctx context.Context, now time.Time, p Page) ([]*identity.Credential, error)
}

// SigningKeys are the keys of every purpose, by kid (I6). Private keys are elsewhere.
type SigningKeys interface {
	Aggregate[*identity.SigningKey]
	// OfPurpose returns the keys of a purpose, by kid.
	OfPurpose(ctx context.Context, purpose identity.KeyPurpose) ([]*identity.SigningKey, error)
}

// OperatorTokens are the operators' tokens, by id; the clear token is never stored.
type OperatorTokens interface {
	Aggregate[*identity.OperatorToken]
	List(ctx context.Context, p Page) ([]*identity.OperatorToken, error)
	// Admins counts the admin tokens that are neither revoked nor expired at now. The bootstrap token is not stored, and
	// so not among them.
	Admins(ctx context.Context, now time.Time) (int, error)
}

// OneTimeSecrets are pairing codes and join tokens, by the hash of their clear text in lower-case hex.
type OneTimeSecrets interface {
	Aggregate[*identity.OneTimeSecret]
	// Sweep forgets up to limit that expired before the given time and says how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// Nonces makes a request count once (I4, A7).
type Nonces interface {
	// Spend uses a ticket up, in the transaction that does what the request asks.
	// Fault: Unauthenticated assertion_replayed.
	Spend(ctx context.Context, t Ticket) error
	// Sweep forgets up to limit tickets that expired before the given time and says how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// Audit is the append-only log (A1, DESIGN §11).
type Audit interface {
	// Append seals the draft behind the present head (audit.Seal) and adds it. Fault: as of audit.Draft.Check.
	Append(ctx context.Context, d audit.Draft) error
	// Head returns the last entry's place and hash; the zero head of an empty log.
	Head(ctx context.Context) (audit.Head, error)
	// Range returns up to limit entries with a sequence above after, in order.
	Range(ctx context.Context, after int64, limit int) ([]audit.Entry, error)
	// About returns up to limit entries of one subject with a sequence above after, in order.
	About(ctx context.Context, subject string, after int64, limit int) ([]audit.Entry, error)
}

// Once is the record of a request with an Idempotency-Key.
type Once struct {
	Scope     string // credential and route
	Key       string // as the caller gave it
	Digest    string // of the request: another body under the same key is refused
	Done      bool   // false while the first request runs, or when it ended without an answer; set by Finish
	Status    int    // of the recorded answer
	Header    map[string]string
	Body      []byte // of the recorded answer, without what is shown once
	CreatedAt time.Time
}

// Idempotency keeps answers for repeated requests.
type Idempotency interface {
	// Begin claims scope and key for a request that is not done, whatever o says of an answer.
	// Fault: AlreadyExists once_exists; found then holds what is there.
	Begin(ctx context.Context, o Once) (found *Once, err error)
	// Finish records the answer and that the request is done; digest and time stay those of the claim.
	// Fault: NotFound once_not_found.
	Finish(ctx context.Context, o Once) error
	// Release forgets a claim whose request changed nothing. What is done, or not there, is left as it is.
	Release(ctx context.Context, scope, key string) error
	// Sweep forgets up to limit records made before the given time and says how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}
