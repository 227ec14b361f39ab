package relay

import (
	"context"
	"sync"
	"time"

	"berth/domain/fault"
)

// newcomers asks about a tenant anew for the sake of devices that are not known here: they may have been paired since the
// tenant was asked about last. Of devices that nobody knows either it asks once a second at most.
type newcomers struct {
	mu    sync.Mutex // held while one asks; who waits for it looks first what the answer was
	asked time.Duration
	ever  bool
}

// greet has a device known here that can be, before it is judged.
func (m *room) greet(ctx context.Context, d Device) {
	n, c := m.rooms.Node, &m.newcomers
	if !n.state.stranger(d) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := n.Clock.Elapsed()
	if !n.state.stranger(d) || c.ever && now-c.asked < hurried || ctx.Err() != nil {
		return
	}
	c.asked, c.ever = now, true
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := n.snapshot(timed, m.tenant, n.state.standing(m.tenant).told.Generation); err != nil && !overtaken(err) {
		n.Log.DebugContext(ctx, "a device is not known, and the tenant can not be asked about", "tenant", m.tenant, "error", err)
	}
}

// stranger says whether nothing but that it is not known speaks against a device.
func (s *state) stranger(d Device) bool {
	return fault.SlugOf(s.device(d, reading()).err) == "principal_unknown"
}
