package placement

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/ident"
)

func scheduled(t tb, holders ...string) *Purge {
	t.Helper()
	u, err := SchedulePurge("purge_1", First("acme", online(t, "a", "eu", Capacity{1, 1}).Node, at(0)), holders, time.Hour, at(1))
	must(t, err)
	return u
}

// Within its grace period a purge can be taken back, and nothing is deleted; after it there is no way back (P14).
func TestPurgeCanBeTakenBackOnlyWithinItsGrace(t *testing.T) {
	t.Parallel()
	u := scheduled(t, "a", "store")
	due := u.Record().DueAt
	if !due.Equal(ident.Instant(at(1).Add(time.Hour))) {
		t.Fatalf("due at %s", due)
	}
	refused(t, u.Start(due.Add(-time.Microsecond)), "grace_not_over")
	refused(t, u.Attest("a", at(2)), "purge_state_conflict")
	if u.Record().State != PurgeScheduled || len(u.Record().Awaiting) != 2 {
		t.Fatalf("a refusal changed it to %+v", u.Record())
	}
	cancelled := RestorePurge(u.Record())
	must(t, cancelled.Cancel(at(3)))
	refused(t, cancelled.Start(due), "purge_state_conflict")
	refused(t, cancelled.Attest("a", due), "purge_state_conflict")
	must(t, u.Start(due))
	refused(t, u.Cancel(due), "purge_state_conflict")
	refused(t, u.Start(due), "purge_state_conflict")
}

// It is done when every holder has attested, in any order and however often, and not before; nobody else's word counts.
func TestPurgeIsDoneWhenEveryHolderHasAttested(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		holders := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "store"}), 1, 8).Draw(t, "holders")
		u := scheduled(t, holders...)
		must(t, u.Start(u.Record().DueAt))
		open := map[string]bool{}
		for _, h := range holders {
			open[h] = true
		}
		for range 30 {
			h := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "store"}).Draw(t, "attests")
			must(t, u.Attest(h, at(2)))
			delete(open, h)
			r := u.Record()
			if (r.State == PurgeDone) != (len(open) == 0) || r.EndedAt.IsZero() != (len(open) > 0) || len(r.Awaiting) != len(open) {
				t.Fatalf("%v have not attested: %+v", open, r)
			}
		}
	})
}

func TestPurgeIsScheduledOnlyForWhatCanBePurged(t *testing.T) {
	t.Parallel()
	p := newBench(t).p
	for name, c := range map[string]struct {
		id      string
		holders []string
		grace   time.Duration
		slug    string
	}{
		"no id":          {"", []string{"a"}, time.Hour, "invalid_text"},
		"no grace":       {"purge_1", []string{"a"}, 0, "invalid_grace"},
		"negative grace": {"purge_1", []string{"a"}, -time.Hour, "invalid_grace"},
		"nobody":         {"purge_1", nil, time.Hour, "invalid_grace"},
		"somebody empty": {"purge_1", []string{"a", ""}, time.Hour, "invalid_grace"},
	} {
		if _, err := SchedulePurge(c.id, p, c.holders, c.grace, at(1)); fault.KindOf(err) != fault.Invalid || !isSlug(err, c.slug) {
			t.Errorf("%s: got %v, want %s", name, err, c.slug)
		}
	}
	for _, phase := range []Phase{PhasePreparing, PhaseQuiescing, PhaseCopying, PhaseSwitching, PhaseDraining} {
		_, err := SchedulePurge("purge_1", newBench(t).reach(Move, phase).p, []string{"a"}, time.Hour, at(1))
		refused(t, err, "migration_in_flight")
	}
}

// A record does not share its list with the purge, nor does the caller's list of holders.
func TestPurgeSharesNothing(t *testing.T) {
	t.Parallel()
	holders := []string{"b", "a"}
	u := scheduled(t, holders...)
	holders[0] = "x"
	u.Record().Awaiting[0] = "x"
	r := u.Record()
	again := RestorePurge(r)
	r.Awaiting[0] = "x"
	for _, u := range []*Purge{u, again} {
		if !slices.Equal(u.Record().Awaiting, []string{"a", "b"}) {
			t.Errorf("got %v", u.Record().Awaiting)
		}
	}
}
