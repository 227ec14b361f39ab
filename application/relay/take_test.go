package relay_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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

// Who has all that there is, is woken by the next message, and by none that was there before.
func TestRepeatedMessagesWakeNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p, q := r.connected(authorization.Member), r.connected(authorization.Member)
		publish := func(id string, want int64) {
			if seq, err := p.publishes("main", id, "1"); err != nil || seq != want {
				t.Fatalf("%s is at %d: %v", id, seq, err)
			}
		}
		publish("a", 1)
		if _, err := q.session.Subscribe(r.t.Context(), q.Handles["main"], 0); err != nil || !q.wakes() || len(q.takes(t)) != 1 {
			t.Fatal(err)
		}
		publish("a", 1)
		if q.wakes() || len(q.takes(t)) != 0 {
			t.Fatal("a message that was there before wakes whoever has it")
		}
		publish("b", 2)
		if !q.wakes() || len(q.takes(t)) != 1 {
			t.Fatal("the next message wakes nobody")
		}
	})
}

// A message that is committed, and was not acknowledged since its device was revoked meanwhile, is read with those around it by
// whoever takes them later: none of a route is skipped.
func TestUnacknowledgedMessagesAreNotSkipped(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p, q, reader := r.connected(authorization.Member), r.connected(authorization.Member), r.connected(authorization.Member)
		if _, err := reader.session.Subscribe(r.t.Context(), reader.Handles["main"], 0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.publishes("main", "first", "1"); err != nil {
			t.Fatal(err)
		}
		letGo := r.hold()
		refused := make(chan error, 1)
		go func() { _, err := q.publishes("main", "between", "2"); refused <- err }()
		synctest.Wait()
		if _, err := r.control.RevokePrincipal("t0", q.Principal); err != nil {
			t.Fatal(err)
		}
		r.within(10*time.Second, "it is revoked", func() bool { return q.end() == "revoked" })
		letGo()
		if err := <-refused; fault.SlugOf(err) != "principal_revoked" {
			t.Fatalf("it is acknowledged: %v", err)
		}
		if seq, err := p.publishes("main", "last", "3"); err != nil || seq != 3 {
			t.Fatalf("%d: %v", seq, err)
		}
		var ids []string
		for _, m := range reader.takes(t) {
			ids = append(ids, m.ID)
		}
		if !slices.Equal(ids, []string{"first", "between", "last"}) {
			t.Fatalf("it takes %v", ids)
		}
	})
}
