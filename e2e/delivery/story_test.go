package delivery_test

import (
	"berth/adapters/apiclient"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// From what a customer may have to what runs, and back: each step is seen by the platform, the agent and the operator.
func story(w *world) {
	base, shop := w.pair()
	w.Publish(harness.Product{App: w.app("other"), Version: "1.0.0"}) // which is on nobody's license
	c := w.NewCustomer(w.name)
	c.Entitle(base, shop)
	c.Deploys()
	all, err := c.Market(0).Apps(w.t.Context())
	must(w.t, err)
	if len(all.Apps) != 2 || all.Apps[0].State != "entitled" || all.Apps[1].State != "entitled" {
		w.t.Fatalf("the market shows %+v", all)
	}
	equal(w.t, "without what it needs", c.Refused(shop, install("1.0.0")), []string{"dependency_missing"})
	a := w.installed(c, base, shop)
	w.upgradedAndRolledBack(c, a, shop)
	w.removed(c, a, base, shop)
	w.audited(c)
}

// installed brings both apps into the cluster.
func (w *world) installed(c *harness.Customer, base, shop string) *harness.Agent {
	w.t.Helper()
	first := c.Submits(base, "install", "1.0.0")
	second := c.Submits(shop, "install", "1.0.0")
	if second.Revision <= first.Revision {
		w.t.Errorf("revision %d follows %d", second.Revision, first.Revision)
	}
	a := c.Enrols()
	a.Until("it has both", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.0.0" })
	if app, _ := a.App(shop); len(app.Requires) != 1 || app.Requires[0] != base || len(app.Images) != 1 || len(a.Objects(shop)) != 1 {
		w.t.Errorf("the agent is told %+v", app)
	}
	a.Reports(
		contract.AgentReportedApp{App: base, Version: "1.0.0", Outcome: "healthy"},
		contract.AgentReportedApp{App: shop, Version: "1.0.0", Outcome: "progressing", Detail: "0 of 1"},
	)
	c.Ends(first.ID, "succeeded")
	c.Ends(second.ID, "delivering")
	a.Reports(harness.Healthy(base, "1.0.0"), harness.Healthy(shop, "1.0.0"))
	c.Ends(second.ID, "succeeded")
	w.state(c, shop, "deployed", "1.0.0", "healthy")
	_, err := c.Market(0).SetInstallation(w.t.Context(), shop, contract.NewInstallation{Installed: true, Version: "1.0.0"})
	must(w.t, err)
	w.state(c, shop, "installed", "1.0.0", "healthy")
	return a
}

// upgradedAndRolledBack: the upgrade fails in the cluster; what is shown is what runs, and it is not tried again until an
// operator says so.
func (w *world) upgradedAndRolledBack(c *harness.Customer, a *harness.Agent, shop string) {
	w.t.Helper()
	up := c.Submits(shop, "upgrade", "1.1.0")
	a.Until("it has the upgrade", func() bool { app, _ := a.App(shop); return app.Version == "1.1.0" })
	before, _ := a.App(shop)
	a.Reports(contract.AgentReportedApp{App: shop, Version: "1.0.0", Outcome: "rolled_back", Detail: "crash loop", Failures: []string{"pod web: exit 1"}})
	ended := c.Ends(up.ID, "rolled_back")
	if ended.Detail != "crash loop" || ended.EndedAt == nil {
		w.t.Errorf("the intent ended as %+v", ended)
	}
	w.state(c, shop, "installed", "1.0.0", "rolled_back")
	w.quarantined(c, shop, true)
	_, err := w.Operator().ReleaseQuarantine(w.t.Context(), c.Install, shop)
	must(w.t, err)
	a.Until("it is to try again", func() bool { app, _ := a.App(shop); return app.Retry > before.Retry })
	a.Reports(harness.Healthy(shop, "1.1.0"))
	w.state(c, shop, "installed", "1.1.0", "healthy")
	w.quarantined(c, shop, false)
}

// removed: uninstalling leaves a tombstone until the agent reports that the app is gone; then it is forgotten.
func (w *world) removed(c *harness.Customer, a *harness.Agent, base, shop string) {
	w.t.Helper()
	equal(w.t, "uninstalling what is needed", c.Refused(base, contract.NewIntent{Action: "uninstall"}), []string{"dependents_remain"})
	down := c.Submits(shop, "uninstall", "")
	a.Until("it is to remove the app", func() bool { app, _ := a.App(shop); return app.Removed })
	a.Reports(harness.Healthy(base, "1.0.0"), contract.AgentReportedApp{App: shop, Outcome: "removed"})
	c.Ends(down.ID, "succeeded")
	w.state(c, shop, "entitled", "", "removed")
	again := c.Submits(base, "upgrade", "1.1.0") // with the next change it is gone
	a.Until("it is gone", func() bool { return a.Says() == base+" 1.1.0" })
	a.Reports(harness.Healthy(base, "1.1.0"))
	c.Ends(again.ID, "succeeded")
}

// state waits until the market shows an app in a state, with what was reported of it.
func (w *world) state(c *harness.Customer, app, state, version, health string) {
	w.t.Helper()
	var got contract.MarketApp
	c.Eventually(app+" is "+state+" "+version, func() bool {
		got, _ = c.Listed(app)
		return got.State == state && got.Deployed != nil && got.Deployed.Version == version && got.Deployed.Health == health
	})
	if got.Deployed.Stale {
		w.t.Errorf("a fresh report is stale: %+v", got)
	}
}

func (w *world) quarantined(c *harness.Customer, app string, want bool) {
	w.t.Helper()
	state, err := w.Operator().AgentState(w.t.Context(), c.Install)
	must(w.t, err)
	for _, a := range state.Apps {
		if a.App == app && a.Quarantined == want {
			return
		}
	}
	w.t.Errorf("quarantined is not %t: %+v", want, state.Apps)
}

// audited: every change is in the log, with who and what, and the log is whole.
func (w *world) audited(c *harness.Customer) {
	w.t.Helper()
	log, err := w.Operator().Audit(w.t.Context(), "deployment/"+c.Install, apiclient.Page{Limit: 100})
	must(w.t, err)
	seen := map[string]int{}
	for _, e := range log.Entries {
		seen[e.Action]++
	}
	for _, action := range []string{"deployment.created", "intent.accepted", "installation.reported"} {
		if seen[action] == 0 {
			w.t.Errorf("%s is not in the audit log: %v", action, seen)
		}
	}
	verdict, err := w.Operator().VerifyAudit(w.t.Context())
	must(w.t, err)
	if !verdict.Whole {
		w.t.Errorf("the audit log is not whole: %+v", verdict)
	}
}
