package storetest

import (
	"context"
	"strconv"

	"berth/ports/store"
)

func originMutants() []broken {
	return []broken{
		{"the origin is forgotten", "the origin of what is read has a name", twisting(func(_ *tx, r *store.Roles) { r.Origin = "" })},
		{"views tell no origin", "the origin of what is read has a name", twisting(func(t *tx, r *store.Roles) {
			if t.readOnly {
				r.Origin = ""
			}
		})},
		{"views have an origin of their own", "views and transactions of one store read one history", twisting(func(t *tx, r *store.Roles) {
			if t.readOnly {
				r.Origin = "standby"
			}
		})},
		{"each commit makes another origin", "a commit leaves the origin as it is", func(m *mutant) {
			m.atomically = func(ctx context.Context, fn body) error {
				err := m.Memory.Atomically(ctx, fn)
				s := *m.state.Load()
				s.origin += strconv.Itoa(len(s.origin))
				m.state.Store(&s)
				return err
			}
		}},
	}
}
