package fleet

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

// commit runs one change in a transaction, spends the ticket in it, and publishes its hints after the commit. A request
// that did not mutate by itself, or came from an operator, carries the zero ticket.
func (f *Fleet) commit(ctx context.Context, actor audit.Actor, t store.Ticket, do func(context.Context, *work) error) error {
	now := f.Clock.Now()
	var w *work
	err := f.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		w = &work{Roles: r, actor: actor, now: now}
		if t != (store.Ticket{}) {
			if err := r.Nonces.Spend(ctx, t); err != nil {
				return err
			}
		}
		return do(ctx, w)
	})
	if err != nil {
		return err
	}
	if len(w.topics) > 0 { // the change stands, whether or not its caller still listens
		f.Hints.Publish(context.WithoutCancel(ctx), w.topics...)
	}
	return nil
}

func (w *work) hint(topics ...notify.Topic) { w.topics = append(w.topics, topics...) }

func (w *work) note(ctx context.Context, action, subject string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{At: w.now, Actor: w.actor, Action: action, Subject: subject, Detail: detail})
}

// itself is the control plane as an actor; source names what made it act.
func itself(source string) audit.Actor {
	return audit.Actor{Kind: audit.ActorSystem, ID: "berth", Source: source}
}

func nodeTopic(id string) notify.Topic      { return notify.Topic("node/" + id) }
func tenantTopic(id string) notify.Topic    { return notify.Topic("tenant/" + id) }
func migrationTopic(id string) notify.Topic { return notify.Topic("migration/" + id) }
