package access

import (
	"context"
	"sync"
	"time"

	"berth/domain/placement"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/notify"
	"berth/ports/store"
	"berth/ports/tokens"
)

// Hints is how use cases tell of a change, and wait for one.
type Hints interface {
	notify.Publisher
	notify.Subscriber
}

// Placer gives a new tenant its place, in the transaction that makes the tenant. A nil placement means that the tenant
// waits in the queue (P12). Whoever calls it publishes the hints.
type Placer interface {
	Place(ctx context.Context, r *store.Roles, tenant, region string, now time.Time) (*placement.Placement, error)
}

// TokenPorts are what the use cases of devices need to issue and to check tokens (A7).
type TokenPorts struct {
	Issuer     tokens.Issuer
	Verifier   tokens.DeviceVerifier
	Assertions tokens.AssertionVerifier
}

// Access is the use cases of this package over their ports. Its exported fields are set once, before use; the Settings
// have passed their Check. All methods are safe for concurrent use, and any number of Accesses may share one store.
type Access struct {
	Store    store.Store
	Clock    clock.Clock
	IDs      ids.Source
	Hints    Hints
	Placer   Placer
	Tokens   TokenPorts
	Settings Settings

	sweep     cursor
	confirmed confirmed
}

// cursor is how far a sweep that goes through all tenants has come. Each replica has its own.
type cursor struct {
	mu    sync.Mutex
	after string
}
