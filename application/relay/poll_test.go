package relay

import (
	"testing"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority"
)

// The hint polls are renewed whenever they do not name exactly the tenants that are held, also where as many came as went.
func TestHintPollsNameWhatIsHeld(t *testing.T) {
	t.Parallel()
	held := func(ids ...string) *Node {
		s := &state{tenants: map[string]*tenant{
			"unknown": {told: new(placement.Assignment)}, "gone": {view: new(authorization.View)},
		}}
		for _, id := range ids {
			s.tenants[id] = &tenant{told: new(placement.Assignment), view: new(authorization.View)}
		}
		return &Node{state: s}
	}
	batches := [][]authority.Known{{{Tenant: "a"}, {Tenant: "b"}}, {{Tenant: "c"}}}
	for _, c := range []struct {
		held []string
		same bool
	}{
		{[]string{"a", "b", "c"}, true},
		{[]string{"a", "b"}, false},
		{[]string{"a", "b", "c", "d"}, false},
		{[]string{"a", "b", "d"}, false},
		{nil, false},
	} {
		if got := held(c.held...).holds(tenantsOf(batches)); got != c.same {
			t.Errorf("%v are held: same %v", c.held, got)
		}
	}
	for _, id := range []string{"unknown", "gone"} {
		if held().holds([]string{id}) {
			t.Errorf("%s counts as held", id)
		}
	}
	if !held().holds(nil) {
		t.Error("nothing is not the same as nothing")
	}
}
