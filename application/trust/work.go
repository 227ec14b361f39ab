package trust

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/ports/notify"
	"berth/ports/store"
)

// work is one attempt at a transaction: its roles, who asks, when, and what is to be hinted at once it committed.
type work struct {
	*store.Roles
	actor  audit.Actor
	now    time.Time
	topics []notify.Topic
}

// commit runs one change in a transaction and publishes its hints after the commit.
func (t *Trust) commit(ctx context.Context, actor audit.Actor, do func(context.Context, *work) error) error {
	now := t.Clock.Now()
	var w *work
	err := t.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		w = &work{Roles: r, actor: actor, now: now}
		return do(ctx, w)
	})
	if err != nil {
		return err
	}
	if len(w.topics) > 0 { // the change stands, whether or not its caller still listens
		t.Hints.Publish(context.WithoutCancel(ctx), w.topics...)
	}
	return nil
}

func (w *work) note(ctx context.Context, action, subject string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{At: w.now, Actor: w.actor, Action: action, Subject: subject, Detail: detail})
}

// itself is the control plane as an actor; source names what made it act.
func itself(source string) audit.Actor {
	return audit.Actor{Kind: audit.ActorSystem, ID: "berth", Source: source}
}
