package relay

import (
	"slices"
	"testing"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority"
)

// The polls for hints name each tenant that is held, once: one that came is named by a poll more, one that went by none, and
// one that came back by another.
func TestHintPollsNameWhatIsHeld(t *testing.T) {
	t.Parallel()
	s := &state{tenants: map[string]*tenant{
		"unknown": {told: new(placement.Assignment)}, "gone": {view: new(authorization.View)},
	}}
	hold := func(ids ...string) {
		for _, id := range ids {
			s.tenants[id] = &tenant{told: new(placement.Assignment), view: new(authorization.View)}
		}
	}
	r := &newsRound{Node: &Node{state: s}, named: map[string]struct{}{}}
	unnamed := func(what string, want ...string) []authority.Known {
		t.Helper()
		out := r.unnamed()
		if got := idsOf(out); !slices.Equal(got, want) {
			t.Fatalf("%s: %v is named by no poll, want %v", what, got, want)
		}
		return out
	}
	hold("b", "a")
	first := unnamed("at first", "a", "b")
	r.name(first)
	unnamed("once named")
	hold("c")
	second := unnamed("one more", "c")
	r.name(second)
	delete(s.tenants, "a")
	if kept := idsOf(r.current(first)); !slices.Equal(kept, []string{"b"}) {
		t.Fatalf("the first poll goes on with %v", kept)
	}
	hold("a")
	unnamed("one that came back", "a")
	if kept := idsOf(r.current(second)); !slices.Equal(kept, []string{"c"}) {
		t.Fatalf("the second poll goes on with %v", kept)
	}
	s.tenants["c"].told = nil
	if kept := r.current(second); len(kept) > 0 {
		t.Fatalf("the second poll goes on with %v", kept)
	}
}

func idsOf(all []authority.Known) (ids []string) {
	for _, k := range all {
		ids = append(ids, k.Tenant)
	}
	return ids
}
