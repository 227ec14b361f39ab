package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
	"berth/ports/internal/law"
)

// Disk opens what is kept on one disk, each time as a process does that starts: what is open already belongs to a process
// that has ended.
type Disk struct {
	Open func(tb testing.TB) engine.Tenants
}

// Run checks an implementation of engine.Tenants. disk makes an empty disk.
func Run(t *testing.T, disk func(tb testing.TB) Disk) {
	t.Helper()
	law.Run(t, tenantLaws(), disk)
}

func tenantLaws() []law.Law[Disk] {
	return []law.Law[Disk]{
		{Name: "the storage is named once", Check: namedOnce},
		{Name: "home is what was settled last", Check: settles},
		{Name: "what was seen never falls", Check: neverFalls},
		{Name: "seeing is one commit", Check: seesTogether},
		{Name: "seeing leaves the copy alone", Check: leavesCopies},
		{Name: "a change is whole or nothing", Check: wholeOrNothing},
		{Name: "a change can not lower what was seen", Check: changesKeepSeen},
		{Name: "changes of a tenant come one after another", Check: serial},
		{Name: "everything survives a restart", Check: survives},
		{Name: "all comes in the order of ids", Check: ordered},
		{Name: "an ended context is told", Check: endsWithContext},
	}
}

func copies() placement.Copy {
	return placement.Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 9, Migration: "mig_1"}
}

func set(tb testing.TB, s engine.Tenants, k engine.Kept) {
	tb.Helper()
	_, err := s.Change(tb.Context(), k.Tenant, func(now *engine.Kept) error { *now = k; return nil })
	ok(tb, err)
}

func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func all(tb testing.TB, s engine.Tenants) (out []engine.Kept) {
	tb.Helper()
	ok(tb, s.All(tb.Context(), func(k engine.Kept) error { out = append(out, k); return nil }))
	return out
}

func is(tb testing.TB, s engine.Tenants, want ...engine.Kept) {
	tb.Helper()
	if got := all(tb, s); !slices.Equal(got, want) {
		tb.Fatalf("kept is %+v, not %+v", got, want)
	}
}

func kept(tenant string, generation, version int64, c placement.Copy) engine.Kept {
	return engine.Kept{Seen: engine.Seen{Tenant: tenant, Generation: generation, Version: version}, Copy: c}
}

func namedOnce(tb testing.TB, d Disk) {
	tb.Helper()
	for i, s := range []engine.Tenants{d.Open(tb), d.Open(tb)} {
		for range 2 {
			id, err := s.StorageID(tb.Context(), func() string { return fmt.Sprintf("disk_%d", i) })
			ok(tb, err)
			if id != "disk_0" {
				tb.Fatalf("the storage is %q by now", id)
			}
		}
	}
}

func settles(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	_, err := s.StorageID(tb.Context(), func() string { return "disk" })
	ok(tb, err)
	for _, want := range []engine.Home{{}, {Place: "here", Generation: 7}, {Place: "there", Generation: 2}, {}} {
		if want != (engine.Home{}) {
			ok(tb, s.Settle(tb.Context(), want))
			s = d.Open(tb)
		} else {
			ok(tb, s.Settle(tb.Context(), want))
		}
		if got, err := s.Home(tb.Context()); err != nil || got != want {
			tb.Fatalf("home is %+v %v, not %+v", got, err, want)
		}
	}
}

func neverFalls(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	for _, c := range []struct{ generation, version, wantGeneration, wantVersion int64 }{
		{2, 5, 2, 5}, {1, 9, 2, 5}, {2, 4, 2, 5}, {2, 5, 2, 5}, {2, 6, 2, 6}, {3, 1, 3, 1}, {2, 99, 3, 1},
	} {
		ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: "a", Generation: c.generation, Version: c.version}}))
		is(tb, s, kept("a", c.wantGeneration, c.wantVersion, placement.Copy{}))
	}
}

func seesTogether(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: "b", Generation: 1, Version: 2}, {Tenant: "a", Generation: 3, Version: 4}}))
	ok(tb, s.Saw(tb.Context(), nil))
	is(tb, s, kept("a", 3, 4, placement.Copy{}), kept("b", 1, 2, placement.Copy{}))
}

func leavesCopies(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	want := kept("a", 3, 9, copies())
	want.Sequence = 7
	set(tb, s, want)
	ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: "a", Generation: 4, Version: 10}}))
	want.Seen = engine.Seen{Tenant: "a", Generation: 4, Version: 10}
	is(tb, s, want)
}

func wholeOrNothing(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	want := kept("a", 3, 9, copies())
	set(tb, s, want)
	refusal := errors.New("no")
	_, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error {
		if *k != want {
			tb.Errorf("a change sees %+v, not %+v", *k, want)
		}
		k.Copy, k.Sequence = placement.Copy{}, 99
		return refusal
	})
	if !errors.Is(err, refusal) {
		tb.Fatalf("a change that refuses ends with %v", err)
	}
	_, err = s.Change(tb.Context(), "new", func(*engine.Kept) error { return refusal })
	if !errors.Is(err, refusal) {
		tb.Fatalf("a change that refuses ends with %v", err)
	}
	is(tb, s, want)
	got, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error { k.Sequence = 8; return nil })
	want.Sequence = 8
	if err != nil || got != want {
		tb.Fatalf("a change returns %+v %v, not %+v", got, err, want)
	}
	is(tb, s, want)
}

func changesKeepSeen(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	set(tb, s, kept("a", 3, 9, copies()))
	got, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error {
		k.Seen = engine.Seen{Tenant: "other", Generation: 3, Version: 8}
		return nil
	})
	if want := kept("a", 3, 9, copies()); err != nil || got != want {
		tb.Fatalf("a change that lowers ends with %+v %v", got, err)
	}
	is(tb, s, kept("a", 3, 9, copies()))
}

func serial(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	var hands sync.WaitGroup
	for range 8 {
		hands.Go(func() {
			for range 10 {
				if _, err := s.Change(tb.Context(), "a", func(k *engine.Kept) error { k.Sequence++; return nil }); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	hands.Wait()
	if got := all(tb, s); len(got) != 1 || got[0].Sequence != 80 {
		tb.Fatalf("80 changes left %+v", got)
	}
}

func survives(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	want := []engine.Kept{kept("a", 3, 9, copies()), kept("b", 1, 1, placement.Copy{Present: true, Stamp: 1})}
	want[1].Sequence = 5
	for _, k := range want {
		set(tb, s, k)
	}
	ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: "c", Generation: 1 << 52, Version: 1<<53 - 1}}))
	is(tb, d.Open(tb), append(want, kept("c", 1<<52, 1<<53-1, placement.Copy{}))...)
}

func ordered(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	for _, id := range []string{"m", "a", "z", "a-b", "0"} {
		ok(tb, s.Saw(tb.Context(), []engine.Seen{{Tenant: id, Generation: 1, Version: 1}}))
	}
	var got []string
	end := errors.New("enough")
	err := s.All(tb.Context(), func(k engine.Kept) error {
		if got = append(got, k.Tenant); len(got) == 4 {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) || !slices.Equal(got, []string{"0", "a", "a-b", "m"}) {
		tb.Fatalf("all is %v, %v", got, err)
	}
}

func endsWithContext(tb testing.TB, d Disk) {
	tb.Helper()
	s := d.Open(tb)
	set(tb, s, kept("a", 1, 1, placement.Copy{}))
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	_, named := s.StorageID(ctx, func() string { return "disk" })
	_, changed := s.Change(ctx, "a", func(k *engine.Kept) error { k.Sequence = 1; return nil })
	for what, err := range map[string]error{
		"StorageID": named, "Change": changed, "Saw": s.Saw(ctx, []engine.Seen{{Tenant: "a", Generation: 9}}),
		"All": s.All(ctx, func(engine.Kept) error { return nil }), "Settle": s.Settle(ctx, engine.Home{Place: "x"}),
	} {
		if fault.SlugOf(err) != "request_ended" || fault.KindOf(err) != fault.Unavailable {
			tb.Errorf("%s answers an ended context with %v", what, err)
		}
	}
	is(tb, s, kept("a", 1, 1, placement.Copy{}))
}
