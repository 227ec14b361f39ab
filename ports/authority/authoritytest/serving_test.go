package authoritytest_test

import (
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/authority/authoritytest"
	"berth/ports/clock/clocktest"
)

func world() (*authoritytest.Control, *clocktest.Fake, *authoritytest.Client) {
	clock := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	terms := placement.DefaultLeaseTerms()
	p := authoritytest.New(clock, terms, terms)
	p.AddNode("n0", 10)
	p.AddNode("n1", 10)
	p.AddTenant("t0", "n0")
	return p, clock, &authoritytest.Client{Control: p, Node: "n0"}
}

// A revoke through the node raises the revision by one, and again answers the same; the last owner stays, a stranger's
// node and a member get nowhere, and another generation is refused (A5).
func TestRevokeByNode(t *testing.T) {
	t.Parallel()
	p, _, c := world()
	owner, second, member := p.Pair("t0", authorization.Owner), p.Pair("t0", authorization.Owner), p.Pair("t0", authorization.Member)
	ask := func(c *authoritytest.Client, generation int64, principal, by string) (int64, error) {
		return c.Revoke(t.Context(), authority.Revoke{Tenant: "t0", Generation: generation, Principal: principal, AskedBy: by})
	}
	before := p.Revision("t0")
	for range 2 {
		if got, err := ask(c, 1, second.Principal, owner.Principal); err != nil || got != before+1 {
			t.Fatalf("revoked at %d, %v", got, err)
		}
	}
	stranger := &authoritytest.Client{Control: p, Node: "n1"}
	for name, c := range map[string]struct {
		c             *authoritytest.Client
		generation    int64
		principal, by string
		slug          string
	}{
		"last owner": {c, 1, owner.Principal, owner.Principal, "last_owner"}, "by a member": {c, 1, owner.Principal, member.Principal, "revoke_not_allowed"},
		"by nobody": {c, 1, owner.Principal, "", "revoke_not_allowed"}, "of nobody": {c, 1, "nobody", owner.Principal, "principal_not_found"},
		"behind": {c, 0, member.Principal, owner.Principal, "generation_stale"}, "ahead": {c, 2, member.Principal, owner.Principal, "generation_ahead"},
		"stranger": {stranger, 1, member.Principal, owner.Principal, "not_found"},
	} {
		if _, err := ask(c.c, c.generation, c.principal, c.by); fault.SlugOf(err) != c.slug {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := c.Snapshot(t.Context(), "t0", 1)
	if err != nil || s.Revision != before+1 || len(s.Principals) != 3 || len(s.Handles) != 3 {
		t.Fatalf("the snapshot is %+v, %v", s, err)
	}
	d, err := c.Poll(t.Context(), []authority.Known{{Tenant: "t0", Generation: 1, Revision: before}}, 0)
	if err != nil || len(d) != 1 || d[0].Result != authority.HasDelta || len(d[0].Delta.Changes) != 2 {
		t.Fatalf("the delta is %+v, %v", d, err)
	}
	if _, err := p.RevokePrincipal("t0", owner.Principal); err != nil {
		t.Errorf("an operator revokes the last owner: %v", err)
	}
}

// A rotated key verifies until its window ends; one that is compromised verifies nothing from then on (I6).
func TestKeysHaveWindows(t *testing.T) {
	t.Parallel()
	p, clock, c := world()
	kids := func() map[string]bool {
		set, err := c.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for kid, k := range set {
			out[kid] = k.VerifyUntil.After(clock.Now())
		}
		return out
	}
	first := p.RotateKey()
	second := p.RotateKey()
	third := p.PublishKey()
	if k := kids(); len(k) != 3 || !k[first.KID] || !k[second.KID] || !k[third.KID] {
		t.Fatalf("the keys are %v", k)
	}
	p.CompromiseKey(second.KID)
	clock.Advance(p.Windows.VerifyAfter)
	if k := kids(); len(k) != 1 || !k[third.KID] {
		t.Fatalf("after the first one's window the keys are %v", k)
	}
}

// The route names the holder and its address, also after the tenant moved, with a higher version; peers are who has a
// certificate in force.
func TestPeersAndRoutes(t *testing.T) {
	t.Parallel()
	p, _, c := world()
	if _, err := c.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s", Advertise: "n0.test:1"}); err != nil {
		t.Fatal(err)
	}
	r, err := (&authoritytest.Client{Control: p, Node: "n1"}).Route(t.Context(), "t0")
	if err != nil || r != (authority.Route{Tenant: "t0", Node: "n0", Generation: 1, Version: 1, Address: "n0.test:1", SPIFFEID: authoritytest.SPIFFEID("n0").String()}) {
		t.Fatalf("the route is %+v, %v", r, err)
	}
	if _, err := c.Route(t.Context(), "none"); fault.SlugOf(err) != "not_found" {
		t.Errorf("no tenant: %v", err)
	}
	if got, err := c.Peers(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("without certificates the peers are %v, %v", got, err)
	}
}
