package storetest

import (
	"context"
	"runtime"
	"sync"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

func hotMutants() []broken {
	return []broken{
		{"a refused beat undoes the one before", "a refused beat undoes its own part only", func(m *mutant) {
			var mu sync.Mutex
			var before *state
			m.beat = func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
				mu.Lock()
				defer mu.Unlock()
				was := m.state.Load()
				c, err := m.Memory.Beat(ctx, node, t, d)
				if err == nil {
					before = was
				} else if before != nil {
					m.state.Store(before)
				}
				return c, err
			}
		}},
		{"a beat is answered before its commit", "a beat that was answered is seen", func(m *mutant) { m.beat = (&lazyBeats{m: m.Memory}).beat }},
		{"a beat is not committed at all", "a beat is kept and answered as kept", func(m *mutant) {
			m.beat = func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
				was := m.state.Load()
				defer m.state.Store(was)
				return m.Memory.Beat(ctx, node, t, d)
			}
		}},
		{"a beat keeps the node, too", "a beat keeps every field of the lease and nothing of the node", func(m *mutant) {
			m.beat = func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
				return m.beatBy(ctx, node, t, func(ctx context.Context, r *store.Roles, n *placement.Node, l *placement.Lease) error {
					if err := d(n, l); err != nil {
						return err
					}
					return r.Nodes.Save(ctx, n)
				})
			}
		}},
		{"a beat does not spend its ticket", "a replayed beat is refused and changes nothing", func(m *mutant) {
			m.beat = func(ctx context.Context, node string, _ store.Ticket, d decide) (placement.Candidate, error) {
				return m.Memory.Beat(ctx, node, store.Ticket{}, d)
			}
		}},
		{"a replay is judged after the beat", "a replayed beat is refused and changes nothing", func(m *mutant) {
			m.beat = func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
				return m.beatBy(ctx, node, store.Ticket{}, func(ctx context.Context, r *store.Roles, n *placement.Node, l *placement.Lease) error {
					if err := d(n, l); err != nil {
						return err
					}
					return r.Nonces.Spend(ctx, t)
				})
			}
		}},
		{"a refused beat spends its ticket", "a refused beat leaves its ticket unspent", func(m *mutant) {
			m.beat = func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
				c, err := m.Memory.Beat(ctx, node, t, d)
				if err != nil {
					_ = m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, t) })
				}
				return c, err
			}
		}},
		{"a beat reads before it locks", "beats and updates of one lease lose nothing", func(m *mutant) {
			m.beat = (&hastyBeats{m: m.Memory}).beat
		}},
		{"a nonce is forgotten", "a ticket counts once", twisting(func(_ *tx, r *store.Roles) { r.Nonces = deafNonces{r.Nonces} })},
		{"a nonce is looked up before the transaction", "a ticket counts once among many at a time", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				before := m.state.Load().nonces
				runtime.Gosched()
				return m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
					r.Nonces = staleNonces{r.Nonces, before}
					return fn(ctx, r)
				})
			}
		}},
		{"nonces are one scope", "nonces are told apart by scope", twisting(func(_ *tx, r *store.Roles) { r.Nonces = flatNonces{r.Nonces} })},
		{"a nonce is kept when its transaction fails", "a ticket of a transaction that failed counts again", func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.Nonces = leakyNonces{r.Nonces, func() {
					s := *m.state.Load()
					s.nonces = t.state.nonces
					m.state.Store(&s)
				}}
			}
		}},
		{"callers are cached", "a caller sees what was committed before the call", func(m *mutant) {
			var mu sync.Mutex
			known := map[string]*identity.Credential{}
			m.caller = func(ctx context.Context, fp string) (*identity.Credential, placement.NodeStatus, error) {
				mu.Lock()
				defer mu.Unlock()
				if c, found := known[fp]; found {
					return c, placement.NodeActive, nil
				}
				c, status, err := m.Memory.Caller(ctx, fp)
				if err == nil {
					known[fp] = c
				}
				return c, status, err
			}
		}},
		{"callers share an answer", "callers share nothing", func(m *mutant) {
			shared := identity.RestoreCredential(credential("fp-n000", "n000").Record())
			m.caller = func(context.Context, string) (*identity.Credential, placement.NodeStatus, error) {
				return shared, placement.NodeActive, nil
			}
		}},
		{"a caller is answered for another", "an unknown caller is NotFound among known ones", func(m *mutant) {
			m.caller = func(ctx context.Context, fp string) (*identity.Credential, placement.NodeStatus, error) {
				c, status, err := m.Memory.Caller(ctx, fp)
				if fault.KindOf(err) == fault.NotFound {
					return m.Memory.Caller(ctx, "fp-n000")
				}
				return c, status, err
			}
		}},
	}
}

// beatBy is a beat that a mutant decides on otherwise.
func (m *mutant) beatBy(ctx context.Context, node string, t store.Ticket,
	do func(context.Context, *store.Roles, *placement.Node, *placement.Lease) error,
) (out placement.Candidate, err error) {
	err = m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		if err := r.Nonces.Spend(ctx, t); err != nil {
			return err
		}
		n, err := r.Nodes.Get(ctx, node)
		if err != nil {
			return err
		}
		l, err := r.Leases.Get(ctx, node)
		if err != nil {
			return err
		}
		out = placement.Candidate{Node: n, Lease: l}
		if err := do(ctx, r, n, l); err != nil {
			return err
		}
		return r.Leases.Save(ctx, l)
	})
	return out, err
}

// lazyBeats answers each beat at once, and commits it when the next one comes.
type lazyBeats struct {
	m    *Memory
	mu   sync.Mutex
	last func()
}

func (b *lazyBeats) beat(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil {
		b.last()
	}
	b.last = func() { _, _ = b.m.Beat(ctx, node, t, d) }
	scratch := NewMemory()
	scratch.state.Store(b.m.state.Load())
	return scratch.Beat(ctx, node, t, d)
}

// hastyBeats decides on what it read before it has the writer's token.
type hastyBeats struct{ m *Memory }

func (b *hastyBeats) beat(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error) {
	scratch := NewMemory()
	scratch.state.Store(b.m.state.Load())
	c, err := scratch.Beat(ctx, node, t, d)
	if err != nil {
		return c, err
	}
	runtime.Gosched()
	return c, b.m.Atomically(ctx, func(ctx context.Context, r *store.Roles) error { return r.Leases.Save(ctx, c.Lease) })
}

type deafNonces struct{ store.Nonces }

func (deafNonces) Spend(context.Context, store.Ticket) error { return nil }

type staleNonces struct {
	store.Nonces
	before tree[store.Ticket]
}

func (n staleNonces) Spend(ctx context.Context, t store.Ticket) error {
	if n.before.has(compound(t.Scope, t.Nonce)) {
		return store.Replayed()
	}
	if err := n.Nonces.Spend(ctx, t); fault.KindOf(err) != fault.Unauthenticated {
		return err
	}
	return nil
}

type flatNonces struct{ store.Nonces }

func (n flatNonces) Spend(ctx context.Context, t store.Ticket) error {
	if t != (store.Ticket{}) {
		t.Nonce, t.Scope = t.Scope+t.Nonce, "all"
	}
	return n.Nonces.Spend(ctx, t)
}

type leakyNonces struct {
	store.Nonces
	leak func()
}

func (n leakyNonces) Spend(ctx context.Context, t store.Ticket) error {
	err := n.Nonces.Spend(ctx, t)
	n.leak()
	return err
}
