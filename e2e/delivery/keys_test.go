package delivery_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// guesses is how many wrong keys are tried.
const guesses = 10_000

// Ten thousand wrong pairs from one address: all are answered alike, whatever is wrong about them, in two ways at most, of
// which the second says when to come back. A pair that is right, from the same address meanwhile, is never refused.
func wrongKeys(w *world) {
	app := w.app("app")
	w.Publish(harness.Product{App: app, Version: "1.0.0"})
	c, revoked := w.NewCustomer(w.name), w.NewCustomer(w.name+"-revoked")
	for _, one := range []*harness.Customer{c, revoked} {
		one.Entitle(app)
		one.Deploys()
	}
	_, err := w.Operator().RevokeLicense(w.t.Context(), revoked.License.ID)
	must(w.t, err)
	wrong := [][2]string{
		{c.Install, revoked.License.LicenseKey}, {revoked.Install, revoked.License.LicenseKey}, {revoked.Install, c.License.LicenseKey},
		{c.Install, c.License.LicenseKey[:len(c.License.LicenseKey)-1] + "a"}, {c.Install, ""}, {"", ""}, {"ins_nobody", c.License.LicenseKey},
		{c.Install, "bl_x"}, {c.Install, c.License.LicenseKey + "a"},
	}
	if wrong[3][1] == c.License.LicenseKey {
		wrong[3][1] = c.License.LicenseKey[:len(c.License.LicenseKey)-1] + "b"
	}
	var answers sync.Map
	var over atomic.Bool
	var valid sync.WaitGroup
	valid.Go(func() {
		for n := 0; !over.Load() || n < 10; n++ {
			if got := w.asks(n, c.Install, c.License.LicenseKey); got.Status != http.StatusOK {
				w.t.Errorf("a pair that is right is answered with %d %s", got.Status, got.Body)
				return
			}
		}
	})
	defer func() {
		over.Store(true)
		valid.Wait()
	}()
	harness.Each(w.t, guesses, func(i int) error {
		pair := wrong[i%len(wrong)]
		a := w.asks(i/len(wrong), pair[0], pair[1])
		answers.Store(text(a), a.Status)
		return a.Err
	})
	w.alike(&answers)
}

// asks asks a replica for the apps by a pair.
func (w *world) asks(replica int, install, key string) harness.Answer {
	s := w.Servers[replica%len(w.Servers)]
	return s.Ask(w.t.Context(), "", "GET", "/v1/market/apps", nil, contract.HeaderInstallID, install, contract.HeaderLicenseKey, key)
}

// text is an answer but for what is of one request only.
func text(a harness.Answer) string {
	var body map[string]any
	if json.Unmarshal(a.Body, &body) != nil {
		return string(a.Body)
	}
	delete(body, "request_id")
	out, _ := json.Marshal(body)
	return a.Header.Get("Content-Type") + string(out)
}

func (w *world) alike(answers *sync.Map) {
	w.t.Helper()
	by := map[int][]string{}
	answers.Range(func(text, status any) bool {
		by[status.(int)] = append(by[status.(int)], text.(string))
		return true
	})
	if len(by) != 2 || len(by[http.StatusUnauthorized]) != 1 || len(by[http.StatusTooManyRequests]) != 1 {
		w.t.Errorf("strangers are told %v", by)
	}
}
