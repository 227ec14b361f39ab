package relay

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
)

// A wait grows with the tries, is never longer than the most nor shorter than half of its step, and keeps to what an answer
// asked for (LESSON 15).
func TestBackoffIsBoundedAndJittered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := chance{idstest.New(rapid.Uint64().Draw(t, "seed"))}
		most := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(10*time.Second)).Draw(t, "most"))
		var b backoff
		for try := range 20 {
			step := min(firstRetry<<min(try, 12), lastRetry, most)
			if d := b.next(c, nil, most); d > step || d < step/2 {
				t.Fatalf("try %d waits %v of %v", try, d, step)
			}
		}
		asked := fault.New(fault.Unavailable, "x", "x").After(7 * time.Second)
		if d := b.next(c, asked, most); d < 7*time.Second || d > 11*time.Second {
			t.Fatalf("asked to wait 7 s it waits %v", d)
		}
		if d := c.within(time.Minute); d > time.Minute || d < 48*time.Second {
			t.Fatalf("a minute becomes %v", d)
		}
	})
}

// Tenants come when they are due, the earliest first; of two times the earlier holds; and one tenant is in one hand only.
func TestQueue(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	q := newQueue(clock)
	q.add("late", 3*time.Second)
	q.add("soon", time.Second)
	q.add("late", 5*time.Second)
	q.add("now", time.Hour)
	q.add("now", 0)
	pop := func(want string) {
		t.Helper()
		if got, _ := q.pop(); got != want {
			t.Fatalf("%q comes, not %q", got, want)
		}
	}
	pop("now")
	pop("")
	clock.Advance(3 * time.Second)
	pop("soon")
	pop("late")
	pop("")
	q.add("soon", 0)
	pop("") // it is in a hand
	q.done("soon")
	pop("soon")
	if q.waiting() != 0 {
		t.Fatalf("%d wait", q.waiting())
	}
}

// Every tenant is done by the hands that there are, and none after the end.
func TestQueueRuns(t *testing.T) {
	t.Parallel()
	q := newQueue(clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	ctx, end := context.WithCancel(t.Context())
	var mu sync.Mutex
	done, busy, most := map[string]int{}, 0, 0
	for i := range 100 {
		q.add(fmt.Sprintf("t%d", i), 0)
	}
	q.run(ctx, 3, func(_ context.Context, id string) {
		mu.Lock()
		defer mu.Unlock()
		busy++
		most = max(most, busy)
		if done[id]++; len(done) == 100 {
			end()
		}
		busy--
	})
	if len(done) != 100 || most > 3 {
		t.Fatalf("%d tenants were done, %d at a time", len(done), most)
	}
}
