package store

import (
	"context"
	"time"

	"berth/domain/placement"
)

// Store is a control plane's database.
type Store interface {
	// Atomically runs fn in one serializable write transaction and commits it when fn returns nil.
	// Faults: fn's own; Unavailable store_unavailable, store_busy, commit_unknown, request_ended; Internal store_nested,
	// store_reference_missing.
	Atomically(ctx context.Context, fn func(ctx context.Context, r *Roles) error) error
	// View runs fn on one consistent state. Faults: fn's own; Unavailable store_unavailable, store_busy, request_ended;
	// Internal store_nested.
	View(ctx context.Context, fn func(ctx context.Context, r *Roles) error) error
	Beats
	Shared
	// Ping says whether the database answers, is of a schema that this program can work on, and lets it. Faults:
	// Unavailable store_unavailable, schema_outdated, database_password_unreadable, database_login_refused,
	// database_missing, database_rights_missing; Conflict schema_newer, schema_altered, schema_foreign,
	// database_encoding_refused.
	Ping(ctx context.Context) error
}

// Shared are the hot reads that many callers share.
type Shared interface {
	Callers
	Pulses
	Polls
}

// Beats is the group-commit role for heartbeats (DESIGN §10): many callers share one durable commit.
type Beats interface {
	// Beat spends the ticket and lets decide change the node's lease, both in one transaction with those of other
	// callers. A fault from decide, or a ticket spent before, undoes this caller's part only; so does a panic of
	// decide, which goes on in the caller. The node is there to be read: what decide does to it is not kept. Beat
	// returns when the commit is durable, with the node and the lease as this caller's part left them. decide may be
	// called again; it is pure.
	// Faults: NotFound node_not_found; Unauthenticated assertion_replayed, which comes before decide's own; Unavailable
	// store_unavailable, store_busy, request_ended, commit_unknown (also when ctx ends during the commit); Internal
	// store_nested.
	Beat(ctx context.Context, node string, t Ticket, decide func(*placement.Node, *placement.Lease) error) (placement.Candidate, error)
}

// Ticket is a nonce that authenticated a request and is to be spent by the use case in its own transaction (I4). The
// zero Ticket is spent without effect: a request that does not mutate carries none. One that lacks a part is a defect:
// Internal ticket_malformed.
type Ticket struct {
	Scope     string    // e.g. the ingress secret's id, or "device/" + principal
	Nonce     string    // unique within the scope
	ExpiresAt time.Time // from when on it may be swept: after it the request is refused for its age anyway
}

// Aggregate is what every role over a single record can do. In Atomically what Get returned can not change before the
// commit, so that Get, decide, Save is an update in the sense of a compare-and-set.
type Aggregate[T any] interface {
	// Create adds a record. Fault: AlreadyExists.
	Create(ctx context.Context, v T) error
	// Get returns a record that the caller owns. Fault: NotFound.
	Get(ctx context.Context, id string) (T, error)
	// Save writes a record that exists. Fault: NotFound.
	Save(ctx context.Context, v T) error
}

// Update lets fn change one record in a transaction of its own.
func Update[T any](ctx context.Context, s Store, role func(*Roles) Aggregate[T], id string, fn func(T) error) error {
	return s.Atomically(ctx, func(ctx context.Context, r *Roles) error { return UpdateIn(ctx, role(r), id, fn) })
}

// UpdateIn lets fn change one record in the transaction that role belongs to.
func UpdateIn[T any](ctx context.Context, role Aggregate[T], id string, fn func(T) error) error {
	v, err := role.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := fn(v); err != nil {
		return err
	}
	return role.Save(ctx, v)
}

// Page asks for at most Limit records whose key is above After. A Limit below 1 is 1; above MaxPage it is MaxPage.
// Where a method takes a bare limit, one below 1 is 1, too, and there is no upper bound.
type Page struct {
	After string
	Limit int
}

// MaxPage is the longest list in one answer.
const MaxPage = 1000

// Size is the limit within its bounds.
func (p Page) Size() int { return min(max(p.Limit, 1), MaxPage) }

// Roles are the records of one transaction. A field may be replaced by a double in tests.
type Roles struct {
	// Origin names the history that this transaction reads: it changes when the database was restored, replaced or failed
	// over, and what was counted of rows before does not hold after (P9).
	Origin string

	Regions    Regions
	Nodes      Nodes
	Leases     Leases
	Placements Placements
	Migrations Migrations
	Queue      Queue
	Backups    Backups
	Leaders    Leaders

	Tenants    Tenants
	Principals Principals
	Handles    Handles
	Routes     Routes
	Changes    Changes
	Standings  Standings

	Credentials Credentials
	Keys        SigningKeys
	Tokens      OperatorTokens
	Secrets     OneTimeSecrets
	Nonces      Nonces

	Customers    Customers
	Licenses     Licenses
	Entitlements Entitlements

	Apps       Apps
	Releases   Releases
	Registries Registries

	Deployments    Deployments
	DesiredStates  DesiredStates
	Revisions      Revisions
	Objects        Objects
	Agents         Agents
	Observations   Observations
	Intents        Intents
	SecretValues   SecretValues
	Packages       Packages
	WrappedSecrets WrappedSecrets

	Audit       Audit
	Idempotency Idempotency
}
