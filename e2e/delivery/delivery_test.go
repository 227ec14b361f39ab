package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a scenario's part of a stand: whatever it makes has a name that starts with the scenario's.
type world struct {
	*harness.Stand
	t    *testing.T
	name string
}

// onBoth runs scenarios on each database, all at once.
func onBoth(t *testing.T, scenarios map[string]func(*world), settings ...string) {
	t.Helper()
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stand := harness.NewStand(t, postgres, settings...)
			for name, scenario := range scenarios {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					scenario(&world{stand.In(t), t, name})
				})
			}
		})
	}
}

// alone runs a scenario that stops its servers, on each database.
func alone(t *testing.T, name string, scenario func(*world), settings ...string) {
	t.Helper()
	for database, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			scenario(&world{harness.NewStand(t, postgres, settings...), t, name})
		})
	}
}

// What concerns single customers happens at once on one stand, each scenario with customers and apps of its own.
func TestDelivery(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]func(*world){
		"story": story, "expired": expired, "withdrawn": withdrawn, "imageless": imageMissing, "refused": refusedAlone,
		"together": refusedTogether, "race": raceForTheLastSlot, "repeats": anotherBody, "flight": withdrawnInFlight,
		"late": expiresDuringTheCheck, "checks": registriesThatDoNotAnswer, "moves": tagThatMoves, "enrols": enrols,
		"sealed": sealedToTheAgent, "reports": reportsOnce, "strangers": strangers, "wrong": wrongKeys,
	})
}

// app is the name of an app of this scenario.
func (w *world) app(name string) string { return w.name + "-" + name }

// pair publishes two apps of which the second needs the first, in versions 1.0.0 and 1.1.0 each.
func (w *world) pair() (base, shop string) {
	w.t.Helper()
	base, shop = w.app("base"), w.app("shop")
	needs := []contract.Requirement{{App: base, Versions: "^1"}}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		w.Publish(harness.Product{App: base, Version: v}, harness.Product{App: shop, Version: v, Requires: needs})
	}
	return base, shop
}

// services selects apps, each as app@version.
func services(apps ...string) []contract.SelectedService {
	var out []contract.SelectedService
	for _, a := range apps {
		app, version, _ := strings.Cut(a, "@")
		out = append(out, contract.SelectedService{App: app, Version: version})
	}
	return out
}

func install(version string) contract.NewIntent {
	return contract.NewIntent{Action: "install", Version: version}
}

func upgrade(version string) contract.NewIntent {
	return contract.NewIntent{Action: "upgrade", Version: version}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func selection(selected ...contract.SelectedService) contract.SelectedServices {
	return contract.SelectedServices{SelectedServices: append([]contract.SelectedService{}, selected...)}
}
