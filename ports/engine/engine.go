// Package engine is what a node keeps on its own disk: how far it was told of each tenant, its copies with stamp and
// fence, and its identity. Everything that a method changes is durable when it returns, or was not changed.
package engine

import (
	"context"
	"crypto/ed25519"

	"berth/domain/placement"
)

// Tenants is what a node keeps of its tenants. All methods are safe for concurrent use.
//
// Faults of each: Unavailable engine_unavailable where the disk does not let it now, request_ended where the context
// ended first; Internal engine_damaged where what is kept can not be read, engine_failed for a defect.
type Tenants interface {
	// StorageID names this storage among all (P10). It is made by fresh and kept at the first call; every later one, of
	// any process, returns what was kept.
	StorageID(ctx context.Context, fresh func() string) (string, error)
	// Home returns where and as what this storage was at home last; the zero Home where it never was.
	Home(ctx context.Context) (Home, error)
	// Settle remembers it.
	Settle(ctx context.Context, h Home) error
	// All calls each with every tenant that something is kept of, in the order of ids, and ends with its first error. Of a
	// copy it may tell what was true at an earlier Change: only Change tells what is.
	All(ctx context.Context, each func(Kept) error) error
	// Saw raises what is remembered to have been seen of tenants, all in one commit or none. What is lower than what is
	// kept changes nothing.
	Saw(ctx context.Context, seen []Seen) error
	// Change gives change the tenant as it is kept, and keeps what it left there, as a transaction apart from every other.
	// An error of change is returned as it is, and changes nothing. The mark is not change's to lower. What is returned
	// is the tenant as it is kept then. A copy that is Present then and was not, or Kept.Remade, is an empty one that was
	// made; of one that is not Present any more nothing is left. Either ends an open Engine of the tenant.
	Change(ctx context.Context, tenant string, change func(*Kept) error) (Kept, error)
}

// Home is where and as what a storage was used last. A copy of it is at home nowhere, and neither is one after which a
// copy was used.
type Home struct {
	Place      string // names the directory on its machine, since the machine's start; at most 128 bytes
	Generation int64  // heartbeat generation of the process that registered from here last; 0 before the first
}

// Follows says whether a process that is registered at the generation follows the last one of this home, with none
// elsewhere in between: then no other can hold a lease of the node.
func (h Home) Follows(place string, generation int64) bool {
	return h.Place == place && (h.Generation == 0 || generation == h.Generation+1)
}

// Seen is the highest that a node was told of a tenant's placement (P15): it accepts nothing lower, also after a restart.
type Seen struct {
	Tenant     string
	Generation int64
	Version    int64
}

// Below says whether other is higher.
func (s Seen) Below(other Seen) bool {
	return s.Generation < other.Generation || s.Generation == other.Generation && s.Version < other.Version
}

// Kept is what a node keeps of one tenant.
type Kept struct {
	Seen
	Copy     placement.Copy
	Sequence int64 // of the last commit in the copy; 0 where it is empty
}

// Remade says whether k, to which a change took before, is another copy, which has nothing of what was in that one: one
// that was made, installed for a migration, or emptied.
func (k Kept) Remade(before Kept) bool {
	return k.Copy.Present && (!before.Copy.Present || k.Sequence == 0 && before.Sequence > 0 ||
		k.Copy.Migration != "" && k.Copy.Migration != before.Copy.Migration)
}

// Identity is what a node keeps of who it is (I5). Private keys are readable to the node's own user only; where they are
// open to others every method refuses: Invalid file_unsafe. Further faults: Unavailable engine_unavailable; Internal
// engine_damaged. Its methods are not called at the same time.
type Identity interface {
	// Current returns the certificate that is in use, without judging it; ok is false where there is none.
	Current(ctx context.Context) (c Credential, ok bool, err error)
	// Prepared returns the key that was prepared last and not installed yet; ok is false where there is none.
	Prepared(ctx context.Context) (key NextKey, ok bool, err error)
	// Prepare keeps a key before a certificate is asked for it, in the place of one that was prepared before.
	Prepare(ctx context.Context, key NextKey) error
	// Install puts a certificate and its key in the place of the current ones, both or neither; then no key is prepared.
	Install(ctx context.Context, c Credential) error
	// Spent says whether the join token of this hash was used up.
	Spent(ctx context.Context, token [32]byte) (bool, error)
	// Spend remembers that it was; a number of the latest is remembered, at least 16.
	Spend(ctx context.Context, token [32]byte) error
}

// NextKey is a key of which a certificate is to be asked for.
type NextKey struct {
	Key ed25519.PrivateKey
	For string // the one request that it is for, in printable ASCII of at most 128 bytes: it is used for no other
}

// Credential is a certificate and its key.
type Credential struct {
	Chain [][]byte // DER, the node's own first
	Key   ed25519.PrivateKey
}

// Tokens is where a person leaves a join token for the node.
type Tokens interface {
	// Token returns the join token that lies there now; empty where there is none. Faults: Invalid file_unsafe,
	// file_unreadable.
	Token(ctx context.Context) (string, error)
}
