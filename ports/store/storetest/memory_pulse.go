package storetest

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// stir raises the pulse of every node that the tenant's placement names, or named before.
func (s *state) stir(tenant string, before tree[placement.Record]) {
	concerned := map[string]bool{}
	for _, placements := range []tree[placement.Record]{before, s.placements} {
		if p, placed := placements.get(tenant); placed {
			concerned[p.Node], concerned[p.Source], concerned[p.Target] = true, true, true
		}
	}
	delete(concerned, "")
	for node := range concerned {
		n, _ := s.pulses.get(node)
		s.pulses = s.pulses.put(node, n+1)
	}
}

// Pulse reads the last commit.
func (m *Memory) Pulse(ctx context.Context, node string) (out store.Pulse, err error) {
	err = m.View(ctx, func(context.Context, *store.Roles) error {
		now := m.state.Load()
		out.Origin = now.origin
		out.Number, _ = now.pulses.get(node)
		return store.CheckText(node)
	})
	if err != nil {
		return store.Pulse{}, err
	}
	return out, nil
}
