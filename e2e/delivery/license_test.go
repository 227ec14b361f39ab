package delivery_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/domain/delivery"
	"berth/e2e/harness"
)

const grace = 2 * time.Second

// ready is a customer with a base and a shop that run in its cluster, both by intents.
func (w *world) ready(terms ...func(*contract.NewLicense)) (c *harness.Customer, a *harness.Agent, base, shop string) {
	w.t.Helper()
	base, shop = w.pair()
	c = w.NewCustomer(w.name, terms...)
	c.Entitle(base, shop)
	c.Deploys()
	a = c.Enrols()
	for _, app := range []string{base, shop} {
		v := c.Submits(app, "install", "1.0.0")
		a.Until("it has "+app, func() bool { got, ok := a.App(app); return ok && !got.Suspended })
		a.Reports(harness.Healthy(app, "1.0.0"))
		c.Ends(v.ID, "succeeded")
	}
	return c, a, base, shop
}

// A license that expires: from then on intents are refused, and once the grace is over nothing of it may run; not before,
// and nothing else changes. Renewed, everything comes back exactly as it was.
func expired(w *world) {
	c, a, base, shop := w.ready(func(l *contract.NewLicense) { l.Grace = grace.String() })
	before := a.Held.Apps
	at := time.Now().Add(time.Second)
	c.Terms(contract.LicenseChange{ExpiresAt: &at})
	c.Eventually("the license expired", func() bool { return blocked(c, shop, "license_expired") })
	equal(w.t, "after the expiry", c.Refused(shop, upgrade("1.1.0")), []string{"license_expired"})
	a.Until("both are suspended", func() bool { return a.Says() == base+" 1.0.0 suspended, "+shop+" 1.0.0 suspended" })
	if told := a.Held.IssuedAt; told.Before(at.Add(grace).Truncate(time.Second)) {
		w.t.Errorf("suspended at %s, though it could run until %s", told, at.Add(grace))
	}
	sameBut(w.t, "suspended", before, a.Held.Apps)
	fresh := *a // one that lost its state is told no more
	fresh.Forgets()
	if _, err := fresh.Poll(1, 0); err != nil || fresh.Says() != a.Says() {
		w.t.Errorf("another poll says %s (%v)", fresh.Says(), err)
	}
	a.Reports(
		contract.AgentReportedApp{App: base, Version: "1.0.0", Outcome: "suspended"},
		contract.AgentReportedApp{App: shop, Version: "1.0.0", Outcome: "suspended"},
	)
	if got, _ := c.Listed(shop); !got.Suspended || got.State != "deployed" {
		w.t.Errorf("the market shows %+v", got)
	}
	c.ExpiresIn(24 * time.Hour)
	a.Until("both are back", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.0.0" })
	sameBut(w.t, "renewed", before, a.Held.Apps)
	c.Submits(shop, "upgrade", "1.1.0")
}

// An entitlement that is withdrawn: the app is not in the market, intents for it are refused, and after the grace it may
// not run; the others go on. Given back, it comes back as it was.
func withdrawn(w *world) {
	c, a, base, shop := w.ready(func(l *contract.NewLicense) { l.Grace = grace.String() })
	before := a.Held.Apps
	c.Entitle(base)
	equal(w.t, "what was taken off", c.Refused(shop, upgrade("1.1.0")), []string{"not_entitled"})
	if got, listed := c.Listed(shop); listed {
		w.t.Errorf("the market shows %+v", got)
	}
	a.Until("it is suspended", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.0.0 suspended" })
	sameBut(w.t, "suspended", before, a.Held.Apps)
	c.Entitle(base, shop)
	a.Until("it is back", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.0.0" })
	sameBut(w.t, "given back", before, a.Held.Apps)
	c.Submits(shop, "upgrade", "1.1.0")
}

// An image that is not there is refused before anything changes: the agent is never told of it.
func imageMissing(w *world) {
	c, a, base, shop := w.ready()
	before := a.Token
	w.Publish(harness.Product{App: shop, Version: "1.2.0", Image: w.Registry.Host + "/" + shop + ":never"})
	equal(w.t, "without its image", c.Refused(shop, upgrade("1.2.0")), []string{"image_missing"})
	a.Forgets()
	if _, err := a.Poll(1, 0); err != nil || a.Token != before {
		w.t.Errorf("the agent is told something else: %s, %v", a.Says(), err)
	}
	w.Push(shop, "never", "linux/amd64", "late")
	c.Submits(shop, "upgrade", "1.2.0")
	a.Until("it is told once the image is there", func() bool { return a.Says() == base+" 1.0.0, "+shop+" 1.2.0" })
}

// blocked says whether the market names this as what stands against an app.
func blocked(c *harness.Customer, app, slug string) bool {
	got, _ := c.Listed(app)
	return slices.ContainsFunc(got.Blocked, func(b contract.MarketBlock) bool { return b.Slug == slug })
}

// sameBut compares what is to run, but for whether it may.
func sameBut(t *testing.T, when string, before, after []delivery.DesiredApp) {
	t.Helper()
	if !reflect.DeepEqual(permitted(before), permitted(after)) {
		t.Errorf("%s, it was\n%+v and is\n%+v", when, before, after)
	}
}

func permitted(apps []delivery.DesiredApp) (out []delivery.DesiredApp) {
	for _, a := range apps {
		a.Suspended, a.RunUntil = false, time.Time{}
		out = append(out, a)
	}
	return out
}
