package access

import (
	"context"
	"maps"
	"strconv"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
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
// that came from no node carries the zero ticket.
func (a *Access) commit(ctx context.Context, actor audit.Actor, t store.Ticket, do func(context.Context, *work) error) error {
	now := a.Clock.Now()
	var w *work
	err := a.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		w = &work{Roles: r, actor: actor, now: now}
		if err := r.Nonces.Spend(ctx, t); err != nil {
			return err
		}
		return do(ctx, w)
	})
	if err != nil {
		return err
	}
	if len(w.topics) > 0 { // the change stands, whether or not its caller still listens
		a.Hints.Publish(context.WithoutCancel(ctx), w.topics...)
	}
	return nil
}

func (w *work) note(ctx context.Context, action, tenant string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{
		At: w.now, Actor: w.actor, Action: action, Subject: "tenant/" + tenant, Detail: detail,
	})
}

// amended stores what one change made of a tenant: its head and the log, and the audit entry that goes with the new
// revision (A1). The holder is hinted at: only it polls for this tenant.
func (w *work) amended(ctx context.Context, s store.Standing, changes []authorization.Change, action string,
	detail map[string]string,
) error {
	if err := w.Tenants.Save(ctx, s.Tenant); err != nil {
		return err
	}
	if err := w.Changes.Append(ctx, s.Tenant.ID(), changes); err != nil {
		return err
	}
	w.hint(s.Tenant.ID(), s.Placement)
	full := map[string]string{"revision": number(s.Tenant.Revision())}
	maps.Copy(full, detail)
	return w.note(ctx, action, s.Tenant.ID(), full)
}

func (w *work) hint(tenant string, p *placement.Placement) {
	w.topics = append(w.topics, notify.Topic("tenant/"+tenant))
	if p != nil {
		w.topics = append(w.topics, nodeTopic(p.Record().Node))
	}
}

func nodeTopic(id string) notify.Topic { return notify.Topic("node/" + id) }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// nodeActor is a node as an actor; its source is the certificate that it came with.
func nodeActor(c identity.Caller) audit.Actor {
	return audit.Actor{Kind: audit.ActorNode, ID: c.Node, Source: c.Fingerprint}
}
