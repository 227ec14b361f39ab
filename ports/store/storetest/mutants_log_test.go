package storetest

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/store"
)

func logMutants() []broken {
	changes := func(change func(c store.Changes, t *tx) store.Changes) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Changes = change(r.Changes, t) })
	}
	return []broken{
		{"audit numbers come from a sequence", "an audit entry of a transaction that failed leaves no gap", func(m *mutant) {
			var next atomic.Int64
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.Audit = sequencedAudit{r.Audit, t, func(head audit.Head) audit.Head {
					head.Sequence = next.Add(1) - 1
					return head
				}}
			}
		}},
		{"audit seals behind the last commit", "the audit chain verifies after appends at once", func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.Audit = sequencedAudit{r.Audit, t, func(head audit.Head) audit.Head {
					last, _ := m.state.Load().audit.last()
					return audit.Head{Sequence: head.Sequence, Hash: last.Hash}
				}}
			}
		}},
		{"audit takes any draft", "a draft out of bounds is refused", twisting(func(t *tx, r *store.Roles) {
			r.Audit = sequencedAudit{r.Audit, t, func(head audit.Head) audit.Head { return head }}
		})},
		{"audit is found by the beginning of a subject", "audit entries are read in parts and by subject", twisting(func(_ *tx, r *store.Roles) {
			r.Audit = prefixAudit{r.Audit}
		})},
		{"changes are logged in the order they came", "changes come back whole, by revision and part", changes(func(c store.Changes, _ *tx) store.Changes {
			return unorderedChanges{c}
		})},
		{"dropping takes one revision too many", "dropped changes are gone, and no others", changes(func(c store.Changes, _ *tx) store.Changes {
			return greedyChanges{c}
		})},
		{"a part is logged again", "a part of a revision is logged once", changes(func(c store.Changes, _ *tx) store.Changes {
			return forgivingChanges{c}
		})},
		{"revocations count on a stale head", "revocations at once each make one revision", func(m *mutant) { m.atomically = m.unlocked }},
		{"the head is saved after the commit", "a revocation is seen whole or not at all", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				var late *authorization.Tenant
				err := m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
					r.Tenants = lateTenants{r.Tenants, &late}
					return fn(ctx, r)
				})
				if err != nil || late == nil {
					return err
				}
				for range 100 {
					runtime.Gosched()
				}
				return m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error { return r.Tenants.Save(ctx, late) })
			}
		}},
	}
}

type sequencedAudit struct {
	store.Audit
	t    *tx
	head func(audit.Head) audit.Head
}

func (a sequencedAudit) Append(ctx context.Context, d audit.Draft) error {
	head, err := a.Audit.Head(ctx)
	if err != nil {
		return err
	}
	e := audit.Seal(a.head(head), d)
	a.t.state.audit = a.t.state.audit.put(number(e.Sequence), e)
	return nil
}

type prefixAudit struct{ store.Audit }

func (a prefixAudit) About(ctx context.Context, subject string, after int64, limit int) ([]audit.Entry, error) {
	es, err := a.Audit.Range(ctx, after, 9999)
	es = slices.DeleteFunc(es, func(e audit.Entry) bool { return len(e.Subject) < len(subject) || e.Subject[:len(subject)] != subject })
	return es[:min(len(es), max(limit, 1))], err
}

type unorderedChanges struct{ store.Changes }

func (c unorderedChanges) Since(ctx context.Context, tenant string, from int64, limit int) ([]authorization.Change, error) {
	cs, err := c.Changes.Since(ctx, tenant, from, limit)
	slices.SortStableFunc(cs, func(a, b authorization.Change) int { return int(a.Revision-b.Revision) + (b.Part - a.Part) })
	return cs, err
}

type greedyChanges struct{ store.Changes }

func (c greedyChanges) Drop(ctx context.Context, tenant string, floor int64) error {
	return c.Changes.Drop(ctx, tenant, floor+1)
}

type forgivingChanges struct{ store.Changes }

func (c forgivingChanges) Append(ctx context.Context, tenant string, cs []authorization.Change) error {
	if err := c.Changes.Append(ctx, tenant, cs); fault.KindOf(err) != fault.AlreadyExists {
		return err
	}
	return nil
}

type lateTenants struct {
	store.Tenants
	late **authorization.Tenant
}

func (t lateTenants) Save(_ context.Context, v *authorization.Tenant) error {
	*t.late = v
	return nil
}

func onceMutants() []broken {
	once := func(change func(i store.Idempotency, t *tx) store.Idempotency) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Idempotency = change(r.Idempotency, t) })
	}
	return []broken{
		{"a claim does not tell what is there", "a claim is the first caller's", once(func(i store.Idempotency, _ *tx) store.Idempotency {
			return mutOnce{i}
		})},
		{"claims are looked up before the transaction", "of claims at once one wins", func(m *mutant) { m.atomically = m.unlocked }},
		{"an answer is released", "a released claim can be made again, an answer stays", once(func(_ store.Idempotency, t *tx) store.Idempotency {
			return carelessOnce{idempotency{t}}
		})},
		{"an answer takes the digest of its request", "an answer comes back with every field", once(func(_ store.Idempotency, t *tx) store.Idempotency {
			return rewritingOnce{idempotency{t}}
		})},
		{"an answer is shared with its caller", "an answer comes back with every field", once(func(i store.Idempotency, t *tx) store.Idempotency {
			return sharedOnce{i, t}
		})},
		{"answers are swept whole", "a sweep of answers is bounded by time and number", once(func(i store.Idempotency, _ *tx) store.Idempotency {
			return greedyOnce{i}
		})},
	}
}

type mutOnce struct{ store.Idempotency }

func (i mutOnce) Begin(ctx context.Context, o store.Once) (*store.Once, error) {
	_, err := i.Idempotency.Begin(ctx, o)
	return nil, err
}

type carelessOnce struct{ idempotency }

func (i carelessOnce) Release(_ context.Context, scope, key string) error {
	i.once = i.once.remove(compound(scope, key))
	return nil
}

type rewritingOnce struct{ idempotency }

func (i rewritingOnce) Finish(_ context.Context, o store.Once) error {
	o, err := adopt(o)
	o.Done = true
	i.once = i.once.put(compound(o.Scope, o.Key), o)
	return err
}

type greedyOnce struct{ store.Idempotency }

func (i greedyOnce) Sweep(ctx context.Context, before time.Time, _ int) (int, error) {
	return i.Idempotency.Sweep(ctx, before, 1000)
}

type sharedOnce struct {
	store.Idempotency
	t *tx
}

func (i sharedOnce) Begin(ctx context.Context, o store.Once) (*store.Once, error) {
	found, err := i.Idempotency.Begin(ctx, o)
	if found != nil {
		there, _ := i.t.once.get(compound(o.Scope, o.Key))
		found = &there
	}
	return found, err
}
