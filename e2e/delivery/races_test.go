package delivery_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
)

const rounds = 15

// Two deployments of one license ask for the last app that its quota has room for, at two replicas at once: one gets it,
// and the other is told why not. Round after round.
func raceForTheLastSlot(w *world) {
	app := w.app("app")
	w.Publish(harness.Product{App: app, Version: "1.0.0"})
	for round := range rounds {
		c := w.NewCustomer(w.name+strconv.Itoa(round), func(l *contract.NewLicense) { l.Quota.Apps = 1 })
		c.Entitle(app)
		platforms := [2]apiclient.Market{}
		for i := range platforms {
			c.Deploys()
			platforms[i] = c.Market(i)
		}
		var errs [2]error
		var both sync.WaitGroup
		start := make(chan struct{})
		for i, platform := range platforms {
			both.Go(func() {
				<-start
				_, errs[i] = platform.Submit(w.t.Context(), app, install(""))
			})
		}
		close(start)
		both.Wait()
		won, lost := errs[0], errs[1]
		if won != nil {
			won, lost = lost, won
		}
		if won != nil || lost == nil || harness.Slugs(lost)[0] != "quota_exceeded" {
			w.t.Fatalf("round %d: both got %v and %v", round, errs[0], errs[1])
		}
		license, err := w.Operator().License(w.t.Context(), c.License.ID)
		must(w.t, err)
		if license.Used == nil || license.Used.Apps != 1 {
			w.t.Fatalf("round %d: used are %+v", round, license.Used)
		}
	}
}

// A request that is repeated by its key is answered as the first time, at either replica; another body by the same key is
// refused, and does nothing.
func anotherBody(w *world) {
	base, shop := w.pair()
	c := w.NewCustomer(w.name)
	c.Entitle(base, shop)
	c.Deploys()
	key := []string{contract.HeaderIdempotencyKey, "once-" + w.name}
	first := c.Asks(0, "POST", "/apps/"+base+"/intents", install("1.0.0"), key...)
	again := c.Asks(1, "POST", "/apps/"+base+"/intents", install("1.0.0"), key...)
	if first.Status != http.StatusAccepted || string(again.Body) != string(first.Body) || again.Status != first.Status {
		w.t.Errorf("first %d %s\nagain %d %s", first.Status, first.Body, again.Status, again.Body)
	}
	for path, body := range map[string]contract.NewIntent{
		"/apps/" + base + "/intents": install("1.1.0"),
		"/apps/" + shop + "/intents": install("1.0.0"),
	} {
		if a := c.Asks(1, "POST", path, body, key...); a.Slug() != "idempotency_key_reused" {
			w.t.Errorf("another request by the same key is answered with %d %s", a.Status, a.Body)
		}
	}
	if d, err := w.Operator().Deployment(w.t.Context(), c.Install); err != nil || len(d.Apps) != 1 || d.Apps[0].Version != "1.0.0" {
		w.t.Errorf("the deployment is %+v (%v)", d, err)
	}
}

// held submits an intent whose image check waits at the door; meanwhile happens what the test does.
func (w *world) held(c *harness.Customer, door *harness.Door, app string, meanwhile func()) error {
	w.t.Helper()
	asked, release := door.Holds(w.t)
	platform := c.Market(0)
	answered := make(chan error, 1)
	go func() {
		_, err := platform.Submit(w.t.Context(), app, install(""))
		answered <- err
	}()
	select {
	case <-asked:
	case err := <-answered:
		w.t.Fatalf("the registry was not asked: %v", err)
	}
	meanwhile()
	release()
	return <-answered
}

// behindDoor publishes an app whose image is behind a door, and a customer that may have it.
func (w *world) behindDoor(terms ...func(*contract.NewLicense)) (*harness.Customer, *harness.Door, string) {
	w.t.Helper()
	app, door := w.app("held"), w.NewDoor()
	w.Push(app, "1", "linux/amd64", app)
	w.Publish(harness.Product{App: app, Version: "1.0.0", Image: door.Host + "/" + app + ":1"})
	c := w.NewCustomer(w.name, terms...)
	c.Entitle(app)
	c.Deploys()
	return c, door, app
}

// unchanged: nothing was made of an intent that was refused at the last moment.
func (w *world) unchanged(c *harness.Customer) {
	w.t.Helper()
	d, err := w.Operator().Deployment(w.t.Context(), c.Install)
	must(w.t, err)
	if len(d.Apps) != 0 {
		w.t.Errorf("the deployment has %+v", d.Apps)
	}
}

// An entitlement that is withdrawn while an intent's image is looked for: the intent is refused.
func withdrawnInFlight(w *world) {
	c, door, app := w.behindDoor()
	err := w.held(c, door, app, func() { c.Entitle() })
	if err == nil || fault.SlugOf(err) != "not_entitled" {
		w.t.Errorf("got %v", err)
	}
	w.unchanged(c)
}

// A license that expires while an intent's image is looked for: the intent is refused.
func expiresDuringTheCheck(w *world) {
	c, door, app := w.behindDoor()
	expires := func() {
		c.ExpiresIn(time.Second)
		c.Eventually("the license expired", func() bool { return blocked(c, app, "license_expired") })
	}
	err := w.held(c, door, app, expires)
	for again := 0; again < 5 && slices.Contains(harness.Slugs(err), "image_check_unavailable"); again++ {
		c.ExpiresIn(time.Hour) // the machine is so slow that the check was over first
		err = w.held(c, door, app, expires)
	}
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Slug != "license_expired" {
		w.t.Errorf("got %v", err)
	}
	w.unchanged(c)
}
