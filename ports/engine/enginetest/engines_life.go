package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
)

func countsUsage(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	if u := usage(tb, e); u != (engine.Usage{}) {
		tb.Fatalf("an empty copy takes %+v", u)
	}
	want := engine.Usage{}
	for i, content := range []string{"", "one", "two", ""} {
		w := write("main", fmt.Sprint(i))
		want.Messages++
		want.Bytes += stream.Cost(w.Route, w.Principal, w.ID, w.Body)
		put(tb, e, w)
		before := usage(tb, e).Sequence
		if content != "" {
			uploads(tb, e, []byte(content))
			want.Attachments++
			want.Bytes += stream.AttachmentCost(int64(len(content)))
		}
		u := usage(tb, e)
		if grew := u.Sequence > before; grew != (content != "") || u.Sequence <= want.Sequence {
			tb.Fatalf("the sequence goes from %d over %d to %d", want.Sequence, before, u.Sequence)
		}
		if want.Sequence = u.Sequence; u != want {
			tb.Fatalf("usage is %+v, not %+v", u, want)
		}
	}
	answerTo(tb, send(e, write("main", "1"))) // again
	if u := usage(tb, e); u != want {
		tb.Fatalf("usage is %+v after a repeated message, not %+v", u, want)
	}
}

func refusesBeyondQuota(tb testing.TB, d EngineDisk) {
	tb.Helper()
	w := write("main", "m1")
	cost := stream.Cost(w.Route, w.Principal, w.ID, w.Body)
	limits := stream.Limits{Tenant: 4*cost - 1, Attachment: 1 << 20}
	s := d.Open(tb, limits)
	e := opened(tb, s, "a")
	for _, id := range []string{"m1", "m2", "m3"} {
		put(tb, e, write("main", id))
	}
	before := usage(tb, e)
	refuses(tb, e, write("main", "m4"), fault.Exhausted, "tenant_quota_exceeded")
	refuses(tb, e, write("newer", "m4"), fault.Exhausted, "tenant_quota_exceeded")
	if r := answerTo(tb, send(e, write("main", "m2"))); r.err != nil || !r.Before || r.Seq != 2 {
		tb.Fatalf("what is there already is answered with %+v where nothing more fits", r)
	}
	if after := usage(tb, e); after != before {
		tb.Fatalf("what is refused changes %+v to %+v", before, after)
	}
	put(tb, opened(tb, s, "b"), write("main", "m1"))
	limits.Tenant += cost
	e = opened(tb, d.Open(tb, limits), "a")
	if seq := put(tb, e, write("main", "m4")); seq != 4 {
		tb.Fatalf("with more room the route goes on with %d", seq)
	}
	if seq := put(tb, e, engine.Write{Generation: 1, Route: "r", Principal: "d", ID: "i", Body: []byte("1")}); seq != 1 {
		tb.Fatalf("what is small enough is %d on its route", seq)
	}
}

// filled is a copy with something of everything.
func filled(tb testing.TB, d EngineDisk) (Whole, engine.Engine, []byte) {
	tb.Helper()
	s, e := fresh(tb, d)
	content := []byte("content")
	put(tb, e, write("main", "m1"))
	uploads(tb, e, content)
	begins(tb, e, []byte("another content"), 5)
	ok(tb, e.Bury(tb.Context(), engine.Tombstone{Principal: "dev_9", Revision: 4}))
	return s, e, content
}

// isEmpty proves that nothing of what filled put in is in an Engine.
func isEmpty(tb testing.TB, e engine.Engine, content []byte) {
	tb.Helper()
	has(tb, e, "main")
	_, err := e.Stat(tb.Context(), digestOf(content))
	isFault(tb, "an attachment of before", err, fault.NotFound, "attachment_missing")
	uploaded(tb, e, []byte("another content"), 0)
	if graves, err := e.Buried(tb.Context()); err != nil || len(graves) != 0 {
		tb.Fatalf("buried is %v %v", graves, err)
	}
	if u := usage(tb, e); u != (engine.Usage{}) {
		tb.Fatalf("usage is %+v", u)
	}
	if seq := put(tb, e, write("main", "m1")); seq != 1 {
		tb.Fatalf("the first message is %d", seq)
	}
}

// isOver proves that an Engine does nothing any more.
func isOver(tb testing.TB, e engine.Engine) {
	tb.Helper()
	refuses(tb, e, write("main", "late"), fault.Unavailable, "engine_closed")
	_, read := e.Read(tb.Context(), engine.Range{Route: "main", UpTo: 9, Bytes: 9})
	_, head := e.Head(tb.Context(), "main")
	_, stat := e.Stat(tb.Context(), [32]byte{})
	_, content := e.Content(tb.Context(), [32]byte{})
	_, of := e.Uploaded(tb.Context(), "dev_1", [32]byte{})
	_, part := e.Upload(tb.Context(), partOfAll([]byte("x")), strings.NewReader("x"))
	_, buried := e.Buried(tb.Context())
	_, used := e.Usage(tb.Context())
	for what, err := range map[string]error{
		"Read": read, "Head": head, "Stat": stat, "Content": content, "Uploaded": of, "Upload": part, "Buried": buried, "Usage": used,
		"Bury": e.Bury(tb.Context(), engine.Tombstone{Principal: "x", Revision: 1}),
	} {
		isFault(tb, what, err, fault.Unavailable, "engine_closed")
	}
	ok(tb, e.Close())
}

func leavesNothing(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e, content := filled(tb, d)
	if k := recopy(tb, s, "a", gone); k.Copy != (placement.Copy{}) {
		tb.Fatalf("kept is %+v", k)
	}
	isOver(tb, e)
	_, err := s.Open(tb.Context(), "a")
	isFault(tb, "opening what is gone", err, fault.Unavailable, "copy_missing")
	s = d.Open(tb, stream.DefaultLimits())
	_, err = s.Open(tb.Context(), "a")
	isFault(tb, "opening what is gone", err, fault.Unavailable, "copy_missing")
	_, err = s.Change(tb.Context(), "a", func(k *engine.Kept) error { k.Sequence = 0; return nil })
	ok(tb, err)
	isEmpty(tb, opened(tb, s, "a"), content)
}

func remakes(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e, content := filled(tb, d)
	for i, remake := range []func(*engine.Kept){
		func(k *engine.Kept) {
			k.Copy, k.Sequence = placement.Copy{Present: true, Stamp: 1, Migration: "mig_1"}, 0
		},
		func(k *engine.Kept) { k.Sequence = 0 },
		func(k *engine.Kept) { k.Copy.Migration, k.Sequence = "mig_2", 0 },
	} {
		want, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error { remake(k); return nil })
		ok(tb, err)
		isOver(tb, e)
		s = d.Open(tb, stream.DefaultLimits())
		if kept := recopy(tb, s, "a", func(*placement.Copy) {}); kept != want || kept.Sequence != 0 {
			tb.Fatalf("%d: kept is %+v, not %+v", i, kept, want)
		}
		e = opened(tb, s, "a")
		isEmpty(tb, e, content)
	}
}

func closes(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	const count = 500
	answers := make([]<-chan result, count)
	var sending sync.WaitGroup
	half := make(chan struct{})
	sending.Go(func() {
		for i := range count {
			if i == count/2 {
				close(half)
			}
			answers[i] = send(e, write("main", fmt.Sprint(i)))
		}
	})
	within(tb, half)
	ok(tb, e.Close())
	ended(tb, &sending)
	var kept []string
	for i, sent := range answers {
		switch r := answerTo(tb, sent); {
		case r.err == nil:
			kept = append(kept, fmt.Sprint(i))
		case fault.SlugOf(r.err) != "engine_closed":
			tb.Fatalf("%d ends with %v", i, r.err)
		}
		if len(sent) > 0 {
			tb.Fatalf("%d is answered again", i)
		}
	}
	isOver(tb, e)
	has(tb, opened(tb, s, "a"), "main", kept...)
}

func grave(principal string, revision int64) engine.Tombstone {
	return engine.Tombstone{Principal: principal, Revision: revision}
}

func buries(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	recopy(tb, s, "a", fenced)
	before := usage(tb, e)
	for _, t := range []engine.Tombstone{grave("b", 3), grave("a", 7), grave("b", 5), grave("b", 4)} {
		ok(tb, e.Bury(tb.Context(), t))
	}
	graves, err := e.Buried(tb.Context())
	if err != nil || len(graves) != 2 || graves[0] != (engine.Tombstone{Principal: "a", Revision: 7}) ||
		graves[1] != (engine.Tombstone{Principal: "b", Revision: 5}) {
		tb.Fatalf("buried is %v %v", graves, err)
	}
	if after := usage(tb, e); after != before {
		tb.Fatalf("burying changes %+v to %+v, of which a manifest may be known", before, after)
	}
}

func apart(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, a := fresh(tb, d)
	b := opened(tb, s, "b")
	content := []byte("content")
	put(tb, a, write("main", "m1"))
	uploads(tb, a, content)
	isEmpty(tb, b, content)
	recopy(tb, s, "a", fenced)
	put(tb, b, write("main", "m2"))
	refuses(tb, a, write("main", "m2"), fault.Unavailable, "copy_fenced")
	recopy(tb, s, "a", gone)
	put(tb, b, write("main", "m3"))
	has(tb, b, "main", "m1", "m2", "m3")
}

func readsEndWithContext(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	_, read := e.Read(ctx, engine.Range{Route: "main", UpTo: 9, Bytes: 9})
	_, head := e.Head(ctx, "main")
	_, stat := e.Stat(ctx, [32]byte{})
	_, content := e.Content(ctx, [32]byte{})
	_, of := e.Uploaded(ctx, "dev_1", [32]byte{})
	_, part := e.Upload(ctx, partOfAll([]byte("x")), strings.NewReader("x"))
	_, buried := e.Buried(ctx)
	_, used := e.Usage(ctx)
	for what, err := range map[string]error{
		"Read": read, "Head": head, "Stat": stat, "Content": content, "Uploaded": of, "Upload": part, "Buried": buried, "Usage": used,
		"Bury": e.Bury(ctx, engine.Tombstone{Principal: "x", Revision: 1}),
	} {
		isFault(tb, what, err, fault.Unavailable, "request_ended")
	}
}

// together looks for what only shows while everything happens at once.
func together(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	var writers, others sync.WaitGroup
	over := make(chan struct{})
	goesOn := func(fn func(i int)) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
					fn(i)
				}
			}
		})
	}
	for hand := range 4 {
		writers.Go(func() {
			for i := range 50 {
				put(tb, e, write("main", fmt.Sprintf("%d-%d", hand, i)))
			}
		})
	}
	goesOn(func(int) {
		for i, m := range everything(tb, e, "main") {
			if m.Seq != int64(i)+1 {
				tb.Errorf("a reader sees %d at %d", m.Seq, i)
			}
		}
	})
	goesOn(func(i int) { uploads(tb, e, fmt.Append(nil, "content ", i)) })
	goesOn(func(i int) { ok(tb, e.Bury(tb.Context(), engine.Tombstone{Principal: "x", Revision: int64(i)})) })
	goesOn(func(int) { recopy(tb, s, "a", func(*placement.Copy) {}) })
	goesOn(func(int) { opened(tb, s, "b").Close() })
	ended(tb, &writers)
	close(over)
	ended(tb, &others)
	if u := usage(tb, e); u.Messages != 200 || len(everything(tb, e, "main")) != 200 {
		tb.Fatalf("200 messages left %+v", u)
	}
}
