package relay

import (
	"testing"

	"pgregory.net/rapid"

	"berth/ports/engine"
)

// What a tenant's rings hold is bounded in messages and bytes, has no gap, and ends with what was released last; what nobody
// follows is not held.
func TestRingsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &hub{routes: map[string]*route{}}
		for _, id := range []string{"a", "b", "c"} {
			r := &route{id: id}
			r.parked.prev, r.parked.next = &r.parked, &r.parked
			h.routes[id] = r
		}
		h.routes["a"].subs, h.routes["b"].subs = 1, 1
		sizes := rapid.SampledFrom([][]int{{1}, {1, 10, 10_000, 48 << 10}}).Draw(t, "sizes")
		for range rapid.IntRange(1, 1000).Draw(t, "messages") {
			r := h.routes[rapid.SampledFrom([]string{"a", "a", "b", "c"}).Draw(t, "route")]
			seq := r.released + int64(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}).Draw(t, "step"))
			size := rapid.SampledFrom(sizes).Draw(t, "size")
			before := rapid.IntRange(0, 300).Draw(t, "before") == 0
			h.deliver(r, engine.Message{Route: r.id, Seq: seq, Body: make([]byte, size)}, before)
			h.bounded(t)
		}
	})
}

func (h *hub) bounded(t *rapid.T) {
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
