package authorization_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// bound is the hard bound of the node in these tests; the other durations are of its size.
const bound = 10 * time.Second

// exchange is a request of the node and, once the control plane read the state for it, the answer. An answered one may
// be delivered again and again, or never.
type exchange struct {
	kind     string // "full", "delta" or "poll"
	sentAt   time.Duration
	from     authorization.Position
	answered bool
	full     *authorization.Snapshot
	delta    *authorization.Delta
	left     bool // the poll's answer left the tenant out
}

// network is a control plane and one node, with answers on their way that may be lost, delayed, doubled and reordered.
type network struct {
	*world
	t         *rapid.T
	place     authorization.Place
	elapsed   time.Duration // the node's monotonic clock
	view      *authorization.View
	exchanges []*exchange
	revokedAt map[string]time.Duration
	refused   map[string]bool // the view said that the principal is revoked
	position  authorization.Position
}

func (n *network) newView(mark authorization.Position) {
	n.view = authorization.NewView(authorization.ViewConfig{Tenant: tenantID, Region: regionID, Bound: bound, Mark: mark})
	n.refused = map[string]bool{}
}

func (n *network) actions() map[string]func(*rapid.T) {
	on := func(action func()) func(*rapid.T) { return func(t *rapid.T) { n.t = t; action() } }
	return map[string]func(*rapid.T){
		"tick":    on(func() { n.elapsed += time.Duration(rapid.IntRange(1, 4).Draw(n.t, "seconds")) * time.Second }),
		"ask":     on(n.ask),
		"answer":  on(n.answer),
		"deliver": on(n.deliver),
		"prompt":  on(n.prompt),
		"change":  on(func() { n.change() }),
		"revoke":  on(n.revokeOne),
		"move":    on(n.move),
		"restart": on(n.restart),
		"":        on(n.check),
	}
}

func (n *network) ask() {
	kind := rapid.SampledFrom([]string{"full", "delta", "poll"}).Draw(n.t, "kind")
	n.exchanges = append(n.exchanges, &exchange{kind: kind, sentAt: n.elapsed, from: n.view.Position()})
}

func (n *network) pickExchange(answered bool) *exchange {
	var fit []*exchange
	for _, e := range n.exchanges {
		if e.answered == answered {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		n.t.Skip("nothing is on its way")
	}
	return rapid.SampledFrom(fit).Draw(n.t, "exchange")
}

func (n *network) answer() { n.read(n.pickExchange(false)) }

func (n *network) read(e *exchange) {
	e.answered = true
	switch e.kind {
	case "full":
		s := n.snapshot(n.place)
		e.full = &s
	case "delta":
		if d, err := authorization.DeltaSince(n.tenant, n.place.Generation, e.from.Revision, n.since(e.from.Revision)); err == nil {
			e.delta = &d
		}
	case "poll":
		e.left = e.from.Generation == n.place.Generation && e.from.Revision == n.tenant.Revision()
	}
}

func (n *network) deliver() { n.take(n.pickExchange(true)) }

func (n *network) take(e *exchange) {
	before := n.view.Held()
	var err error
	switch {
	case e.full != nil:
		err = n.view.Install(*e.full, e.sentAt)
	case e.delta != nil:
		err = n.view.Apply(*e.delta, e.sentAt)
	case e.left:
		err = n.view.Confirm(e.from.Generation, e.from.Revision, e.sentAt)
	}
	if err != nil && (n.view.Held().Revision != before.Revision || n.view.Held().Generation != before.Generation) {
		n.t.Fatalf("a refused answer (%v) moved the view", err)
	}
}

// prompt is an exchange without delay, so that the view is up to date often enough to admit somebody.
func (n *network) prompt() {
	n.ask()
	e := n.exchanges[len(n.exchanges)-1]
	n.read(e)
	n.take(e)
}

func (n *network) change() {
	switch rapid.IntRange(0, 3).Draw(n.t, "change") {
	case 0:
		_, _ = n.admit(authorization.Member, 1)
	case 1:
		_ = n.status(n.tenant.Suspend)
	case 2:
		_ = n.status(n.tenant.Resume)
	case 3:
		n.compact(rapid.IntRange(0, 4).Draw(n.t, "keep"))
	}
}

func (n *network) revokeOne() {
	p := rapid.SampledFrom(n.principals).Draw(n.t, "principal")
	r, err := n.revoke(p, authorization.ByOperator("ada"))
	if err != nil {
		n.t.Fatalf("revoke: %v", err)
	}
	if len(r.Changes) > 0 {
		n.revokedAt[id(p)] = n.elapsed
	}
}

// move changes the placement around the node, which holds it throughout.
func (n *network) move() {
	n.place.Version++
	if rapid.Bool().Draw(n.t, "switched") {
		n.place.Generation++
	}
	if rapid.Bool().Draw(n.t, "lapsed") {
		n.place.LeaseEpoch++
	}
}

// restart forgets all but the high-water mark on disk. Answers to the old process do not reach the new one.
func (n *network) restart() {
	n.exchanges = nil
	n.newView(n.view.Position())
}

func (n *network) check() {
	p := n.view.Position()
	if p.Generation < n.position.Generation || p.Revision < n.position.Revision ||
		p.PlacementVersion < n.position.PlacementVersion || p.LeaseEpoch < n.position.LeaseEpoch {
		n.t.Fatalf("the view went back from %+v to %+v", n.position, p)
	}
	n.position = p
	for _, principal := range n.principals {
		n.checkPrincipal(id(principal))
	}
}

func (n *network) checkPrincipal(principal string) {
	err := n.view.Admits(principal, n.elapsed)
	if at, revoked := n.revokedAt[principal]; revoked && err == nil && n.elapsed-at >= bound {
		n.t.Fatalf("%s is admitted %v after it was revoked", principal, n.elapsed-at)
	}
	if n.refused[principal] && err == nil {
		n.t.Fatalf("%s was refused as revoked and is admitted again", principal)
	}
	if fault.SlugOf(err) == "principal_revoked" {
		n.refused[principal] = true
	}
}

// Whatever answers arrive, in whatever order, twice or never: what a node holds never goes back, nobody is admitted once
// the hard bound has passed since the revocation, and who was refused as revoked stays refused (A3, A5, A6).
func TestNodeUnderAnyNetwork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := &network{world: newWorld(rt), t: rt, place: ownerPlace(), revokedAt: map[string]time.Duration{}}
		n.newView(authorization.Position{})
		for range 3 {
			n.mustAdmit(authorization.Owner, 1)
		}
		rt.Repeat(n.actions())
	})
}
