package delivery_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func digest(text string) string { return delivery.Digest([]byte(text)) }

func anApp(name, version string) delivery.DesiredApp {
	return delivery.DesiredApp{
		App: name, Version: version, Release: digest(name + version), Manifests: delivery.BlobOf([]byte(name + version)),
		Images: []string{"registry.example/" + name + "@sha256:" + digest(version)}, Usage: entitlement.Usage{Apps: 1, Replicas: 2},
	}
}

// sealed signs a head the way tests need it: the digest depends on all that is told.
func sealed(t interface{ Fatal(...any) }, d *delivery.Desired, previous string) *delivery.Desired {
	payload, _, err := delivery.PayloadOf(d.Record(), previous).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return d.Sealed(delivery.Digest(payload), "token")
}

// history is a head with all that led to it.
type history struct {
	revisions map[int64]delivery.DesiredRecord
	head      *delivery.Desired
}

func newHistory() *history {
	return &history{revisions: map[int64]delivery.DesiredRecord{}, head: delivery.NewDesired("ins_1", "lic_1", start)}
}

func (h *history) copy() *history {
	c := &history{revisions: map[int64]delivery.DesiredRecord{}, head: delivery.RestoreDesired(h.head.Record())}
	maps.Copy(c.revisions, h.revisions)
	return c
}

func (h *history) take(t interface{ Fatal(...any) }, next *delivery.Desired) {
	h.head = sealed(t, next, h.head.Record().Digest)
	h.revisions[h.head.Record().Revision] = h.head.Record()
}

func drawEdit(t *rapid.T, head *delivery.Desired) delivery.Edit {
	var e delivery.Edit
	e.Standings = map[string]delivery.Standing{}
	for _, name := range []string{"a", "b", "c"} {
		before, there := head.App(name)
		switch rapid.SampledFrom([]string{"leave", "put", "again", "remove", "retry", "forget"}).Draw(t, name) {
		case "put":
			e.Put = append(e.Put, anApp(name, rapid.SampledFrom([]string{"1.0.0", "1.1.0", "2.0.0"}).Draw(t, "version")))
		case "again":
			if there && !before.Removed {
				e.Put = append(e.Put, before)
			}
		case "remove":
			if there {
				e.Remove = append(e.Remove, name)
			}
		case "retry":
			if there && !before.Removed {
				e.Retry = append(e.Retry, name)
			}
		case "forget":
			e.Forget = append(e.Forget, name)
		}
		if rapid.Bool().Draw(t, "stand") {
			e.Standings[name] = delivery.Standing{
				Suspended: rapid.Bool().Draw(t, "suspended"),
				RunUntil:  start.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "until")) * time.Hour),
			}
		}
	}
	return e
}

// A revision follows the one before by exactly one, and a head that says what it said before makes none.
func TestRevisionsGrowByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		for range rapid.IntRange(1, 20).Draw(t, "edits") {
			before := h.head.Record()
			next, diff, err := h.head.Apply(drawEdit(t, h.head), start)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				if len(diff) > 0 || before.Revision == 0 {
					t.Fatalf("no revision and yet %v at %d", diff, before.Revision)
				}
				continue
			}
			if got := next.Record().Revision; got != before.Revision+1 {
				t.Fatalf("revision %d after %d", got, before.Revision)
			}
			if next.Record().Digest != "" || next.Record().Token != "" {
				t.Fatal("a head that nobody signed carries a signature")
			}
			if before.Revision > 0 && len(diff) == 0 && !onlyUsage(before.Apps, next.Record().Apps) {
				t.Fatal("a revision without a difference")
			}
			if !reflect.DeepEqual(before, h.head.Record()) {
				t.Fatal("the head before was changed")
			}
			h.take(t, next)
		}
	})
}

func onlyUsage(before, after []delivery.DesiredApp) bool {
	return slices.EqualFunc(before, after, func(a, b delivery.DesiredApp) bool {
		return a.App == b.App && a.Version == b.Version && a.Since == b.Since
	})
}

// Once an agent enrolled, an app leaves the list only as a tombstone that was reported as removed; before, it just goes.
func TestNoAppDisappearsWithoutATombstone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		next, _, err := h.head.Apply(delivery.Edit{Put: []delivery.DesiredApp{anApp("a", "1.0.0")}}, start)
		if err != nil {
			t.Fatal(err)
		}
		h.take(t, next.HandedOut())
		for range rapid.IntRange(1, 20).Draw(t, "edits") {
			edit := drawEdit(t, h.head)
			next, diff, err := h.head.Apply(edit, start)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				continue
			}
			for _, before := range h.head.Record().Apps {
				_, there := next.App(before.App)
				if there {
					continue
				}
				if !slices.Contains(edit.Forget, before.App) || !before.Removed && !slices.Contains(edit.Remove, before.App) {
					t.Fatalf("%+v is gone by %+v", before, diff)
				}
				if !before.Removed {
					t.Fatalf("%q was forgotten in the revision that removed it", before.App)
				}
			}
			h.take(t, next)
		}
	})
}

func TestBeforeAnyAgentWhatIsRemovedJustGoes(t *testing.T) {
	t.Parallel()
	d := delivery.NewDesired("ins_1", "lic_1", start)
	d, _, err := d.Apply(delivery.Edit{Put: []delivery.DesiredApp{anApp("a", "1.0.0")}}, start)
	if err != nil {
		t.Fatal(err)
	}
	d, diff, err := d.Apply(delivery.Edit{Remove: []string{"a"}}, start)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Record().Apps) != 0 || len(diff) != 1 || diff[0].What != delivery.DiffForgotten {
		t.Fatalf("%+v, %+v", d.Record().Apps, diff)
	}
}

// What was suspended comes back exactly as it was, with the same key of quarantine (E6, DESIGN §14).
func TestSuspendAndRenewRestoresExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			next, _, err := h.head.Apply(drawEdit(t, h.head), start)
			if err != nil {
				t.Fatal(err)
			}
			if next != nil {
				h.take(t, next)
			}
		}
		before := h.head.Record().Apps
		suspend := delivery.Edit{Standings: map[string]delivery.Standing{}}
		renew := delivery.Edit{Standings: map[string]delivery.Standing{}}
		for _, a := range before {
			suspend.Standings[a.App] = delivery.Standing{Suspended: true, RunUntil: start}
			renew.Standings[a.App] = delivery.Standing{Suspended: a.Suspended, RunUntil: a.RunUntil}
		}
		for _, e := range []delivery.Edit{suspend, renew} {
			next, _, err := h.head.Apply(e, start)
			if err != nil {
				t.Fatal(err)
			}
			if next != nil {
				h.take(t, next)
			}
		}
		if after := h.head.Record().Apps; !reflect.DeepEqual(before, after) {
			t.Fatalf("before %+v\nafter %+v", before, after)
		}
	})
}

// Only version, digests and parameters move the key of quarantine; standings and retries do not.
func TestSinceFollowsTheSubstanceOnly(t *testing.T) {
	t.Parallel()
	h := newHistory()
	step := func(e delivery.Edit) delivery.DesiredApp {
		t.Helper()
		next, _, err := h.head.Apply(e, start)
		if err != nil || next == nil {
			t.Fatal("no revision", err)
		}
		h.take(t, next)
		app, _ := h.head.App("a")
		return app
	}
	app := anApp("a", "1.0.0")
	if got := step(delivery.Edit{Put: []delivery.DesiredApp{app}}); got.Since != 1 {
		t.Fatalf("since %d", got.Since)
	}
	if got := step(delivery.Edit{Standings: map[string]delivery.Standing{"a": {Suspended: true}}}); got.Since != 1 || !got.Suspended {
		t.Fatalf("suspended: %+v", got)
	}
	if got := step(delivery.Edit{Retry: []string{"a"}}); got.Since != 1 || got.Retry != 1 {
		t.Fatalf("retried: %+v", got)
	}
	app.Parameters = map[string]string{"replicas": "3"}
	if got := step(delivery.Edit{Put: []delivery.DesiredApp{app}}); got.Since != 4 || got.Retry != 1 || !got.Suspended {
		t.Fatalf("put anew: %+v", got)
	}
}

type shown struct {
	Version   string
	Suspended bool
	Removed   bool
}

// played is what a revision's differences make of what was before.
func played(t *rapid.T, before map[string]shown, diff []delivery.Difference) map[string]shown {
	after := maps.Clone(before)
	for _, d := range diff {
		if before[d.App].Version != d.Before {
			t.Fatalf("%+v on %+v", d, before[d.App])
		}
		s := after[d.App]
		s.Version = d.After
		switch d.What {
		case delivery.DiffSuspended, delivery.DiffResumed:
			s.Suspended = d.What == delivery.DiffSuspended
		case delivery.DiffInstalled, delivery.DiffRemoved:
			s.Suspended, s.Removed = false, d.What == delivery.DiffRemoved
		}
		after[d.App] = s
		if d.What == delivery.DiffForgotten {
			delete(after, d.App)
		}
	}
	return after
}

// What the kept differences say, played from the first revision on, is what each revision has.
func TestDifferencesPlayedGiveTheApps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, state := newHistory(), map[string]shown{}
		for range rapid.IntRange(1, 20).Draw(t, "edits") {
			next, diff, err := h.head.Apply(drawEdit(t, h.head), start)
			if err != nil {
				t.Fatal(err)
			}
			if next == nil {
				continue
			}
			if h.head.Record().Revision == 1 {
				next = next.HandedOut()
			}
			h.take(t, next)
			state = played(t, state, diff)
			want := map[string]shown{}
			for _, a := range h.head.Record().Apps {
				want[a.App] = shown{Removed: a.Removed, Suspended: a.Suspended}
				if !a.Removed {
					want[a.App] = shown{Version: a.Version, Suspended: a.Suspended}
				}
			}
			if !reflect.DeepEqual(state, want) {
				t.Fatalf("played %+v\n is %+v\nby %+v", state, want, diff)
			}
		}
	})
}

// An older copy of the database, whatever is done with it, tells an agent that went further in the lost history nothing
// but that it is behind: never a list in which something is removed.
func TestAnOlderHistoryNeverAnswersAnAgentThatWentFurther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		grow := func(h *history, times int) {
			for range times {
				next, _, err := h.head.Apply(drawEdit(t, h.head), start.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "later"))*time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				if next != nil {
					h.take(t, next)
				}
			}
		}
		grow(h, 1)
		h.take(t, func() *delivery.Desired {
			next, _, err := h.head.Apply(delivery.Edit{Put: []delivery.DesiredApp{anApp("z", "1.0.0")}}, start)
			if err != nil {
				t.Fatal(err)
			}
			return next.HandedOut()
		}())
		grow(h, rapid.IntRange(0, 5).Draw(t, "shared"))
		older := h.copy()
		grow(h, rapid.IntRange(1, 6).Draw(t, "lost"))
		grow(older, rapid.IntRange(0, 12).Draw(t, "since the restore"))

		agent := delivery.HeldOf(h.head.Record())
		verdict := agent.Verdict(older.head.Record(), older.revisions[agent.Revision].Digest)
		same := older.revisions[agent.Revision].Digest == agent.Digest
		if !same && (verdict == delivery.HeldOlder || verdict == delivery.HeldUnchanged) {
			t.Fatalf("%+v is %s of %+v", agent, verdict, older.head.Record())
		}
		if same && verdict != delivery.HeldOlder && verdict != delivery.HeldUnchanged {
			t.Fatalf("%+v of this very history is %s", agent, verdict)
		}
	})
}

// After a leap the agent is told, and what it is told names nothing as removed and is beyond all that was proved.
func TestALeapTellsAgainAndRemovesNothing(t *testing.T) {
	t.Parallel()
	h := newHistory()
	next, _, err := h.head.Apply(delivery.Edit{Put: []delivery.DesiredApp{anApp("a", "1.0.0"), anApp("b", "1.0.0")}}, start)
	if err != nil {
		t.Fatal(err)
	}
	h.take(t, next.HandedOut())
	next, _, err = h.head.Apply(delivery.Edit{Remove: []string{"b"}}, start)
	if err != nil {
		t.Fatal(err)
	}
	h.take(t, next)

	agent := delivery.Held{Revision: 40, Digest: digest("elsewhere")}
	frozen, changed := h.head.Proved(agent, "")
	if !changed || !frozen.Record().Frozen || frozen.Record().Proven != 40 {
		t.Fatalf("%+v", frozen.Record())
	}
	if _, _, err := frozen.Apply(delivery.Edit{Retry: []string{"a"}}, start); fault.SlugOf(err) != "desired_state_frozen" {
		t.Fatal(err)
	}
	if again, changed := frozen.Proved(agent, ""); changed || again.Record().Proven != 40 {
		t.Fatal("the same proof changed something again")
	}
	if claimed, _ := frozen.Claimed(1 << 40); claimed.Record().Proven != 40 {
		t.Fatal("a claim counts as a proof")
	}
	leapt, _, err := frozen.Leap(start)
	if err != nil {
		t.Fatal(err)
	}
	got := leapt.Record()
	if got.Revision != 40+delivery.LeapBy || got.Frozen || len(got.Apps) != 1 || got.Apps[0].App != "a" {
		t.Fatalf("%+v", got)
	}
	if v := agent.Verdict(got, ""); v != delivery.HeldOlder {
		t.Fatalf("after the leap the agent is %s", v)
	}
}

func TestEntityTags(t *testing.T) {
	t.Parallel()
	held := delivery.Held{Revision: 7, Digest: digest("x")}
	if got, ok := delivery.ParseHeld(held.ETag()); !ok || got != held {
		t.Fatalf("%v %v", got, ok)
	}
	for _, bad := range []string{
		"", `"`, `""`, `W/` + held.ETag(), `"0-` + held.Digest + `"`, `"07-` + held.Digest + `"`, `"-1-` + held.Digest + `"`,
		`"7"`, `"7-"`, `"7-` + held.Digest[1:] + `"`, `"9007199254740992-` + held.Digest + `"`, held.ETag() + " ",
		`"7-` + fmt.Sprintf("%064X", 255) + `"`, `"+7-` + held.Digest + `"`,
	} {
		if got, ok := delivery.ParseHeld(bad); ok {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
}
