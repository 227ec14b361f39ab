package placement

import (
	"testing"

	"pgregory.net/rapid"
)

// assigned is what node a is told of a tenant at generation 3 and version 9.
func assigned(role Role, state State, migration string) Assignment {
	a := Assignment{Tenant: "acme", Generation: 3, Version: 9, State: state, Role: role}
	if migration != "" {
		a.Migration = &AssignedMigration{ID: migration, Peer: "b"}
	}
	return a
}

// Each act belongs to one moment of a tenant's life, and to nothing else (P3, P4, P6, P7, P16).
func TestFollow(t *testing.T) {
	t.Parallel()
	own := Copy{Present: true, Stamp: 3}
	fenced := Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 8}
	before := Copy{Present: true, Stamp: 2}
	installed := Copy{Present: true, Stamp: 2, Fenced: true, FenceVersion: 7, Migration: "m"}
	first := assigned(RoleOwner, Active, "")
	first.Generation = 1
	firstFenced := assigned(RoleSource, Quiescing, "m")
	firstFenced.Generation = 1
	firstMoving := assigned(RoleSource, Copying, "m")
	firstMoving.Generation = 1
	for name, c := range map[string]struct {
		told Assignment
		copy Copy
		want Act
	}{
		"a stranger":                     {assigned(RoleStranger, Active, ""), own, Rest},
		"an owner with its copy":         {assigned(RoleOwner, Active, ""), own, Rest},
		"an owner without":               {assigned(RoleOwner, Active, ""), Copy{}, Rest},
		"the first place":                {first, Copy{}, MakeEmpty},
		"the first place, once more":     {first, Copy{Present: true, Stamp: 1}, Rest},
		"the first place, never served":  {firstFenced, Copy{}, MakeEmpty},
		"the first place, moving":        {firstMoving, Copy{}, Rest},
		"after an abort":                 {assigned(RoleOwner, Active, ""), fenced, Unfence},
		"an answer from before":          {assigned(RoleOwner, Active, ""), Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 9}, Rest},
		"adopted late":                   {assigned(RoleOwner, Active, ""), installed, Adopt},
		"preparing":                      {assigned(RoleSource, Active, "m"), own, ReportPrepared},
		"preparing without a copy":       {assigned(RoleSource, Active, "m"), Copy{}, ReportFailed},
		"preparing, fenced before":       {assigned(RoleSource, Active, "m"), fenced, Unfence},
		"preparing for":                  {assigned(RoleTarget, Active, "m"), Copy{}, ReportPrepared},
		"quiescing":                      {assigned(RoleSource, Quiescing, "m"), own, Fence},
		"quiescing, fenced for another":  {assigned(RoleSource, Quiescing, "m"), fenced, Fence},
		"quiescing, fenced":              {assigned(RoleSource, Quiescing, "m"), Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 9}, ReportQuiesced},
		"quiescing, fenced later":        {assigned(RoleSource, Quiescing, "m"), Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 10}, Rest},
		"quiescing without a copy":       {assigned(RoleSource, Quiescing, "m"), Copy{}, ReportFailed},
		"quiescing with another's":       {assigned(RoleSource, Quiescing, "m"), before, ReportFailed},
		"the source waits":               {assigned(RoleSource, Copying, "m"), fenced, Rest},
		"the source waits on":            {assigned(RoleSource, Switching, "m"), fenced, Rest},
		"copying":                        {assigned(RoleTarget, Copying, "m"), Copy{}, Install},
		"copying over a leftover":        {assigned(RoleTarget, Copying, "m"), before, Install},
		"copying over another migration": {assigned(RoleTarget, Copying, "m"), Copy{Present: true, Stamp: 3, Migration: "l", FenceVersion: 4}, Install},
		"copying over what is newer":     {assigned(RoleTarget, Copying, "m"), Copy{Present: true, Stamp: 4}, Rest},
		"copied":                         {assigned(RoleTarget, Copying, "m"), Copy{Present: true, Stamp: 3, Fenced: true, FenceVersion: 9, Migration: "m"}, ReportCopied},
		"the target waits":               {assigned(RoleTarget, Switching, "m"), installed, Rest},
		"switched to":                    {assigned(RoleTarget, Draining, "m"), installed, Adopt},
		"switched to, adopted":           {assigned(RoleTarget, Draining, "m"), own, Rest},
		"switched from":                  {assigned(RoleSource, Draining, "m"), before, Seal},
		"sealed":                         {assigned(RoleSource, Draining, "m"), Copy{Present: true, Stamp: 2, Fenced: true, FenceVersion: 8}, ReportDrained},
		"switched from nothing":          {assigned(RoleSource, Draining, "m"), Copy{}, ReportDrained},
	} {
		if got := Follow("a", c.told, c.copy); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

func drawCopy(t *rapid.T) Copy {
	return Copy{
		Present: rapid.Bool().Draw(t, "present"), Stamp: rapid.Int64Range(0, 4).Draw(t, "stamp"), Fenced: rapid.Bool().Draw(t, "fenced"),
		FenceVersion: rapid.Int64Range(0, 6).Draw(t, "fence version"), Migration: rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "migration"),
	}
}

func drawAssignment(t *rapid.T) Assignment {
	a := Assignment{
		Tenant: "acme", Generation: rapid.Int64Range(1, 4).Draw(t, "generation"), Version: rapid.Int64Range(1, 6).Draw(t, "version"),
		State: State(rapid.IntRange(0, 4).Draw(t, "state")), Role: Role(rapid.IntRange(0, 3).Draw(t, "role")),
	}
	if a.Role > RoleOwner {
		a.Migration = &AssignedMigration{ID: "m", Peer: "b"}
	}
	return a
}

// Whatever is told and whatever is on the disk, a few acts lead to a report or to rest, no act makes a copy writable that
// the assignment does not name this node as the writer of, and a fence is lifted by a higher version only.
func TestFollowComesToAnEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, c := drawAssignment(t), drawCopy(t)
		for range 4 {
			act := Follow("a", a, c)
			next := a.Done(act, c)
			h := a.Held("a")
			if next != c && next.Commits(h.Generation) && (h.Node != "a" || !h.writable()) && act != MakeEmpty {
				t.Fatalf("%s makes %+v of %+v, which may be written, by %+v", act, next, c, a)
			}
			if act == Unfence && a.Version <= c.FenceVersion {
				t.Fatalf("version %d lifts the fence of %d", a.Version, c.FenceVersion)
			}
			if next.FenceVersion < c.FenceVersion && act != Install && act != MakeEmpty {
				t.Fatalf("%s forgets the version of the fence", act)
			}
			if next == c {
				return
			}
			c = next
		}
		t.Fatalf("%+v is never done with %+v", a, c)
	})
}

// A later word takes the right to write away and never gives it (P8, P15); where node and generation stay, what is read is read
// on, as when a migration is aborted (A6).
func TestLaterWordsOnlyTakeAway(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := goodWarrant()
		w.Held.State = State(rapid.IntRange(0, 4).Draw(t, "held state"))
		a := drawAssignment(t)
		a.Version += 6
		latest := w.ReadsEnd() - 1
		was, read := w.Check(60e9) == nil, w.CheckRead(latest) == nil
		before := w.Held
		w.Held = w.Held.After(a.Held("a"))
		if w.Check(60e9) == nil && !was {
			t.Fatalf("%+v permits what %+v did not", a, before)
		}
		later := a.Generation > before.Generation || a.Generation == before.Generation && a.Version > before.Version
		if !later && w.Held != before {
			t.Fatalf("an earlier word changes what is held: %+v", w.Held)
		}
		if later && w.Check(60e9) == nil && (a.Held("a").Node != "a" || a.Generation != before.Generation) {
			t.Fatalf("%+v takes nothing away", a)
		}
		if stays := a.Held("a").Node == "a" && a.Generation == before.Generation; stays && read && w.CheckRead(latest) != nil {
			t.Fatalf("%+v keeps from reading what %+v did not", a, before)
		}
		if before.Accepts(w.Held) != true && w.Held != before && w.Held.AskedAt >= before.AskedAt {
			t.Fatalf("went back from %+v to %+v", before, w.Held)
		}
	})
}

// Reading rests on the snapshot and the copy alone: a migration that keeps the holder from writing does not keep it from
// reading, nor does a lease that ran out (A6).
func TestReadingRestsOnTheSnapshot(t *testing.T) {
	t.Parallel()
	w := goodWarrant()
	w.Held.State, w.Copy.Fenced, w.Granted = Quiescing, true, Granted{}
	must(t, w.CheckRead(60e9))
	for slug, change := range map[string]func(*Warrant){
		"not_holder":         func(w *Warrant) { w.Held.Node = "b" },
		"snapshot_too_old":   func(w *Warrant) { w.Held.AskedAt = -5e9 },
		"copy_missing":       func(w *Warrant) { w.Copy = Copy{} },
		"copy_stamp_differs": func(w *Warrant) { w.Copy.Stamp = 2 },
	} {
		w := w
		change(&w)
		refused(t, w.CheckRead(60e9), slug)
	}
	good := goodWarrant()
	must(t, good.CheckRead(good.ReadsEnd()-1))
	refused(t, good.CheckRead(good.ReadsEnd()), "snapshot_too_old")
}

// A beat that was overtaken, or one of a lease before, does not replace the lease that is counted (P9).
func TestGrantsGoForward(t *testing.T) {
	t.Parallel()
	g := Granted{Epoch: 2, SentAt: 10, For: 5}
	for _, c := range []struct {
		next Granted
		want bool
	}{
		{Granted{2, 10, 5}, true}, {Granted{2, 11, 1}, true}, {Granted{3, 10, 5}, true}, {Granted{2, 9, 50}, false}, {Granted{1, 11, 5}, false},
	} {
		if g.Accepts(c.next) != c.want {
			t.Errorf("%+v is taken: %v", c.next, !c.want)
		}
	}
	if !g.Alive(14) || g.Alive(15) || (Granted{}).Alive(0) {
		t.Error("the lease does not end sharp")
	}
}

// A leftover is what an earlier generation left behind, and nothing that could still be adopted or served (P16).
func TestLeftovers(t *testing.T) {
	t.Parallel()
	c := Copy{Present: true, Stamp: 3}
	if c.Leftover(3) || c.Leftover(2) || !c.Leftover(4) || (Copy{}).Leftover(9) {
		t.Error("the wrong copies are leftovers")
	}
}

// A lease of before is over only after twice its length, and never by a lease that was not granted (P10).
func TestLeasesOfBeforeAreOutlived(t *testing.T) {
	t.Parallel()
	g := Granted{Epoch: 1, SentAt: 50, For: 10}
	if g.Outlives(40, 60) || !g.Outlives(40, 61) || (Granted{}).Outlives(0, 1<<60) {
		t.Error("the wait has another end")
	}
}

// A source whose copy holds data fails where it would lead to a move of it, and does everything else as before; an empty one,
// and every other node, does all as before.
func TestWithoutMoving(t *testing.T) {
	t.Parallel()
	for act := Rest; act <= ReportFailed; act++ {
		want := act
		if act == ReportPrepared || act == Fence || act == ReportQuiesced {
			want = ReportFailed
		}
		if got := assigned(RoleSource, Quiescing, "m").WithoutMoving(act, 1); got != want {
			t.Errorf("%s with data is %s", act, got)
		}
		if got := assigned(RoleSource, Quiescing, "m").WithoutMoving(act, 0); got != act {
			t.Errorf("%s without data is %s", act, got)
		}
		if got := assigned(RoleTarget, Active, "m").WithoutMoving(act, 1); got != act {
			t.Errorf("%s of a target is %s", act, got)
		}
	}
}
