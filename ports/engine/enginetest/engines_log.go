package enginetest

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
)

func noGaps(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	const each = 20
	got := map[string][]bool{"main": make([]bool, 4*each+1), "other": make([]bool, 4*each+1)}
	var mu sync.Mutex
	var hands sync.WaitGroup
	for route, given := range got {
		for hand := range 4 {
			hands.Go(func() {
				for i := range each {
					r := answerTo(tb, send(e, write(route, fmt.Sprintf("%d-%d", hand, i))))
					mu.Lock()
					if r.err != nil || r.Seq < 1 || r.Seq > 4*each || given[r.Seq] {
						tb.Errorf("sequence %d of %s is given, %v", r.Seq, route, r.err)
					} else {
						given[r.Seq] = true
					}
					mu.Unlock()
				}
			})
		}
	}
	hands.Wait()
	for route := range got {
		if messages := everything(tb, e, route); len(messages) != 4*each || messages[4*each-1].Seq != 4*each {
			tb.Fatalf("%s has %d messages", route, len(messages))
		}
	}
}

func answersInOrder(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	const count = 200
	var mu sync.Mutex
	answers := make([]int, count)
	last := int64(0)
	var hands sync.WaitGroup
	hands.Add(count)
	for i := range count {
		w := write("main", fmt.Sprint(i))
		if i%5 == 0 {
			w.Generation = 7 // refused, and answered all the same
		}
		e.Append(w, func(a engine.Appended, err error) {
			mu.Lock()
			defer mu.Unlock()
			switch answers[i]++; {
			case answers[i] > 1:
				tb.Errorf("%d is answered again", i)
				return
			case i%5 == 0:
				if fault.SlugOf(err) != "copy_fenced" {
					tb.Errorf("%d ends with %v", i, err)
				}
			case err != nil || a.Seq != last+1:
				tb.Errorf("%d is answered with %d %v after %d", i, a.Seq, err, last)
			}
			last = max(last, a.Seq)
			hands.Done()
		})
	}
	ended(tb, &hands)
	ok(tb, e.Close()) // after which none can come any more
}

// ended waits for all hands.
func ended(tb testing.TB, hands *sync.WaitGroup) {
	tb.Helper()
	done := make(chan struct{})
	go func() { hands.Wait(); close(done) }()
	within(tb, done)
}

func within(tb testing.TB, happens <-chan struct{}) {
	tb.Helper()
	select {
	case <-happens:
	case <-time.After(many):
		tb.Fatal("what was to happen does not")
	}
}

func countsOnce(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	first, second := send(e, write("main", "m")), send(e, write("main", "m")) // in one commit, as it comes
	a, b := answerTo(tb, first), answerTo(tb, second)
	if a.err != nil || b.err != nil || a.Before || !b.Before || a.Seq != 1 || b.Seq != 1 {
		tb.Fatalf("one id twice is answered with %+v and %+v", a, b)
	}
	put(tb, e, write("main", "n"))
	again := func(e engine.Engine) {
		tb.Helper()
		late := write("main", "m")
		late.At = late.At.Add(time.Hour)
		if r := answerTo(tb, send(e, late)); r.err != nil || !r.Before || r.Seq != 1 || !r.At.Equal(write("main", "m").At) {
			tb.Fatalf("a repeated message is answered with %+v", r)
		}
		other := write("main", "m")
		other.Body = []byte(`{"id":"x"}`)
		refuses(tb, e, other, fault.Conflict, "publish_id_reused")
	}
	again(e)
	ok(tb, e.Close())
	again(opened(tb, s, "a"))
	s = d.Open(tb, stream.DefaultLimits())
	e = opened(tb, s, "a")
	again(e)
	foreign := write("main", "m")
	foreign.Principal = "dev_2"
	if seq := put(tb, e, foreign); seq != 3 {
		tb.Fatalf("another principal's message is %d", seq)
	}
	if seq := put(tb, e, write("other", "m")); seq != 1 {
		tb.Fatalf("another route's message is %d", seq)
	}
	has(tb, e, "main", "m", "n", "m")
}

func needsGeneration(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	put(tb, e, write("main", "m1"))
	before := usage(tb, e)
	denied := func(generations ...int64) {
		tb.Helper()
		for _, g := range generations {
			for _, id := range []string{"m1", "x"} { // what was acknowledged before is not acknowledged again, either
				w := write("main", id)
				w.Generation = g
				refuses(tb, e, w, fault.Unavailable, "copy_fenced")
			}
		}
	}
	denied(0, 2)
	recopy(tb, s, "a", fenced)
	denied(0, 1, 2)
	recopy(tb, s, "a", func(c *placement.Copy) { c.Stamp, c.Fenced = 2, false })
	denied(0, 1, 3)
	has(tb, e, "main", "m1")
	if after := usage(tb, e); after != before {
		tb.Fatalf("what is refused changes %+v to %+v", before, after)
	}
	w := write("main", "m2")
	w.Generation = 2
	if seq := put(tb, e, w); seq != 2 {
		tb.Fatalf("the next generation goes on with %d", seq)
	}
}

func fences(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	for round := range 5 {
		var hands sync.WaitGroup
		var mu sync.Mutex
		started := make(chan struct{}, 64)
		acknowledged := map[int64]bool{}
		for hand := range 4 {
			hands.Go(func() {
				for i := 0; ; i++ {
					r := answerTo(tb, send(e, write(fmt.Sprint("r", round), fmt.Sprintf("%d-%d", hand, i))))
					if r.err != nil {
						if fault.SlugOf(r.err) != "copy_fenced" {
							tb.Errorf("behind a fence there is %v", r.err)
						}
						return
					}
					mu.Lock()
					acknowledged[r.Seq] = true
					mu.Unlock()
					select {
					case started <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 16 {
			within(tb, started)
		}
		k := recopy(tb, s, "a", fenced)
		head, err := e.Head(tb.Context(), fmt.Sprint("r", round))
		ok(tb, err)
		sequence := usage(tb, e).Sequence
		ended(tb, &hands)
		after, err := e.Head(tb.Context(), fmt.Sprint("r", round))
		ok(tb, err)
		if after != head || int64(len(acknowledged)) != head || sequence != k.Sequence || usage(tb, e).Sequence != sequence {
			tb.Fatalf("the fence stood at %d (%d): then there are %d (%d), of which %d are acknowledged",
				head, k.Sequence, after, usage(tb, e).Sequence, len(acknowledged))
		}
		recopy(tb, s, "a", unfenced)
	}
}

func keepsAcknowledged(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	put(tb, e, write("main", "m1"))
	put(tb, e, write("other", "o1"))
	content := []byte("content")
	uploads(tb, e, content)
	ok(tb, e.Bury(tb.Context(), engine.Tombstone{Principal: "dev_9", Revision: 4}))
	put(tb, e, write("main", "m2"))
	before, messages := usage(tb, e), everything(tb, e, "main")
	kept := recopy(tb, s, "a", func(*placement.Copy) {})
	for range 2 {
		s = d.Open(tb, stream.DefaultLimits())
		if now := recopy(tb, s, "a", func(*placement.Copy) {}); now != kept {
			tb.Fatalf("kept is %+v, not %+v", now, kept)
		}
		e = opened(tb, s, "a")
		has(tb, e, "main", "m1", "m2")
		has(tb, e, "other", "o1")
		same(tb, everything(tb, e, "main"), messages)
		attached(tb, e, content)
		if graves, err := e.Buried(tb.Context()); err != nil || len(graves) != 1 || graves[0].Revision != 4 {
			tb.Fatalf("buried is %v %v", graves, err)
		}
		if after := usage(tb, e); after != before {
			tb.Fatalf("usage is %+v, not %+v", after, before)
		}
	}
	if seq := put(tb, e, write("main", "m3")); seq != 3 {
		tb.Fatalf("the route goes on with %d", seq)
	}
}

func same(tb testing.TB, got, want []engine.Message) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("there are %d messages, not %d", len(got), len(want))
	}
	for i, m := range got {
		w := want[i]
		if m.Route != w.Route || m.Seq != w.Seq || m.ID != w.ID || m.From != w.From || !m.At.Equal(w.At) || !bytes.Equal(m.Body, w.Body) {
			tb.Fatalf("message %d is %+v, not %+v", i, m, w)
		}
	}
}

func readsRanges(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	var want []engine.Message
	for i := range int64(20) {
		w := write("main", fmt.Sprint("m", i))
		w.Principal = fmt.Sprint("dev_", i%3)
		w.At = w.At.Add(time.Duration(i)*time.Second + 999) // of which less than a microsecond is not kept
		w.Body = []byte(`"` + string(bytes.Repeat([]byte("é"), int(i))) + `"`)
		put(tb, e, w)
		put(tb, e, write("other", fmt.Sprint("o", i)))
		want = append(want, engine.Message{
			Route: "main", Seq: i + 1, ID: w.ID, From: w.Principal, At: w.At.Truncate(time.Microsecond), Body: w.Body,
		})
	}
	three := int64(want[0].Size() + want[1].Size() + want[2].Size())
	for _, c := range []struct{ after, upTo, bytes, first, end int64 }{
		{0, 20, math.MaxInt32, 0, 20}, {-3, 20, math.MaxInt32, 0, 20}, {-9, -1, 99, 0, 0}, {5, 9, math.MaxInt32, 5, 9}, {19, 20, math.MaxInt32, 19, 20}, {0, 1 << 52, math.MaxInt32, 0, 20},
		{20, 1 << 52, 99, 20, 20}, {7, 7, 99, 7, 7}, {9, 7, 99, 9, 9}, {1 << 45, 1 << 52, 99, 20, 20}, {0, 20, 0, 0, 1}, {15, 20, 1, 15, 16},
		{0, 20, three, 0, 3}, {0, 20, three + int64(want[3].Size()) - 1, 0, 3}, {0, 20, three + int64(want[3].Size()), 0, 4},
	} {
		got, err := e.Read(tb.Context(), engine.Range{Route: "main", After: c.after, UpTo: c.upTo, Bytes: int(c.bytes)})
		ok(tb, err)
		same(tb, got, want[min(c.first, 20):min(c.end, 20)])
	}
	got, err := e.Read(tb.Context(), engine.Range{Route: "other", After: -7, UpTo: 2, Bytes: math.MaxInt})
	if err != nil || len(got) != 2 || got[0].ID != "o0" || got[1].ID != "o1" {
		tb.Fatalf("the beginning of another route is %+v %v", got, err)
	}
	has(tb, e, "none")
}

func readsAcknowledged(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	var hands sync.WaitGroup
	for hand := range 4 {
		hands.Go(func() {
			for i := range 10 {
				r := answerTo(tb, send(e, write("main", fmt.Sprintf("%d-%d", hand, i))))
				got, err := e.Read(tb.Context(), engine.Range{Route: "main", After: r.Seq - 1, UpTo: r.Seq, Bytes: 1})
				if r.err != nil || err != nil || len(got) != 1 || got[0].ID != fmt.Sprintf("%d-%d", hand, i) {
					tb.Errorf("what was acknowledged as %d is read as %v: %v %v", r.Seq, got, r.err, err)
				}
				if head, err := e.Head(tb.Context(), "main"); err != nil || head < r.Seq {
					tb.Errorf("after %d was acknowledged the head is %d %v", r.Seq, head, err)
				}
			}
		})
	}
	ended(tb, &hands)
}
