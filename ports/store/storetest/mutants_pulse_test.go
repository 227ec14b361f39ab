package storetest

import (
	"context"
	"sync"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/store"
)

func pulseMutants() []broken {
	heads := "a pulse is raised by a change of a head for each node that its placement names"
	places := "a pulse is raised by a change of a placement for each node before and after"
	told := "while a pulse stays, nothing differs that did not"
	// calming takes back the pulses of some nodes after a placement was saved.
	calming := func(calm func(was, is placement.Record) []string) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Placements = calmPlacements{r.Placements, t, calm} })
	}
	return []broken{
		{"a head stirs nobody", heads, twisting(func(t *tx, r *store.Roles) { r.Tenants = calmTenants{r.Tenants, t, nil} })},
		{"a head stirs the holder alone", heads, twisting(func(t *tx, r *store.Roles) {
			r.Tenants = calmTenants{r.Tenants, t, func(p placement.Record) string { return p.Node }}
		})},
		{"a head stirs another node", heads, twisting(func(t *tx, r *store.Roles) {
			r.Tenants = calmTenants{r.Tenants, t, func(placement.Record) string { return "f" }}
		})},
		{"a placement stirs nobody before it", places, calming(func(was, is placement.Record) (out []string) {
			for _, node := range []string{was.Node, was.Source, was.Target} {
				if node != is.Node && node != is.Source && node != is.Target {
					out = append(out, node)
				}
			}
			return out
		})},
		{"a placement stirs no target", places, calming(func(was, is placement.Record) []string {
			if is.Target == was.Node || is.Target == is.Node {
				return nil
			}
			return []string{is.Target}
		})},
		{"a placement stirs no new holder", told, calming(func(was, is placement.Record) []string {
			if is.Node == was.Node {
				return nil
			}
			return []string{is.Node}
		})},
		{"a first place stirs nobody", places, twisting(func(t *tx, r *store.Roles) { r.Placements = calmFirst{r.Placements, t} })},
		{"a failed transaction stirs", "a pulse stays when nothing of the node's changed", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				var stirred tree[int64]
				err := m.Memory.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
					err := fn(ctx, r)
					stirred = r.Nonces.(nonces).pulses
					return err
				})
				if err != nil {
					s := *m.state.Load()
					s.pulses = stirred
					m.state.Store(&s)
				}
				return err
			}
		}},
		{"pulses are cached", "a pulse that was answered after a commit counts it", func(m *mutant) {
			var mu sync.Mutex
			known := map[string]store.Pulse{}
			m.pulse = func(ctx context.Context, node string) (store.Pulse, error) {
				mu.Lock()
				defer mu.Unlock()
				if p, found := known[node]; found {
					return p, nil
				}
				p, err := m.Memory.Pulse(ctx, node)
				if err == nil {
					known[node] = p
				}
				return p, err
			}
		}},
		{"a pulse names no origin", "a pulse takes any node, names the origin, and refuses what is no text", func(m *mutant) {
			m.pulse = func(ctx context.Context, node string) (store.Pulse, error) {
				p, err := m.Memory.Pulse(ctx, node)
				return store.Pulse{Number: p.Number}, err
			}
		}},
		{"nodes have one pulse", "a pulse stays when nothing of the node's changed", func(m *mutant) {
			m.pulse = func(ctx context.Context, _ string) (out store.Pulse, err error) {
				for _, n := range m.state.Load().pulses.above("") {
					out.Number += n
				}
				return out, nil
			}
		}},
	}
}

// calmTenants stirs one node instead of those that a head concerns; none where only is nil.
type calmTenants struct {
	store.Tenants
	tx   *tx
	only func(placement.Record) string
}

func (c calmTenants) Save(ctx context.Context, v *authorization.Tenant) error {
	before := c.tx.state.pulses
	err := c.Tenants.Save(ctx, v)
	c.tx.state.pulses = before
	if p, placed := c.tx.state.placements.get(v.ID()); placed && c.only != nil && err == nil {
		n, _ := before.get(c.only(p))
		c.tx.state.pulses = before.put(c.only(p), n+1)
	}
	return err
}

// calmPlacements takes back what a write stirred for some nodes.
type calmPlacements struct {
	store.Placements
	tx   *tx
	calm func(was, is placement.Record) []string
}

func (c calmPlacements) Save(ctx context.Context, v *placement.Placement) error {
	before := c.tx.state.pulses
	was, _ := c.tx.state.placements.get(v.Record().Tenant)
	if err := c.Placements.Save(ctx, v); err != nil {
		return err
	}
	for _, node := range c.calm(was, v.Record()) {
		n, _ := before.get(node)
		c.tx.state.pulses = c.tx.state.pulses.put(node, n)
	}
	return nil
}

type calmFirst struct {
	store.Placements
	tx *tx
}

func (c calmFirst) Create(ctx context.Context, v *placement.Placement) error {
	before := c.tx.state.pulses
	err := c.Placements.Create(ctx, v)
	c.tx.state.pulses = before
	return err
}
