package delivery_test

import (
	"strings"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Of the secrets of a delivery none stands in the database, in a log, or in an answer that is not the one that has to show
// it: a secret parameter, the license key, the enrolment token, the link of a package.
func TestNoSecretOfADeliveryIsWritten(t *testing.T) {
	t.Parallel()
	alone(t, "secrets", noSecrets, "BERTH_LOG_LEVEL=debug")
}

func noSecrets(w *world) {
	secrets := harness.NewSecrets()
	app, value := w.app("vault"), "correct-horse-battery-staple-"+w.name
	w.Publish(harness.Product{App: app, Version: "1.0.0", Secret: true})
	c := w.NewCustomer(w.name)
	c.Entitle(app)
	c.Deploys(contract.SelectedService{App: app, Parameters: map[string]any{"password": value}})
	secrets.AddText("a secret parameter", value)
	secrets.AddText("a license key", c.License.LicenseKey)
	w.nowhere(secrets, c, "before the enrolment")
	files, link := c.Package()
	for name, content := range files {
		secrets.In(w.t, name+" in the package", content)
	}
	token := string(files["enrolment-token"])
	secrets.AddText("an enrolment token", token)
	secrets.AddText("a package's link", link[strings.LastIndex(link, "/")+1:])
	a := c.NewAgent()
	refused(w.t, "a wrong license key", a.Enroll(0, token, c.License.LicenseKey+"x"), "credentials_unknown")
	must(w.t, a.Enroll(0, token, c.License.LicenseKey))
	a.Until("it has the app", func() bool { return len(a.Held.Apps) == 1 })
	if got := a.Opens(app, "password"); got != value {
		w.t.Errorf("the agent opens %q", got)
	}
	for _, doc := range a.Objects(app) {
		secrets.In(w.t, "an object", encoded(w.t, doc.Object))
	}
	another := "another-" + value
	secrets.AddText("a secret that was set anew", another)
	_, err := w.Operator().SetParameters(w.t.Context(), c.Install, app, contract.NewParameters{
		Parameters: map[string]any{"password": map[string]any{"sealed": a.SealsTo(c, app, "password", another)}},
	})
	must(w.t, err)
	a.Until("it has the new secret", func() bool { return a.Opens(app, "password") == another })
	w.nowhere(secrets, c, "after the enrolment")
	if secrets.Found([]byte(w.Dump()+value)) == nil {
		w.t.Error("the search does not find what is there")
	}
}

// nowhere searches what others can read.
func (w *world) nowhere(secrets *harness.Secrets, c *harness.Customer, when string) {
	w.t.Helper()
	secrets.In(w.t, "the database "+when, []byte(w.Dump()))
	secrets.In(w.t, "the log "+when, []byte(w.Output()))
	s, deployment := w.Servers[0], "/api/v1/deployments/"+c.Install
	secrets.In(w.t, "the metrics "+when, []byte(s.MetricsText()))
	for _, path := range []string{
		deployment, deployment + "/desired-state?objects=true", deployment + "/desired-state/history", "/api/v1/audit?limit=500",
		"/api/v1/licenses/" + c.License.ID, "/api/v1/licenses", "/api/v1/deployments",
	} {
		a := s.Do(s.Token, "GET", path, nil)
		if a.Status != 200 {
			w.t.Errorf("%s is answered with %d %s", path, a.Status, a.Body)
		}
		secrets.In(w.t, path+" "+when, a.Body)
	}
	for _, path := range []string{"/apps", "/license"} {
		secrets.In(w.t, path+" "+when, c.Asks(0, "GET", path, nil).Body)
	}
}
