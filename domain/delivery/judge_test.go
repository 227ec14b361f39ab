package delivery_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
)

// asking is a question in the making.
type asking struct {
	license  entitlement.LicenseRecord
	rights   map[string]*entitlement.Entitlement
	releases map[string][]delivery.Outline
	apps     map[string]delivery.DesiredApp
	q        delivery.Question
}

// granted is a question that nothing stands against: shop 2.0.0, where db 1.0.0 is there, and shop 1.0.0 unless it is to
// be installed.
func granted(action delivery.Action) *asking {
	a := &asking{
		license: entitlement.LicenseRecord{
			ID: "lic_1", Status: entitlement.LicenseActive, Enforcement: entitlement.Enforce, ExpiresAt: intentNoon.Add(time.Hour),
			Quota: entitlement.Usage{Apps: 10, Replicas: 10, MilliCPU: 1000, MemoryBytes: 1000},
		},
		rights: map[string]*entitlement.Entitlement{},
		releases: map[string][]delivery.Outline{
			"shop": outlines("shop 0.9.0: db ^1", "shop 1.0.0: db ^1", "shop 2.0.0: db ^1"),
			"db":   outlines("db 1.0.0"), "ring": outlines("ring 1.0.0"),
		},
		apps: map[string]delivery.DesiredApp{"db": {App: "db", Version: "1.0.0"}},
		q: delivery.Question{
			Now: intentNoon, Asked: delivery.Asked{App: "shop", Action: action},
			Used: entitlement.Usage{Apps: 1, Replicas: 2, MilliCPU: 100, MemoryBytes: 100},
		},
	}
	for _, app := range []string{"shop", "db", "ring"} {
		a.rights[app] = &entitlement.Entitlement{License: "lic_1", App: app}
	}
	if action != delivery.Install {
		a.apps["shop"] = delivery.DesiredApp{
			App: "shop", Version: "1.0.0", Requires: []string{"db"}, Usage: entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 100, MemoryBytes: 100},
		}
	}
	if action != delivery.Uninstall {
		a.q.Prepared = &delivery.Preparation{Usage: entitlement.Usage{Apps: 1, Replicas: 2, MilliCPU: 200, MemoryBytes: 200}}
	}
	return a
}

func (a *asking) judge() delivery.Judgement {
	a.q.License = entitlement.RestoreLicense(a.license)
	var all []delivery.Outline
	for _, app := range slices.Sorted(maps.Keys(a.releases)) {
		all = append(all, a.releases[app]...)
	}
	a.q.Catalogue = delivery.NewCatalogue(all)
	a.q.Apps, a.q.Entitlements = nil, nil
	for _, app := range slices.Sorted(maps.Keys(a.apps)) {
		a.q.Apps = append(a.q.Apps, a.apps[app])
	}
	for _, app := range slices.Sorted(maps.Keys(a.rights)) {
		a.q.Entitlements = append(a.q.Entitlements, *a.rights[app])
	}
	return delivery.Judge(a.q)
}

func (a *asking) requires(app, versions string) {
	for i := range a.releases["shop"] {
		o := &a.releases["shop"][i]
		o.Requires = append(slices.Clone(o.Requires), delivery.Requirement{App: app, Versions: versions})
	}
}

func (a *asking) prepared(kind fault.Kind, slug string) {
	if a.q.Prepared != nil {
		a.q.Prepared.Faults = append(slices.Clone(a.q.Prepared.Faults), fault.New(kind, slug, "so it is"))
	}
}

type spoil struct {
	slug    string
	actions []delivery.Action
	with    func(*asking)
	not     []string // slugs that it can not come with: they are about what is not there then
}

// spoils provoke every slug of API.md, and those beside them.
func spoils() []spoil {
	all := []delivery.Action{delivery.Install, delivery.Upgrade, delivery.Uninstall}
	come := []delivery.Action{delivery.Install, delivery.Upgrade}
	up, off := []delivery.Action{delivery.Upgrade}, []delivery.Action{delivery.Uninstall}
	return []spoil{
		{"license_inactive", all, func(a *asking) { a.license.Status = entitlement.LicenseSuspended }, nil},
		{"license_expired", all, func(a *asking) { a.license.ExpiresAt = a.q.Now }, nil},
		{"not_entitled", all, func(a *asking) { a.rights["shop"].WithdrawnAt = a.q.Now.Add(-time.Hour) }, nil},
		{"quota_exceeded", come, func(a *asking) { a.license.Quota.MilliCPU = 199 }, nil},
		{"version_unknown", all, func(a *asking) { a.q.Version = "9.9.9" }, []string{
			"dependency_missing", "dependency_conflict", "dependency_cycle", "downgrade_refused", "schema_gate_closed", "app_not_deployed",
		}},
		{"dependency_missing", come, func(a *asking) { a.requires("ghost", "^1") }, nil},
		{"dependency_conflict", come, func(a *asking) { a.requires("db", "^2") }, nil},
		{"dependency_cycle", come, func(a *asking) {
			a.apps["ring"] = delivery.DesiredApp{App: "ring", Version: "1.0.0"}
			a.releases["ring"] = outlines("ring 1.0.0: shop")
			a.requires("ring", "^1")
		}, nil},
		{"dependents_remain", off, func(a *asking) {
			a.apps["till"] = delivery.DesiredApp{App: "till", Version: "1.0.0", Requires: []string{"shop"}}
		}, nil},
		{"downgrade_refused", up, func(a *asking) { a.q.Version = "0.9.0" }, []string{"schema_gate_closed", "app_not_deployed"}},
		{"schema_gate_closed", up, func(a *asking) { a.releases["shop"][2].SchemaGate = true }, []string{"app_not_deployed"}},
		{"intent_in_flight", all, func(a *asking) {
			a.q.InFlight = []delivery.IntentRecord{{ID: "int_1", App: "shop", Action: delivery.Upgrade, State: delivery.IntentDelivering}}
		}, nil},
		{"parameter_not_settable", come, func(a *asking) { a.prepared(fault.Invalid, "parameter_not_settable") }, nil},
		{"parameter_not_settable", off, func(a *asking) { a.q.Parameters = map[string]string{"size": "1"} }, nil},
		{"image_missing", come, func(a *asking) { a.prepared(fault.NotFound, "image_missing") }, nil},
		{"image_check_unavailable", come, func(a *asking) { a.prepared(fault.Unavailable, "image_check_unavailable") }, nil},
		{"platform_unsupported", come, func(a *asking) { a.prepared(fault.Invalid, "platform_unsupported") }, nil},
		{"already_deployed", []delivery.Action{delivery.Install}, func(a *asking) {
			a.apps["shop"] = delivery.DesiredApp{App: "shop", Version: "1.0.0"}
		}, nil},
		{"app_not_deployed", []delivery.Action{delivery.Upgrade, delivery.Uninstall}, func(a *asking) { delete(a.apps, "shop") }, nil},
	}
}

func spoilsOf(action delivery.Action) []spoil {
	return slices.DeleteFunc(spoils(), func(s spoil) bool { return !slices.Contains(s.actions, action) })
}

func slugsOf(faults []*fault.Error) []string {
	out := []string{}
	for _, f := range faults {
		out = append(out, f.Slug)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func actions() []delivery.Action {
	return []delivery.Action{delivery.Install, delivery.Upgrade, delivery.Uninstall}
}

// What nothing stands against is granted, with the version that was found and the one before.
func TestWhatNothingStandsAgainstIsGranted(t *testing.T) {
	t.Parallel()
	for action, want := range map[delivery.Action][2]string{
		delivery.Install: {"2.0.0", ""}, delivery.Upgrade: {"2.0.0", "1.0.0"}, delivery.Uninstall: {"1.0.0", "1.0.0"},
	} {
		j := granted(action).judge()
		if err := j.Refusal(); err != nil || j.Version != want[0] || j.From != want[1] || len(j.Waived) > 0 {
			t.Errorf("%s: %+v, %v", action, j, err)
		}
	}
}

// Every slug of API.md is provoked alone and nothing else is told with it; it has a cure; and it is in Errors.
func TestEverySlugAlone(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, action := range actions() {
		for _, s := range spoilsOf(action) {
			seen[s.slug] = true
			a := granted(action)
			s.with(a)
			j := a.judge()
			if got := slugsOf(j.Against); !slices.Equal(got, []string{s.slug}) {
				t.Errorf("%s of %s: got %v", s.slug, action, got)
				continue
			}
			f, _ := fault.As(j.Refusal())
			if f.Slug != s.slug || len(f.Errors) == 0 || f.Cure == "" || f.Errors[0].Cure == "" || f.Detail != f.Errors[0].Detail {
				t.Errorf("%s of %s: refused by %+v", s.slug, action, f)
			}
		}
	}
	for _, slug := range []string{
		"license_inactive", "not_entitled", "license_expired", "quota_exceeded", "version_unknown", "dependency_missing",
		"dependency_conflict", "dependency_cycle", "dependents_remain", "downgrade_refused", "parameter_not_settable", "image_missing",
		"image_check_unavailable", "platform_unsupported", "schema_gate_closed", "intent_in_flight",
	} {
		if !seen[slug] {
			t.Errorf("%s is not provoked", slug)
		}
	}
}

// compatible says whether spoils can be there at once.
func compatible(set []spoil) bool {
	for _, s := range set {
		for _, o := range set {
			if slices.Contains(s.not, o.slug) {
				return false
			}
		}
	}
	return true
}

func wanted(set []spoil) []string {
	out := []string{}
	for _, s := range set {
		out = append(out, s.slug)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// combinations calls do with every pair and every triple of what can be there at once, for every action.
func combinations(do func(action delivery.Action, set []spoil)) {
	for _, action := range actions() {
		all := spoilsOf(action)
		for i := range all {
			for j := i + 1; j < len(all); j++ {
				if pair := []spoil{all[i], all[j]}; compatible(pair) {
					do(action, pair)
				}
				for k := j + 1; k < len(all); k++ {
					if triple := []spoil{all[i], all[j], all[k]}; compatible(triple) {
						do(action, triple)
					}
				}
			}
		}
	}
}

// What fails alone fails in company: every pair and every triple is told whole, each part with its cure.
func TestWhatFailsAloneFailsInCompany(t *testing.T) {
	t.Parallel()
	tried := 0
	combinations(func(action delivery.Action, set []spoil) {
		tried++
		a := granted(action)
		for _, s := range set {
			s.with(a)
		}
		j := a.judge()
		if got := slugsOf(j.Against); !slices.Equal(got, wanted(set)) {
			t.Errorf("%s: got %v, want %v", action, got, wanted(set))
		}
		f, _ := fault.As(j.Refusal())
		if got := slugsOf(f.Errors); !slices.Equal(got, wanted(set)) {
			t.Errorf("%s: the answer names %v, want %v", action, got, wanted(set))
		}
		for _, part := range j.Against {
			if part.Cure == "" || part.Detail == "" {
				t.Errorf("%s: %+v has no cure", action, part)
			}
		}
	})
	if tried < 800 {
		t.Errorf("only %d combinations were tried", tried)
	}
}

// Observe mode records what is commercial and lets it pass; what can not run is refused all the same, in any company.
func TestObserveLetsPassWhatIsCommercialOnly(t *testing.T) {
	t.Parallel()
	commercial := []string{"license_expired", "license_inactive", "not_entitled", "quota_exceeded"}
	check := func(action delivery.Action, set []spoil) {
		a := granted(action)
		for _, s := range set {
			s.with(a)
		}
		a.license.Enforcement = entitlement.Observe
		j := a.judge()
		refused, waived := []string{}, []string{}
		for _, slug := range wanted(set) {
			if slices.Contains(commercial, slug) {
				waived = append(waived, slug)
			} else {
				refused = append(refused, slug)
			}
		}
		got := slices.Sorted(slices.Values(j.Waived))
		if !slices.Equal(got, waived) || !slices.Equal(slugsOf(j.Against), refused) || (j.Refusal() == nil) != (len(refused) == 0) {
			t.Errorf("%s of %v: waived %v, refused %v", action, wanted(set), got, slugsOf(j.Against))
		}
	}
	combinations(check)
	for _, action := range actions() {
		for _, s := range spoilsOf(action) {
			check(action, []spoil{s})
		}
	}
}

// Of an app that never was on the license nothing is told but that, in either mode, whatever else is wrong.
func TestWhatNeverWasEntitledMayAsWellNotExist(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		action := rapid.SampledFrom(actions()).Draw(t, "action")
		a := granted(action)
		mode := rapid.SampledFrom([]entitlement.Enforcement{entitlement.Enforce, entitlement.Observe}).Draw(t, "mode")
		for _, s := range rapid.SliceOf(rapid.SampledFrom(spoilsOf(action))).Draw(t, "spoils") {
			if s.slug != "license_inactive" && s.slug != "license_expired" {
				s.with(a)
			}
		}
		delete(a.rights, "shop")
		a.license.Enforcement = mode
		j := a.judge()
		if got := slugsOf(j.Against); !slices.Equal(got, []string{"not_entitled"}) || j.Version != "" || j.From != "" {
			t.Fatalf("got %v, %+v", got, j)
		}
	})
}

// A refusal is a conflict only where nothing but conflicts stands against the intent, and says when to try again.
func TestKindOfARefusal(t *testing.T) {
	t.Parallel()
	gate := fault.New(fault.Conflict, "schema_gate_closed", "closed")
	flight := fault.New(fault.Conflict, "intent_in_flight", "flying")
	image := fault.New(fault.NotFound, "image_missing", "gone")
	away := fault.New(fault.Unavailable, "image_check_unavailable", "away").After(time.Minute)
	for _, c := range []struct {
		against []*fault.Error
		kind    fault.Kind
		after   time.Duration
	}{
		{[]*fault.Error{gate}, fault.Conflict, 0}, {[]*fault.Error{gate, flight}, fault.Conflict, 0},
		{[]*fault.Error{image}, fault.Invalid, 0}, {[]*fault.Error{gate, image}, fault.Invalid, 0},
		{[]*fault.Error{away}, fault.Invalid, time.Minute}, {[]*fault.Error{gate, away}, fault.Invalid, time.Minute},
	} {
		f, ok := fault.As(delivery.Refused(c.against))
		if !ok || f.Kind != c.kind || f.RetryAfter != c.after || len(f.Errors) != len(c.against) || f.Slug != c.against[0].Slug {
			t.Errorf("%v: %+v", c.against, f)
		}
	}
	if delivery.Refused(nil) != nil {
		t.Error("nothing is refused")
	}
}

// Details of single rules that the table above does not show.
func TestRulesOfIntents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action delivery.Action
		with   func(*asking)
		slugs  []string
		ver    string
	}{
		"an upgrade that passes over a gated release": {delivery.Upgrade, func(a *asking) {
			a.releases["shop"] = append(outlines("shop 3.0.0: db ^1"), a.releases["shop"]...)
			a.releases["shop"][3].SchemaGate = true
			a.q.Version = "3.0.0"
		}, []string{"schema_gate_closed"}, "3.0.0"},
		"an upgrade beneath a gated release": {delivery.Upgrade, func(a *asking) {
			a.releases["shop"] = append(outlines("shop 3.0.0: db ^1"), a.releases["shop"]...)
			a.releases["shop"][0].SchemaGate = true
			a.q.Version = "2.0.0"
		}, []string{}, "2.0.0"},
		"an open gate":                   {delivery.Upgrade, func(a *asking) { a.releases["shop"][2].SchemaGate, a.q.GateOpen = true, true }, []string{}, "2.0.0"},
		"the gate is not for installing": {delivery.Install, func(a *asking) { a.releases["shop"][2].SchemaGate = true }, []string{}, "2.0.0"},
		"the same version again":         {delivery.Upgrade, func(a *asking) { a.q.Version = "1.0.0" }, []string{"downgrade_refused"}, "1.0.0"},
		"nothing above": {delivery.Upgrade, func(a *asking) {
			a.apps["shop"] = delivery.DesiredApp{App: "shop", Version: "2.0.0"}
		}, []string{"downgrade_refused"}, ""},
		"an upgrade that goes nowhere above does not go down": {delivery.Upgrade, func(a *asking) {
			a.releases["shop"] = outlines("shop 0.9.0", "shop 1.0.0", "shop 2.0.0: db ^2")
		}, []string{"dependency_conflict"}, "2.0.0"},
		"a pre-release is below its release": {delivery.Upgrade, func(a *asking) {
			a.releases["shop"] = append(outlines("shop 1.0.0-rc.1"), a.releases["shop"]...)
			a.rights["shop"].Versions, a.q.Version = ">=0.0.0-0", "1.0.0-rc.1"
		}, []string{"downgrade_refused"}, "1.0.0-rc.1"},
		"a version that the license does not reach": {delivery.Upgrade, func(a *asking) {
			a.rights["shop"].Versions, a.q.Version = "^1", "2.0.0"
		}, []string{"version_unknown"}, ""},
		"a tombstone is not there":     {delivery.Install, func(a *asking) { a.apps["shop"] = delivery.DesiredApp{App: "shop", Version: "1.0.0", Removed: true} }, []string{}, "2.0.0"},
		"a tombstone provides nothing": {delivery.Install, func(a *asking) { a.apps["db"] = delivery.DesiredApp{App: "db", Version: "1.0.0", Removed: true} }, []string{"dependency_missing"}, "2.0.0"},
		"a tombstone needs nothing": {delivery.Uninstall, func(a *asking) {
			a.apps["till"] = delivery.DesiredApp{App: "till", Requires: []string{"shop"}, Removed: true}
		}, []string{}, "1.0.0"},
		"an intent for another app":     {delivery.Install, func(a *asking) { a.q.InFlight = []delivery.IntentRecord{{App: "db"}} }, []string{}, "2.0.0"},
		"an app that expired by itself": {delivery.Install, func(a *asking) { a.rights["shop"].ExpiresAt = a.q.Now }, []string{"license_expired"}, "2.0.0"},
		"a quota that is full to the brim": {delivery.Install, func(a *asking) {
			a.license.Quota = entitlement.Usage{Apps: 2, Replicas: 4, MilliCPU: 300, MemoryBytes: 300}
		}, []string{}, "2.0.0"},
		"one app too many, before anything was rendered": {delivery.Install, func(a *asking) { a.license.Quota.Apps, a.q.Prepared = 1, nil }, []string{"quota_exceeded"}, "2.0.0"},
		"an upgrade takes no app more":                   {delivery.Upgrade, func(a *asking) { a.license.Quota.Apps = 1 }, []string{}, "2.0.0"},
		"an upgrade takes the difference only":           {delivery.Upgrade, func(a *asking) { a.license.Quota.MilliCPU = 200 }, []string{}, "2.0.0"},
		"an uninstall of another version":                {delivery.Uninstall, func(a *asking) { a.q.Version = "2.0.0" }, []string{"version_unknown"}, "1.0.0"},
		"an uninstall fits into any quota":               {delivery.Uninstall, func(a *asking) { a.license.Quota = entitlement.Usage{} }, []string{}, "1.0.0"},
		"a deployment that is full": {delivery.Install, func(a *asking) {
			for n := range delivery.MaxDeploymentApps {
				name := "app-" + string(rune('a'+n/26)) + string(rune('a'+n%26))
				a.apps[name] = delivery.DesiredApp{App: name, Version: "1.0.0"}
			}
		}, []string{"too_many_apps"}, "2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := granted(c.action)
			c.with(a)
			j := a.judge()
			if !slices.Equal(slugsOf(j.Against), c.slugs) || j.Version != c.ver {
				t.Errorf("got %v, version %q", slugsOf(j.Against), j.Version)
			}
		})
	}
}

// A license that is revoked lets nothing pass in observe mode either.
func TestRevokedLicenseIsNotObserved(t *testing.T) {
	t.Parallel()
	a := granted(delivery.Install)
	a.license.Status, a.license.Enforcement = entitlement.LicenseRevoked, entitlement.Observe
	if j := a.judge(); !slices.Equal(slugsOf(j.Against), []string{"license_inactive"}) || len(j.Waived) > 0 {
		t.Errorf("got %+v", j)
	}
}

// What was waived is recorded once, and what was taken off the license is no cure.
func TestWithdrawnAndWaived(t *testing.T) {
	t.Parallel()
	a := granted(delivery.Install)
	a.license.Enforcement, a.license.ExpiresAt, a.rights["shop"].ExpiresAt = entitlement.Observe, intentNoon, intentNoon
	if j := a.judge(); !slices.Equal(j.Waived, []string{"license_expired"}) || len(j.Against) > 0 {
		t.Errorf("got %+v", j)
	}
	for withdrawn, cure := range map[bool]string{
		false: "install ring 1.0.0 first", true: `ask the vendor for ring in a version within "^1", with all that it needs`,
	} {
		a := granted(delivery.Install)
		a.requires("ring", "^1")
		if withdrawn {
			a.rights["ring"].WithdrawnAt = intentNoon
		}
		if j := a.judge(); len(j.Against) != 1 || j.Against[0].Cure != cure {
			t.Errorf("withdrawn %t: %+v", withdrawn, j.Against)
		}
	}
}
