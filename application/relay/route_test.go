package relay

import (
	"math/rand/v2"
	"testing"

	"berth/ports/engine"
)

// What a tenant's rings hold is bounded in messages and bytes, has no gap, and ends with what was released last; what nobody
// follows is not held.
func TestRingsAreBounded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		h := &hub{routes: map[string]*route{}}
		for _, id := range []string{"a", "b", "c"} {
			r := &route{id: id}
			r.parked.prev, r.parked.next = &r.parked, &r.parked
			h.routes[id] = r
		}
		h.routes["a"].subs, h.routes["b"].subs = 1, 1
		sizes := [][]int{{1}, {1, 10, 10_000, 48 << 10}}[seed%2]
		most := 0
		for range 3000 {
			r := h.routes[[]string{"a", "a", "a", "b", "c"}[random.IntN(5)]]
			step := int64(1)
			if rare := random.IntN(800); rare < 2 {
				step = int64(2 * rare)
			}
			body := make([]byte, sizes[random.IntN(len(sizes))])
			h.deliver(r, engine.Message{Route: r.id, Seq: r.released + step, Body: body}, random.IntN(800) == 0)
			h.bounded(t)
			most = max(most, len(r.ring))
		}
		if seed%2 == 0 && most != ringMessages {
			t.Fatalf("seed %d: %d messages are held at most", seed, most)
		}
	}
}

func (h *hub) bounded(t *testing.T) {
	t.Helper()
	total := 0
	for _, r := range h.routes {
		bytes := 0
		for i, m := range r.ring {
			bytes += len(m.Body)
			if want := r.released - int64(len(r.ring)-1-i); m.Seq != want {
				t.Fatalf("%s holds %d where %d is due", r.id, m.Seq, want)
			}
		}
		total += bytes
		if len(r.ring) > ringMessages || bytes != r.bytes || r.subs == 0 && len(r.ring) > 0 {
			t.Fatalf("%s holds %d messages, %d bytes where it counts %d", r.id, len(r.ring), bytes, r.bytes)
		}
	}
	if total > ringBytes || total != h.kept {
		t.Fatalf("%d bytes are held, %d by the count", total, h.kept)
	}
}
