package placement

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func goodWarrant() Warrant {
	return Warrant{
		Self:    "a",
		Held:    Held{Node: "a", Generation: 3, Version: 9, State: Active, LeaseEpoch: 2, AskedAt: 50 * time.Second},
		Granted: Granted{Epoch: 2, SentAt: 55 * time.Second, For: 15 * time.Second},
		Copy:    Copy{Present: true, Stamp: 3},
		Bound:   65 * time.Second,
	}
}

// Each part of P8 and P16 is asked for, at a check and at the one after the commit.
func TestWarrantAsksForEachPart(t *testing.T) {
	t.Parallel()
	now := 60 * time.Second
	must(t, goodWarrant().Check(now))
	must(t, goodWarrant().Recheck(3, now))
	for name, c := range map[string]struct {
		change func(*Warrant)
		slug   string
	}{
		"another holder":       {func(w *Warrant) { w.Held.Node = "b" }, "not_holder"},
		"no snapshot":          {func(w *Warrant) { w.Held = Held{} }, "not_holder"},
		"quiescing":            {func(w *Warrant) { w.Held.State = Quiescing }, "not_holder"},
		"copying":              {func(w *Warrant) { w.Held.State = Copying }, "not_holder"},
		"switching":            {func(w *Warrant) { w.Held.State = Switching }, "not_holder"},
		"no lease":             {func(w *Warrant) { w.Granted = Granted{} }, "lease_run_out"},
		"lease over":           {func(w *Warrant) { w.Granted.SentAt = 45 * time.Second }, "lease_run_out"},
		"another epoch":        {func(w *Warrant) { w.Granted.Epoch = 3 }, "lease_epoch_changed"},
		"older epoch":          {func(w *Warrant) { w.Granted.Epoch = 1 }, "lease_epoch_changed"},
		"snapshot at bound":    {func(w *Warrant) { w.Held.AskedAt = -5 * time.Second }, "snapshot_too_old"},
		"no bound":             {func(w *Warrant) { w.Bound = 0 }, "snapshot_too_old"},
		"no copy":              {func(w *Warrant) { w.Copy = Copy{} }, "copy_missing"},
		"copy of before":       {func(w *Warrant) { w.Copy.Stamp = 2 }, "copy_stamp_differs"},
		"copy of later":        {func(w *Warrant) { w.Copy.Stamp = 4 }, "copy_stamp_differs"},
		"fenced":               {func(w *Warrant) { w.Copy.Fenced = true }, "copy_fenced"},
		"nothing known at all": {func(w *Warrant) { *w = Warrant{} }, "lease_run_out"},
	} {
		w := goodWarrant()
		c.change(&w)
		if err := w.Check(now); !isSlug(err, c.slug) {
			t.Errorf("%s: check says %v, want %s", name, err, c.slug)
		}
		if err := w.Recheck(w.Held.Generation, now); !isSlug(err, c.slug) {
			t.Errorf("%s: the second check says %v, want %s", name, err, c.slug)
		}
	}
	draining := goodWarrant()
	draining.Held.State = Draining
	must(t, draining.Check(now))
	refused(t, goodWarrant().Recheck(2, now), "generation_changed")
}

// The last instants: one before the end is still in, the end itself is out.
func TestWarrantEndsSharp(t *testing.T) {
	t.Parallel()
	w := goodWarrant()
	must(t, w.Check(70*time.Second-1))
	refused(t, w.Check(70*time.Second), "lease_run_out")
	w.Granted.For = time.Hour
	must(t, w.Check(115*time.Second-1))
	refused(t, w.Check(115*time.Second), "snapshot_too_old")
}

// Only a higher version lifts a fence (P15): the version at which it was set does not, nor any other sign.
func TestFenceIsLiftedByAHigherVersionOnly(t *testing.T) {
	t.Parallel()
	c := Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 8}
	h := Held{Node: "a", Generation: 3, Version: 9, State: Active}
	if !c.Unfences("a", h) {
		t.Fatal("a higher version does not lift it")
	}
	h.State = Draining
	if !c.Unfences("a", h) {
		t.Fatal("draining does not lift it")
	}
	for name, change := range map[string]func(*Copy, *Held){
		"equal version":   func(_ *Copy, h *Held) { h.Version = 8 },
		"lower version":   func(_ *Copy, h *Held) { h.Version = 7 },
		"another holder":  func(_ *Copy, h *Held) { h.Node = "b" },
		"quiescing again": func(_ *Copy, h *Held) { h.State = Quiescing },
		"copying":         func(_ *Copy, h *Held) { h.State = Copying },
		"switching":       func(_ *Copy, h *Held) { h.State = Switching },
		"other stamp":     func(c *Copy, _ *Held) { c.Stamp = 2 },
		"no copy":         func(c *Copy, _ *Held) { c.Present = false },
	} {
		copied, held := c, h
		change(&copied, &held)
		if copied.Unfences("a", held) {
			t.Errorf("%s lifts the fence", name)
		}
	}
}

// A copy is put only where nothing later is, and adopted only by the switch that it was installed for (P16).
func TestCopiesAreInstalledAndAdoptedInOrder(t *testing.T) {
	t.Parallel()
	h := Held{Node: "b", Generation: 3, Version: 9, State: Copying}
	for name, c := range map[string]struct {
		copy Copy
		want bool
	}{
		"nothing there":    {Copy{}, true},
		"lower stamp":      {Copy{Present: true, Stamp: 2, FenceVersion: 9}, true},
		"same stamp":       {Copy{Present: true, Stamp: 3, FenceVersion: 4}, true},
		"later stamp":      {Copy{Present: true, Stamp: 4, FenceVersion: 4}, false},
		"fenced later":     {Copy{Present: true, Stamp: 3, FenceVersion: 10}, false},
		"deleted leftover": {Copy{Stamp: 7, FenceVersion: 70}, true},
	} {
		if got := c.copy.Installs(h); got != c.want {
			t.Errorf("%s: installs %t", name, got)
		}
	}
	installed := Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 9, Migration: "mig_1"}
	after := Held{Node: "a", Generation: 4, Version: 11, State: Draining}
	if !installed.Adopts("a", after) {
		t.Fatal("the switch does not adopt the copy")
	}
	for name, change := range map[string]func(*Copy, *Held){
		"before the switch":   func(_ *Copy, h *Held) { h.Generation = 3 },
		"two switches later":  func(_ *Copy, h *Held) { h.Generation = 5 },
		"another holder":      func(_ *Copy, h *Held) { h.Node = "b" },
		"while copying":       func(_ *Copy, h *Held) { h.State = Copying },
		"made here, a source": func(c *Copy, _ *Held) { c.Migration = "" },
		"no copy":             func(c *Copy, _ *Held) { c.Present = false },
	} {
		copied, held := installed, after
		change(&copied, &held)
		if copied.Adopts("a", held) {
			t.Errorf("%s: adopted", name)
		}
	}
}

// Of any two answers at least one may follow the other, never does a lower generation or version follow a higher, and
// nothing makes a snapshot older (P15, A3).
func TestAcceptedAnswersNeverGoBack(t *testing.T) {
	t.Parallel()
	held := rapid.Custom(func(t *rapid.T) Held {
		n := rapid.Int64Range(0, 3)
		return Held{Generation: n.Draw(t, "generation"), Version: n.Draw(t, "version"), AskedAt: time.Duration(n.Draw(t, "asked"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		h, next := held.Draw(t, "held"), held.Draw(t, "next")
		ok := h.Accepts(next)
		switch {
		case next.Generation < h.Generation, next.Generation == h.Generation && next.Version < h.Version,
			next.Generation == h.Generation && next.Version == h.Version && next.AskedAt < h.AskedAt:
			if ok {
				t.Fatalf("%+v took %+v", h, next)
			}
		default:
			if !ok {
				t.Fatalf("%+v refused %+v", h, next)
			}
		}
	})
}
