package storetest

import (
	"context"
	"errors"
	"reflect"
	"runtime"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

func isolationMutants() []broken {
	return []broken{
		{"reads before it locks", "no update is lost", func(m *mutant) { m.atomically = m.unlocked }},
		{"snapshot isolation: write skew", "no write skew fills a node past its capacity", func(m *mutant) { m.atomically = m.snapshot }},
		{"snapshot isolation: phantom", "no phantom gets into the queue", func(m *mutant) { m.atomically = m.snapshot }},
		{"a queue that gives one tenant to two", "what waits is taken once", func(m *mutant) { m.atomically = m.unlocked }},
		{"swallows a failed commit", "what belongs to nothing is refused at the commit", swallow("store_reference_missing")},
		{"swallows an ended context", "a context that ends before the commit keeps nothing", swallow("request_ended")},
		{"commits what failed", "a transaction that fails leaves nothing behind", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				var failed error
				err := m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
					failed = fn(ctx, r)
					return nil
				})
				return errors.Join(err, failed)
			}
		}},
		{"commits before a panic goes on", "a panic rolls back and goes on", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				var raised any
				err := m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
					defer func() { raised = recover() }()
					return fn(ctx, r)
				})
				if raised != nil {
					panic(raised)
				}
				return err
			}
		}},
		{"a panic becomes a fault", "a panic rolls back and goes on", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) (err error) {
				defer func() {
					if recover() != nil {
						err = store.Away(nil)
					}
				}()
				return m.Memory.Atomically(ctx, fn)
			}
		}},
		{"hides the function's fault", "a fault of the function comes back as it is", func(m *mutant) {
			m.view = func(ctx context.Context, fn body) error {
				if err := m.Memory.View(ctx, fn); err != nil {
					return fault.New(fault.Internal, "view_failed", "%v", err)
				}
				return nil
			}
		}},
		{"handles are saved outside the transaction", "a revocation that fails at any step leaves everything", func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.Handles = leakyHandles{r.Handles, func() {
					s := *m.state.Load()
					s.handles = t.state.handles
					m.state.Store(&s)
				}}
			}
		}},
		{"a view reads what is not committed", "a view does not see what is not committed", func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.Regions = leakyRegions{r.Regions, func() {
					s := *m.state.Load()
					s.regions = t.state.regions
					m.state.Store(&s)
				}}
			}
		}},
		{"a view reads each time anew", "a view stays at one state while others commit", func(m *mutant) {
			m.view = func(ctx context.Context, fn body) error {
				return m.Memory.View(ctx, func(ctx context.Context, r *store.Roles) error {
					r.Nodes = restlessNodes{r.Nodes, m.Memory}
					return fn(ctx, r)
				})
			}
		}},
		{"a view reads a replica that lags", "a view sees every commit that was answered", func(m *mutant) {
			old := NewMemory()
			m.atomically = func(ctx context.Context, fn body) error {
				old.state.Store(m.state.Load())
				return m.Memory.Atomically(ctx, fn)
			}
			m.view = old.View
		}},
		{"a view writes", "a view refuses to write", twisting(func(t *tx, _ *store.Roles) { t.readOnly = false })},
		{"roles live on", "roles end with their function", func(m *mutant) {
			m.view = func(ctx context.Context, fn body) error {
				return fn(ctx, (&tx{state: *m.state.Load(), readOnly: true}).roles())
			}
		}},
		{"a view begins another", "nothing begins within a transaction", func(m *mutant) {
			m.view = func(ctx context.Context, fn body) error {
				return m.Memory.View(ctx, func(_ context.Context, r *store.Roles) error { return fn(ctx, r) })
			}
		}},
		{"begins although its context ended", "a context that has ended begins nothing", func(m *mutant) {
			m.view = func(ctx context.Context, fn body) error { return m.Memory.View(context.WithoutCancel(ctx), fn) }
		}},
	}
}

// unlocked works on the state as it is at the start and lets the last one win.
func (m *mutant) unlocked(ctx context.Context, fn body) error {
	next, err := attempt(ctx, &tx{state: *m.state.Load()}, fn)
	if err != nil {
		return err
	}
	runtime.Gosched()
	m.state.Store(next)
	return nil
}

// snapshot is snapshot isolation: rows that two transactions wrote conflict, rows that one read and another wrote do not.
func (m *mutant) snapshot(ctx context.Context, fn body) error {
	for {
		base := *m.state.Load()
		next, err := attempt(ctx, &tx{state: base}, fn)
		if err != nil {
			return err
		}
		runtime.Gosched()
		m.writer <- struct{}{}
		merged, now := *next, *m.state.Load()
		fits := merge(&merged.nodes, base.nodes, now.nodes) && merge(&merged.queue, base.queue, now.queue) &&
			merge(&merged.desired, base.desired, now.desired) && merge(&merged.intents, base.intents, now.intents)
		if fits {
			m.state.Store(&merged)
		}
		<-m.writer
		if fits {
			return nil
		}
	}
}

// merge puts what mine changed since base into now; false where both changed a row.
func merge[V any](mine *tree[V], base, now tree[V]) bool {
	out := now
	for key, v := range mine.above("") {
		was, had := base.get(key)
		if had && reflect.DeepEqual(was, v) {
			continue
		}
		if is, has := now.get(key); has != had || !reflect.DeepEqual(is, was) {
			return false
		}
		out = out.put(key, v)
	}
	*mine = out
	return true
}

func swallow(slug string) func(m *mutant) {
	return func(m *mutant) {
		m.atomically = func(ctx context.Context, fn body) error {
			err := m.Memory.Atomically(ctx, fn)
			if fault.SlugOf(err) == slug {
				return nil
			}
			return err
		}
	}
}

type leakyHandles struct {
	store.Handles
	leak func()
}

func (h leakyHandles) Save(ctx context.Context, hs []*authorization.Handle) error {
	err := h.Handles.Save(ctx, hs)
	h.leak()
	return err
}

type leakyRegions struct {
	store.Regions
	leak func()
}

func (r leakyRegions) Create(ctx context.Context, v placement.Region) error {
	err := r.Regions.Create(ctx, v)
	r.leak()
	return err
}

type restlessNodes struct {
	store.Nodes
	m *Memory
}

func (n restlessNodes) Get(_ context.Context, id string) (v *placement.Node, err error) {
	err = n.m.View(context.Background(), func(ctx context.Context, r *store.Roles) error {
		v, err = r.Nodes.Get(ctx, id)
		return err
	})
	return v, err
}
