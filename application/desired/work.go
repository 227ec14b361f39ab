package desired

import (
	"context"
	"strconv"
	"time"

	"berth/domain/audit"
	"berth/domain/identity"
	"berth/ports/notify"
	"berth/ports/signer"
	"berth/ports/store"
	"berth/ports/tokens"
)

// work is one attempt at a transaction: its roles, who asks, when, and what is to be hinted at once it committed.
type work struct {
	*store.Roles
	actor  audit.Actor
	now    time.Time
	topics []notify.Topic
}

// commit runs one change in a transaction and publishes its hints after the commit. Each attempt has the time at which it
// has its turn: what expires while it waits for others has expired.
func (d *Desired) commit(ctx context.Context, actor audit.Actor, do func(context.Context, *work) error) error {
	var w *work
	err := d.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		w = &work{Roles: r, actor: actor, now: d.Clock.Now()}
		return do(ctx, w)
	})
	if err != nil {
		return err
	}
	if len(w.topics) > 0 { // the change stands, whether or not its caller still listens
		d.Hints.Publish(context.WithoutCancel(ctx), w.topics...)
	}
	return nil
}

func (w *work) note(ctx context.Context, action, install string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{
		At: w.now, Actor: w.actor, Action: action, Subject: subject(install), Detail: detail,
	})
}

func (w *work) hint(install string) { w.topics = append(w.topics, Topic(install)) }

// Topic is what whoever waits for a deployment subscribes to.
func Topic(install string) notify.Topic { return notify.Topic("install/" + install) }

func subject(install string) string { return "deployment/" + install }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// itself is the control plane as an actor; source names what made it act.
func itself(source string) audit.Actor {
	return audit.Actor{Kind: audit.ActorSystem, ID: "berth", Source: source}
}

// signing returns the key that signs for a purpose. Fault: Unavailable signing_key_missing.
func signing(ctx context.Context, r *store.Roles, purpose identity.KeyPurpose, now time.Time) (tokens.SigningKey, error) {
	ring, err := ringOf(ctx, r, purpose)
	if err != nil {
		return tokens.SigningKey{}, err
	}
	key, err := ring.Signing(now)
	if err != nil {
		return tokens.SigningKey{}, err
	}
	return tokens.SigningKey{KID: key.KID, Ref: signer.KeyRef(key.Ref)}, nil
}

func ringOf(ctx context.Context, r *store.Roles, purpose identity.KeyPurpose) (*identity.KeyRing, error) {
	keys, err := r.Keys.OfPurpose(ctx, purpose)
	if err != nil {
		return nil, err
	}
	records := make([]identity.SigningKeyRecord, 0, len(keys))
	for _, k := range keys {
		records = append(records, k.Record())
	}
	return identity.RestoreKeyRing(purpose, records), nil
}
