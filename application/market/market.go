package market

import (
	"context"
	"time"

	"berth/application/desired"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/notify"
	"berth/ports/store"
)

// Publisher is what of the desired state's use cases an intent needs (application/desired).
type Publisher interface {
	Custody(ctx context.Context, in desired.CustodyRequest) (delivery.Choice, []delivery.SecretValue, []*fault.Error, error)
	Prepare(ctx context.Context, in desired.PrepareRequest) (desired.Prepared, []*fault.Error)
	Publish(ctx context.Context, p desired.Proposal) (desired.Published, error)
}

// Hints is how a change is waited for.
type Hints = notify.Subscriber

// Market is the use cases of this package over their ports. Its exported fields are set once, before use; the Settings
// have passed their Check. All methods are safe for concurrent use, and any number of them may share one store.
type Market struct {
	Store    store.Store
	Clock    clock.Clock
	IDs      ids.Source
	Hints    Hints
	Desired  Publisher
	Settings Settings

	// Pepper returns the key under which license keys are hashed.
	Pepper func(context.Context) ([]byte, error)
}

// Settings are what operators tune.
type Settings struct {
	StaleAfter time.Duration // how old a report may be before it is shown as stale (E7)
	MaxWait    time.Duration // the longest that a long poll waits
	Relook     time.Duration // how often a long poll reads without a hint
	Attempts   int           // at one intent, while others change what it was decided on
}

// DefaultSettings are the figures of DESIGN §14 and generous ones beside them.
func DefaultSettings() Settings {
	return Settings{StaleAfter: 15 * time.Minute, MaxWait: 30 * time.Second, Relook: 5 * time.Second, Attempts: 5}
}

// Check refuses settings that are out of bounds, each as Invalid invalid_setting.
func (s Settings) Check() error {
	return fault.All(
		within("stale_after", s.StaleAfter, time.Minute, 7*24*time.Hour),
		within("max_wait", s.MaxWait, time.Second, 30*time.Second),
		within("relook", s.Relook, 100*time.Millisecond, s.MaxWait),
		within("attempts", s.Attempts, 1, 100),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}

// Caller is a customer's platform that proved its license. Only Authenticate makes one.
type Caller struct {
	install string
	license string
	source  string
}

// Install returns the deployment that asks.
func (c Caller) Install() string { return c.install }

func (c Caller) actor() audit.Actor {
	return audit.Actor{Kind: audit.ActorCustomer, ID: c.install, Source: c.source}
}
