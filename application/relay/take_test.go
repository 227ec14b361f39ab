package relay_test

import (
	"fmt"
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// However small messages are, whoever takes them and goes no further holds about as much as was asked for (R2).
func TestSmallMessagesCount(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p, q := r.connected(authorization.Member), r.connected(authorization.Member)
		const count, bytes = 900, 16 << 10
		for i := range count {
			if _, err := p.publishes("main", fmt.Sprint("m", i), "1"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.session.Subscribe(r.t.Context(), q.Handles["main"], 0); err != nil {
			t.Fatal(err)
		}
		for round := 0; ; round++ {
			part, more, err := q.session.Take(r.t.Context(), bytes)
			if err != nil || len(part) == 0 || len(part) > bytes/100 {
				t.Fatalf("%d messages at once: %v", len(part), err)
			}
			if !more {
				if last := part[len(part)-1].Seq; last != count || round < 5 {
					t.Fatalf("the last is %d, in round %d", last, round)
				}
				return
			}
		}
	})
}

// A message that is not where it should be is not passed over in silence: the tenant's Engine is said to be damaged.
func TestNoMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 3} {
		bubble(t, func(r *rig) {
			r.up()
			p, q := r.connected(authorization.Member), r.connected(authorization.Member)
			for i := range count {
				if _, err := p.publishes("main", fmt.Sprint("m", i), "1"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := q.session.Subscribe(r.t.Context(), q.Handles["main"], 0); err != nil {
				t.Fatal(err)
			}
			r.gaps.Store(true)
			if part, _, err := q.session.Take(r.t.Context(), 1<<16); fault.SlugOf(err) != "engine_damaged" {
				t.Fatalf("of %d it takes %+v: %v", count, part, err)
			}
			r.gaps.Store(false)
			r.within(time.Second, "its sessions end", func() bool { return q.end() == "unavailable" })
		})
	}
}
