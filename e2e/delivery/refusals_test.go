package delivery_test

import (
	"slices"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Each thing that an intent is refused by, provoked alone: it is told and nothing else.
func refusedAlone(w *world) {
	base, shop := w.pair()
	needs := func(app, versions string) []contract.Requirement {
		return []contract.Requirement{{App: app, Versions: versions}}
	}
	ring, gated, armed, lost := w.app("ring"), w.app("gated"), w.app("armed"), w.app("lost")
	w.Publish(
		harness.Product{App: w.app("link"), Version: "1.0.0", Requires: needs(ring, "^1")},
		harness.Product{App: ring, Version: "1.0.0", Requires: needs(w.app("link"), "^1")},
		harness.Product{App: shop, Version: "2.0.0", Requires: needs(base, "^2")},
		harness.Product{App: gated, Version: "1.0.0"}, harness.Product{App: gated, Version: "2.0.0", SchemaGate: true},
		harness.Product{App: armed, Version: "1.0.0", Image: w.Registry.Host + "/" + armed + ":1"},
		harness.Product{App: lost, Version: "1.0.0", Image: w.Registry.Host + "/" + lost + ":1"},
	)
	w.Push(armed, "1", "linux/arm64", "arm")
	every := []string{base, shop, ring, w.app("link"), gated, armed, lost}
	for slug, c := range map[string]struct {
		selected []contract.SelectedService
		before   func(*harness.Customer)
		app      string
		ask      contract.NewIntent
	}{
		"license_inactive": {app: base, ask: install(""), before: func(c *harness.Customer) {
			_, err := w.Operator().SuspendLicense(w.t.Context(), c.License.ID)
			must(w.t, err)
		}},
		"not_entitled":    {app: base, ask: install(""), before: func(c *harness.Customer) { c.Entitle(shop) }},
		"license_expired": {app: base, ask: install(""), before: w.appExpires(base)},
		"quota_exceeded": {app: base, ask: install(""), before: func(c *harness.Customer) {
			small := harness.Roomy()
			small.CPU = "99m"
			c.Terms(contract.LicenseChange{Quota: &small})
		}},
		"version_unknown":        {app: base, ask: install("7.0.0")},
		"dependency_missing":     {app: shop, ask: install("1.0.0")},
		"dependency_conflict":    {selected: services(base + "@1.0.0"), app: shop, ask: install("2.0.0")},
		"dependency_cycle":       {app: ring, ask: install("")},
		"dependents_remain":      {selected: services(base+"@1.0.0", shop+"@1.0.0"), app: base, ask: contract.NewIntent{Action: "uninstall"}},
		"downgrade_refused":      {selected: services(base + "@1.1.0"), app: base, ask: upgrade("1.0.0")},
		"parameter_not_settable": {app: base, ask: contract.NewIntent{Action: "install", Parameters: map[string]any{"replicas": 3}}},
		"image_missing":          {app: lost, ask: install("")},
		"platform_unsupported":   {app: armed, ask: install(""), before: func(c *harness.Customer) { c.Enrols() }},
		"schema_gate_closed":     {selected: services(gated + "@1.0.0"), app: gated, ask: upgrade("2.0.0")},
		"intent_in_flight":       {app: base, ask: upgrade("1.1.0"), before: func(c *harness.Customer) { c.Submits(base, "install", "1.0.0") }},
	} {
		customer := w.NewCustomer(w.name + "-" + strings.ReplaceAll(slug, "_", "-"))
		customer.Entitle(every...)
		customer.Deploys(c.selected...)
		if c.before != nil {
			c.before(customer)
		}
		w.refusedOnly(customer, c.app, c.ask, slug)
	}
	w.gateOpens(gated)
}

// refusedOnly: one slug is told, with its cure, and nothing of the deployment changes.
func (w *world) refusedOnly(c *harness.Customer, app string, ask contract.NewIntent, slug string) {
	w.t.Helper()
	before, err := w.Operator().Deployment(w.t.Context(), c.Install)
	must(w.t, err)
	a := c.Asks(1, "POST", "/apps/"+app+"/intents", ask)
	var p contract.Problem
	harness.Decode(w.t, a, a.Status, &p)
	if a.Status != 409 && a.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Slug != slug || p.Errors[0].Cure == "" {
		w.t.Errorf("%s is answered with %d %s", slug, a.Status, a.Body)
	}
	if after, err := w.Operator().Deployment(w.t.Context(), c.Install); err != nil || after.Revision != before.Revision {
		w.t.Errorf("%s, but revision %d followed %d (%v)", slug, after.Revision, before.Revision, err)
	}
}

// appExpires lets one app of the license end, and waits until it has.
func (w *world) appExpires(app string) func(*harness.Customer) {
	return func(c *harness.Customer) {
		w.t.Helper()
		at := time.Now().Add(time.Second)
		_, err := w.Operator().SetLicenseApps(w.t.Context(), c.License.ID, contract.LicenseApps{Apps: []contract.LicenseApp{{App: app, ExpiresAt: &at}}})
		must(w.t, err)
		c.Eventually("it expired", func() bool { return blocked(c, app, "license_expired") })
	}
}

// gateOpens: once an operator opened the schema gate of a deployment, the upgrade goes.
func (w *world) gateOpens(gated string) {
	w.t.Helper()
	c := w.NewCustomer(w.name + "-open")
	c.Entitle(gated)
	c.Deploys(services(gated + "@1.0.0")...)
	equal(w.t, "the gate", c.Refused(gated, upgrade("2.0.0")), []string{"schema_gate_closed"})
	_, err := w.Operator().SchemaGate(w.t.Context(), c.Install, contract.SchemaGate{Open: true, Note: "the migration was rehearsed"})
	must(w.t, err)
	c.Submits(gated, "upgrade", "2.0.0")
}

// Several things that are wrong are all told at once.
func refusedTogether(w *world) {
	_, shop := w.pair()
	c := w.NewCustomer(w.name)
	c.Entitle(shop)
	c.Deploys()
	_, err := w.Operator().SuspendLicense(w.t.Context(), c.License.ID)
	must(w.t, err)
	w.Publish(harness.Product{
		App: shop, Version: "3.0.0", Image: w.Registry.Host + "/" + shop + ":never",
		Requires: []contract.Requirement{{App: w.app("base"), Versions: "^1"}},
	})
	ask := contract.NewIntent{Action: "install", Version: "3.0.0"}
	equal(w.t, "three at once", c.Refused(shop, ask), []string{"license_inactive", "dependency_missing", "image_missing"})
	ask.Parameters = map[string]any{"replicas": 2}
	got := c.Refused(shop, ask)
	for _, slug := range []string{"license_inactive", "dependency_missing", "parameter_not_settable"} {
		if !slices.Contains(got, slug) {
			w.t.Errorf("%s is not told: %q", slug, got)
		}
	}
	if a := c.Asks(0, "GET", "/intents/int_none", nil); a.Status != 404 {
		w.t.Errorf("an intent that is not there is answered with %d", a.Status)
	}
}
