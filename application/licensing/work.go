package licensing

import (
	"context"
	"strconv"
	"time"

	"berth/domain/audit"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/notify"
	"berth/ports/store"
)

// Reviews is the topic of whoever carries reviews of deployments out.
const Reviews notify.Topic = "reviews"

// Topic is what whoever waits for a license subscribes to.
func Topic(license string) notify.Topic { return notify.Topic("license/" + license) }

// work is one attempt at a transaction: its roles, who asks, when, and what is to be hinted at once it committed.
type work struct {
	*store.Roles
	actor  audit.Actor
	now    time.Time
	topics []notify.Topic
}

// commit runs one change in a transaction and publishes its hints after the commit. Each attempt has the time at which it
// has its turn: what expires while it waits for others has expired.
func (l *Licensing) commit(ctx context.Context, actor audit.Actor, do func(context.Context, *work) error) error {
	var w *work
	err := l.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		w = &work{Roles: r, actor: actor, now: l.Clock.Now()}
		return do(ctx, w)
	})
	if err != nil {
		return err
	}
	if len(w.topics) > 0 { // the change stands, whether or not its caller still listens
		l.Hints.Publish(context.WithoutCancel(ctx), w.topics...)
	}
	return nil
}

func (w *work) note(ctx context.Context, action, subject string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{At: w.now, Actor: w.actor, Action: action, Subject: subject, Detail: detail})
}

// changed stores a changed license and calls its deployments to review, in the same transaction.
func (w *work) changed(ctx context.Context, l *entitlement.License) error {
	id := l.Record().ID
	if err := w.Licenses.Save(ctx, l); err != nil {
		return err
	}
	w.topics = append(w.topics, Topic(id), Reviews)
	return w.Deployments.Review(ctx, id, w.now)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// at names the field to blame where err is the fault of this slug.
func at(err error, slug, field string) error {
	if f, ok := fault.As(err); ok && f.Slug == slug {
		return f.At(field)
	}
	return err
}
