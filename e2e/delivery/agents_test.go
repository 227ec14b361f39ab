package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
)

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return text
}

// One package lets one key enrol, with the license key and never without it; an answer that was lost is given again to the
// same key, and to no other. The link works once.
func enrols(w *world) {
	base, shop := w.pair()
	c := w.NewCustomer(w.name)
	c.Entitle(base, shop)
	c.Deploys(services(base, shop)...)
	files, link := c.Package()
	for _, again := range []int{0, 1} {
		if a := w.Servers[0].Do("", "GET", link, nil); a.Status != 410 || a.Slug() != "package_fetched" {
			w.t.Errorf("the link's use number %d is answered with %d %s", again+2, a.Status, a.Body)
		}
	}
	for name, content := range files {
		if strings.Contains(string(content), c.License.LicenseKey) {
			w.t.Errorf("%s holds the license key", name)
		}
	}
	token := string(files["enrolment-token"])
	a, other := c.NewAgent(), c.NewAgent()
	refused(w.t, "without a license key", a.Enroll(0, token, ""), "credentials_unknown")
	refused(w.t, "with another's key", a.Enroll(0, token, w.NewCustomer(w.name+"-other").License.LicenseKey), "credentials_unknown")
	must(w.t, a.Enroll(0, token, c.License.LicenseKey))
	first := a.Enrolled
	must(w.t, a.Enroll(1, token, c.License.LicenseKey))
	if a.Enrolled.AgentID != first.AgentID || a.Enrolled.MinimumRevision < first.MinimumRevision {
		w.t.Errorf("the same key is told %+v and %+v", first, a.Enrolled)
	}
	refused(w.t, "another key", other.Enroll(1, token, c.License.LicenseKey), "enrolment_token_used")
	a.Until("it has both", func() bool { return a.Says() == base+" 1.1.0, "+shop+" 1.1.0" })
	if files, _ := c.Package(); files["enrolment-token"] != nil {
		w.t.Error("a package for who has enrolled holds a token")
	}
	w.forgotten(c, a)
}

// forgotten: once an operator forgets the agent another may enrol, and the first is told nothing any more.
func (w *world) forgotten(c *harness.Customer, a *harness.Agent) {
	w.t.Helper()
	must(w.t, w.Operator().ResetEnrolment(w.t.Context(), c.Install))
	if _, err := a.Poll(1, 0); fault.KindOf(err) != fault.Unauthenticated {
		w.t.Errorf("an agent that was forgotten is answered with %v", err)
	}
	next := c.Enrols()
	next.Until("the next one has both", func() bool { return len(next.Held.Apps) == 2 })
}

// A secret parameter is for the agent alone: it opens it, at its place, and nobody is shown it.
func sealedToTheAgent(w *world) {
	app, value := w.app("vault"), "correct-horse-battery-"+w.name
	w.Publish(harness.Product{App: app, Version: "1.0.0", Secret: true})
	c := w.NewCustomer(w.name)
	c.Entitle(app)
	c.Deploys(contract.SelectedService{App: app, Parameters: map[string]any{"password": value}})
	a := c.Enrols()
	a.Until("it has the app", func() bool { return len(a.Held.Apps) == 1 })
	if got := a.Opens(app, "password"); got != value {
		w.t.Errorf("the agent opens %q", got)
	}
	_, err := w.Operator().SetParameters(w.t.Context(), c.Install, app, contract.NewParameters{Parameters: map[string]any{"password": "another-one-in-the-clear"}})
	refused(w.t, "plain text after the enrolment", err, "secret_must_be_sealed")
	before := a.Token
	_, err = w.Operator().SetParameters(w.t.Context(), c.Install, app, contract.NewParameters{Parameters: map[string]any{"greeting": "hi"}})
	must(w.t, err)
	a.Until("the change is there", func() bool { return a.Token != before })
	if got := a.Opens(app, "password"); got != value {
		w.t.Errorf("after another change the agent opens %q", got)
	}
	w.interleaved(c, a)
}

// interleaved: two processes that use one key by turns are noticed.
func (w *world) interleaved(c *harness.Customer, a *harness.Agent) {
	w.t.Helper()
	twin := a.Twin()
	for range 3 {
		for _, one := range []*harness.Agent{a, twin} {
			_, err := one.Poll(0, 0)
			must(w.t, err)
		}
	}
	c.Eventually("two processes are noticed", func() bool {
		state, err := w.Operator().AgentState(w.t.Context(), c.Install)
		must(w.t, err)
		return state.Interleaved > 0
	})
}

func refused(t *testing.T, what string, err error, slug string) {
	t.Helper()
	if fault.SlugOf(err) != slug {
		t.Errorf("%s: got %v, want %s", what, err, slug)
	}
}

// A report is taken once: one that comes late, or again, is answered as the first time and changes nothing. A gap is taken,
// and counted.
func reportsOnce(w *world) {
	c, a, base, _ := w.ready()
	send := func(sequence int64, outcome string) {
		w.t.Helper()
		must(w.t, a.At(0).Report(w.t.Context(), contract.AgentReport{
			Sequence: sequence, ObservedRevision: a.Held.Revision,
			Apps: []contract.AgentReportedApp{{App: base, Version: "1.0.0", Outcome: outcome}},
		}))
	}
	send(100, "progressing")
	send(100, "failed")
	send(99, "failed")
	w.state(c, base, "deployed", "1.0.0", "progressing")
	state, err := w.Operator().AgentState(w.t.Context(), c.Install)
	must(w.t, err)
	if state.Sequence != 100 || state.Gaps != 1 {
		w.t.Errorf("the agent's reports stand at %+v", state)
	}
}

// An agent that cannot prove its key, or whose token was made for another request, is told nothing.
func strangers(w *world) {
	_, a, _, _ := w.ready()
	thief := *a
	thief.Key = w.NewAgent().Key
	late := *a
	late.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	for what, one := range map[string]*harness.Agent{"another key": &thief, "an old token": &late} {
		if _, err := one.Poll(0, 0); fault.KindOf(err) != fault.Unauthenticated {
			w.t.Errorf("%s: got %v", what, err)
		}
	}
	if answer := w.Servers[0].Do("", "GET", "/agent/v1/desired-state", nil); answer.Status != 401 {
		w.t.Errorf("without a token: %d", answer.Status)
	}
}
