package delivery_test

import (
	"testing"

	"berth/domain/fault"
	"berth/e2e/harness"
)

// An older copy of the database, restored under a running agent, never leads to a removal that the agent accepts: not at
// once, not after changes, and not after a leap (D4).
func TestOlderCopyIsRestored(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(*world){"behind": behind, "overtaken": overtaken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone(t, name, scenario)
		})
	}
}

// later is a customer whose cluster holds more than the copy has: the copy knows the base, the cluster runs the shop too.
func (w *world) later() (c *harness.Customer, a *harness.Agent, base, shop string) {
	w.t.Helper()
	base, shop = w.pair()
	c = w.NewCustomer(w.name)
	c.Entitle(base, shop)
	c.Deploys(services(base + "@1.0.0")...)
	a = c.Enrols()
	a.Until("it has the base", func() bool { return a.Says() == base+" 1.0.0" })
	restore := w.Copy()
	c.Submits(shop, "install", "1.0.0")
	c.Submits(base, "upgrade", "1.1.0")
	a.Until("it has both", func() bool { return a.Says() == base+" 1.1.0, "+shop+" 1.0.0" })
	a.Reports(harness.Healthy(base, "1.1.0"), harness.Healthy(shop, "1.0.0"))
	restore()
	return c, a, base, shop
}

// behind: the agent asks first. It is told nothing, and nobody changes anything, until an operator leaps over what the
// agent proved.
func behind(w *world) {
	c, a, base, shop := w.later()
	w.tellsNothing(a)
	if got := c.Refused(base, upgrade("1.1.0")); len(got) != 1 || got[0] != "desired_state_frozen" {
		w.t.Errorf("an intent on a frozen state: %q", got)
	}
	w.tellsNothing(a)
	w.leaps(c, a, base, shop)
}

// overtaken: the restored copy goes on, past what the agent holds, before the agent asks. What it holds is of another
// history, and what was removed meanwhile is not removed from its cluster.
func overtaken(w *world) {
	c, a, base, shop := w.later()
	_, err := w.Operator().SelectServices(w.t.Context(), c.Install, selection())
	must(w.t, err)
	for range 5 {
		_, err = w.Operator().SelectServices(w.t.Context(), c.Install, selection(services(base+"@1.0.0")...))
		must(w.t, err)
		_, err = w.Operator().SelectServices(w.t.Context(), c.Install, selection())
		must(w.t, err)
	}
	state, err := w.Operator().DesiredState(w.t.Context(), c.Install, 0)
	must(w.t, err)
	if state.Revision <= a.Held.Revision {
		w.t.Fatalf("revision %d is not past %d", state.Revision, a.Held.Revision)
	}
	w.tellsNothing(a)
	w.leaps(c, a, base, shop)
}

// tellsNothing: whatever the agent asks, it is told that the control plane is behind, and what it holds stays.
func (w *world) tellsNothing(a *harness.Agent) {
	w.t.Helper()
	held := a.Token
	for replica := range 2 {
		if _, err := a.Poll(replica, 0); !harness.Behind(err) {
			w.t.Errorf("it is told %v, and holds %s", err, a.Says())
		}
		if err := a.Report(a.Held.Revision); err != nil && !harness.Behind(err) {
			w.t.Errorf("its report is answered with %v", err)
		}
	}
	if a.Token != held {
		w.t.Errorf("it holds %s", a.Says())
	}
}

// leaps: over what was proved and no mere claim, and what follows removes nothing.
func (w *world) leaps(c *harness.Customer, a *harness.Agent, base, shop string) {
	w.t.Helper()
	liar := a.Twin()
	if err := liar.Report(1 << 40); err != nil && fault.KindOf(err) != fault.Conflict {
		w.t.Errorf("a claim is answered with %v", err)
	}
	must(w.t, a.Proves())
	proved := a.Held.Revision
	state, err := w.Operator().Leap(w.t.Context(), c.Install, "the database was restored")
	must(w.t, err)
	if state.Revision < proved+1<<20 || state.Revision >= 1<<40 {
		w.t.Errorf("the leap goes from %d to %d", proved, state.Revision)
	}
	a.Until("it follows again", func() bool { return a.Held.Revision >= state.Revision })
	w.nothingRemoved(a)
	_, err = w.Operator().SelectServices(w.t.Context(), c.Install, selection(services(base+"@1.0.0")...))
	must(w.t, err)
	if a.Says() != base+" 1.0.0" {
		a.Until("it has the base", func() bool { return a.Says() == base+" 1.0.0" })
	}
	w.nothingRemoved(a)
	c.Submits(shop, "install", "1.0.0")
	a.Until("it has both", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.0.0" })
	w.nothingRemoved(a)
}

func (w *world) nothingRemoved(a *harness.Agent) {
	w.t.Helper()
	for _, app := range a.Held.Apps {
		if app.Removed {
			w.t.Errorf("it is to remove %s: %s", app.App, a.Says())
		}
	}
}
