package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
	"berth/ports/internal/law"
)

// Whole is a disk with Engines on it.
type Whole interface {
	engine.Tenants
	engine.Engines
}

// EngineDisk opens what is kept on one disk, each time as a process does that starts: what is open already belongs to a
// process that has ended.
type EngineDisk struct {
	Open func(tb testing.TB, limits stream.Limits) Whole
}

// RunEngines checks an implementation of engine.Engines, and of engine.Tenants as far as both have to do with each other.
// disk makes an empty disk.
func RunEngines(t *testing.T, disk func(tb testing.TB) EngineDisk) {
	t.Helper()
	law.Run(t, engineLaws(), disk)
}

func engineLaws() []law.Law[EngineDisk] {
	return []law.Law[EngineDisk]{
		{Name: "opening makes nothing", Check: opensOnly},
		{Name: "sequences have no gaps", Check: noGaps},
		{Name: "each is answered once, in the order of sequences", Check: answersInOrder},
		{Name: "an id counts once", Check: countsOnce},
		{Name: "a message has bounds", Check: bounded},
		{Name: "a write needs the copy's generation", Check: needsGeneration},
		{Name: "a fence is ordered against every write", Check: fences},
		{Name: "a change that refuses leaves a copy alone", Check: refusesWhole},
		{Name: "a change sees the last sequence", Check: tellsSequence},
		{Name: "what is acknowledged survives", Check: keepsAcknowledged},
		{Name: "a range is read in order", Check: readsRanges},
		{Name: "what is acknowledged can be read", Check: readsAcknowledged},
		{Name: "usage counts what there is", Check: countsUsage},
		{Name: "the quota refuses what does not fit", Check: refusesBeyondQuota},
		{Name: "nothing is left of a copy that is gone", Check: leavesNothing},
		{Name: "a copy that is made anew is empty", Check: remakes},
		{Name: "closing ends what waits", Check: closes},
		{Name: "the highest tombstone stays", Check: buries},
		{Name: "tenants are apart", Check: apart},
		{Name: "who reads is told of an ended context", Check: readsEndWithContext},
		{Name: "everything goes on at a time", Check: together},
		{Name: "an attachment is there once it is whole", Check: attaches},
		{Name: "an upload goes on where it ended", Check: resumes},
		{Name: "content is what its digest says", Check: provesDigests},
		{Name: "an attachment has bounds", Check: boundsAttachments},
		{Name: "an attachment that is there is whole at once", Check: wholeAtOnce},
		{Name: "an upload is a write", Check: uploadsAreWrites},
		{Name: "attachments count in the quota", Check: attachmentsCount},
		{Name: "an upload ends with its Engine", Check: endsWithEngine},
		{Name: "unfinished uploads have a bound", Check: boundsUploads},
		{Name: "room is kept for what is on its way", Check: keepsRoom},
	}
}

// many is how long a law waits for an answer that it expects; only a broken implementation lets it pass.
const many = time.Minute

// fresh opens an empty disk, with an Engine of tenant "a" at generation 1.
func fresh(tb testing.TB, d EngineDisk) (Whole, engine.Engine) {
	tb.Helper()
	s := d.Open(tb, stream.DefaultLimits())
	return s, opened(tb, s, "a")
}

// opened makes a copy of a tenant, stamped 1, where there is none, and opens its Engine.
func opened(tb testing.TB, s Whole, tenant string) engine.Engine {
	tb.Helper()
	recopy(tb, s, tenant, func(c *placement.Copy) {
		if !c.Present {
			*c = placement.Copy{Present: true, Stamp: 1}
		}
	})
	e, err := s.Open(tb.Context(), tenant)
	ok(tb, err)
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// recopy changes a tenant's copy.
func recopy(tb testing.TB, s engine.Tenants, tenant string, change func(*placement.Copy)) engine.Kept {
	tb.Helper()
	k, err := s.Change(tb.Context(), tenant, func(k *engine.Kept) error { change(&k.Copy); return nil })
	ok(tb, err)
	return k
}

func fenced(c *placement.Copy)   { c.Fenced, c.FenceVersion = true, 9 }
func unfenced(c *placement.Copy) { c.Fenced = false }
func gone(c *placement.Copy)     { *c = placement.Copy{} }

// write is a message of which everything follows from its id.
func write(route, id string) engine.Write {
	return engine.Write{
		Generation: 1, Route: route, Principal: "dev_1", ID: id, At: time.Date(2031, 2, 3, 4, 5, 6, 789_123_000, time.UTC),
		Body: []byte(`{"id":"` + id + `"}`),
	}
}

type result struct {
	engine.Appended

	err error
}

// send appends without waiting for the answer.
func send(e engine.Engine, w engine.Write) <-chan result {
	out := make(chan result, 2)
	e.Append(w, func(a engine.Appended, err error) { out <- result{a, err} })
	return out
}

func answerTo(tb testing.TB, sent <-chan result) result {
	tb.Helper()
	select {
	case r := <-sent:
		return r
	case <-time.After(many):
		tb.Fatal("an append is not answered")
		return result{}
	}
}

// put appends a message and returns its sequence.
func put(tb testing.TB, e engine.Engine, w engine.Write) int64 {
	tb.Helper()
	r := answerTo(tb, send(e, w))
	ok(tb, r.err)
	if r.Before {
		tb.Fatalf("%s was there before", w.ID)
	}
	return r.Seq
}

// refuses proves that a message is refused, as kind and slug.
func refuses(tb testing.TB, e engine.Engine, w engine.Write, kind fault.Kind, slug string) {
	tb.Helper()
	isFault(tb, "the append", answerTo(tb, send(e, w)).err, kind, slug)
}

func isFault(tb testing.TB, what string, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		tb.Fatalf("%s ends with %v, not with %v %s", what, err, kind, slug)
	}
}

// everything reads a route from its beginning.
func everything(tb testing.TB, e engine.Engine, route string) []engine.Message {
	tb.Helper()
	out, err := e.Read(tb.Context(), engine.Range{Route: route, UpTo: math.MaxInt64, Bytes: math.MaxInt})
	ok(tb, err)
	return out
}

// has proves that a route consists of the messages of these ids.
func has(tb testing.TB, e engine.Engine, route string, ids ...string) {
	tb.Helper()
	var got []string
	for i, m := range everything(tb, e, route) {
		if got = append(got, m.ID); m.Seq != int64(i)+1 || m.Route != route {
			tb.Fatalf("message %d of %s is %d of %s", i+1, route, m.Seq, m.Route)
		}
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		tb.Fatalf("%s is %v, not %v", route, got, ids)
	}
	if head, err := e.Head(tb.Context(), route); err != nil || head != int64(len(ids)) {
		tb.Fatalf("%s ends at %d %v, not at %d", route, head, err, len(ids))
	}
}

func usage(tb testing.TB, e engine.Engine) engine.Usage {
	tb.Helper()
	u, err := e.Usage(tb.Context())
	ok(tb, err)
	return u
}

func opensOnly(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s := d.Open(tb, stream.DefaultLimits())
	ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: "seen", Generation: 1, Version: 1}}))
	for range 2 {
		for _, tenant := range []string{"a", "seen"} {
			_, err := s.Open(tb.Context(), tenant)
			isFault(tb, "opening "+tenant, err, fault.Unavailable, "copy_missing")
		}
	}
	if kept := all(tb, s); len(kept) != 1 || kept[0].Copy.Present {
		tb.Fatalf("opening left %+v", kept)
	}
	e := opened(tb, s, "a")
	if _, err := s.Open(tb.Context(), "a"); err == nil {
		tb.Fatal("an open Engine is opened again")
	}
	ok(tb, e.Close())
	again, err := s.Open(tb.Context(), "a")
	ok(tb, err)
	ok(tb, again.Close())
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	_, err = s.Open(ctx, "a")
	isFault(tb, "opening", err, fault.Unavailable, "request_ended")
}

func bounded(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	for slug, spoil := range map[string]func(*engine.Write){
		"publish_id_invalid": func(w *engine.Write) { w.ID = "" },
		"body_missing":       func(w *engine.Write) { w.Body = nil },
		"body_too_large":     func(w *engine.Write) { w.Body = make([]byte, stream.MaxBody+1) },
	} {
		w := write("main", "m")
		spoil(&w)
		refuses(tb, e, w, fault.Invalid, slug)
	}
	w := write("main", strings.Repeat("~", stream.MaxID))
	w.Body = []byte(`"` + strings.Repeat("x", stream.MaxBody-2) + `"`)
	put(tb, e, w)
	has(tb, e, "main", w.ID)
}

func refusesWhole(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	put(tb, e, write("main", "m1"))
	before := recopy(tb, s, "a", func(*placement.Copy) {})
	no := errors.New("no")
	for _, change := range []func(*placement.Copy){fenced, gone, func(c *placement.Copy) { c.Stamp, c.Migration = 7, "mig_1" }} {
		_, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error { change(&k.Copy); return no })
		if !errors.Is(err, no) {
			tb.Fatalf("a change that refuses ends with %v", err)
		}
	}
	if after := recopy(tb, s, "a", func(*placement.Copy) {}); after != before {
		tb.Fatalf("a change that refuses left %+v of %+v", after, before)
	}
	put(tb, e, write("main", "m2"))
	has(tb, e, "main", "m1", "m2")
}

func tellsSequence(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	last := int64(0)
	for i := range 3 {
		put(tb, e, write("main", fmt.Sprint(i)))
		var seen int64
		k, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error { seen = k.Sequence; return nil })
		ok(tb, err)
		if seen <= last || k.Sequence != seen || usage(tb, e).Sequence != seen {
			tb.Fatalf("after a commit a change sees sequence %d and returns %d, usage says %d; before it was %d",
				seen, k.Sequence, usage(tb, e).Sequence, last)
		}
		last = seen
	}
}
