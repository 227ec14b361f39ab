package entitlement_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

// Whatever lists follow one another, what is stored entitles to exactly the last one; an app keeps the time it was first
// granted, one that is off keeps when it was taken off, and a list that is in force already makes no rows and no revision.
func TestEntitleMakesTheListSo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := entitlement.RestoreLicense(license(t, nil).Record())
		stored := map[string]entitlement.Entitlement{}
		for step := range rapid.IntRange(1, 6).Draw(r, "steps") {
			now := noon().Add(time.Duration(step) * time.Minute)
			wanted := list(r)
			before, revision := maps.Clone(stored), l.Record().Revision
			rows, err := l.Entitle(slices.Collect(maps.Values(stored)), wanted, now)
			if err != nil {
				r.Fatal(err)
			}
			for _, row := range rows {
				stored[row.App] = row
			}
			holds(r, stored, wanted)
			kept(r, before, stored, now)
			if grew := l.Record().Revision - revision; grew != int64(min(len(rows), 1)) {
				r.Fatalf("%d rows raised the revision by %d", len(rows), grew)
			}
			again, err := l.Entitle(slices.Collect(maps.Values(stored)), wanted, now.Add(time.Second))
			if err != nil || len(again) > 0 {
				r.Fatalf("the same list again made %v (%v)", again, err)
			}
		}
	})
}

func list(r *rapid.T) []entitlement.Entitled {
	apps := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID[string]).Draw(r, "apps")
	var out []entitlement.Entitled
	for _, app := range apps {
		w := entitlement.Entitled{App: app, Versions: rapid.SampledFrom([]string{"", "^1.2.0"}).Draw(r, "versions")}
		if rapid.Bool().Draw(r, "expires") {
			w.ExpiresAt = new(noon().Add(time.Duration(rapid.Int64Range(1, 3).Draw(r, "days")) * 24 * hour))
		}
		out = append(out, w)
	}
	return out
}

func holds(r *rapid.T, stored map[string]entitlement.Entitlement, wanted []entitlement.Entitled) {
	on := 0
	for _, e := range stored {
		if e.WithdrawnAt.IsZero() {
			on++
		}
	}
	for _, w := range wanted {
		e := stored[w.App]
		var until time.Time
		if w.ExpiresAt != nil {
			until = *w.ExpiresAt
		}
		if !e.WithdrawnAt.IsZero() || e.ExpiresAt != until || e.Versions != w.Versions || e.License != spec().ID {
			r.Fatalf("%+v is stored as %+v", w, e)
		}
	}
	if on != len(wanted) {
		r.Fatalf("%d apps are on the license, %d were wanted", on, len(wanted))
	}
}

func kept(r *rapid.T, before, after map[string]entitlement.Entitlement, now time.Time) {
	for app, e := range after {
		was, known := before[app]
		if want := was.GrantedAt; known && e.GrantedAt != want || !known && e.GrantedAt != now {
			r.Fatalf("%s is said to be granted at %v", app, e.GrantedAt)
		}
		if e.WithdrawnAt.IsZero() {
			continue
		}
		want := was.WithdrawnAt
		if want.IsZero() {
			want = now
		}
		if e.WithdrawnAt != want || e.ExpiresAt != was.ExpiresAt || e.Versions != was.Versions {
			r.Fatalf("%+v was taken off as %+v", was, e)
		}
	}
}

// Each app that is wrong is named by its place.
func TestEntitleNamesEveryAppThatIsWrong(t *testing.T) {
	t.Parallel()
	l := license(t, nil)
	_, err := l.Entitle(nil, []entitlement.Entitled{
		{App: "shop"}, {App: "Shop"}, {App: "shop"}, {App: "a", Versions: "latest"}, {App: "b", ExpiresAt: new(noon())},
		{App: "c", Versions: strings.Repeat(">", 201)}, {App: "d", ExpiresAt: new(noon().AddDate(101, 0, 0))},
		{App: "e", ExpiresAt: new(time.Time{})},
	}, noon())
	f, _ := fault.As(err)
	var got []string
	for _, e := range f.Errors {
		got = append(got, e.Field+" "+e.Slug)
	}
	want := []string{
		"apps[1].app invalid_id", "apps[2].app app_repeated", "apps[3].versions versions_invalid",
		"apps[4].expires_at expiry_invalid", "apps[5].versions versions_invalid", "apps[6].expires_at expiry_invalid",
		"apps[7].expires_at expiry_invalid",
	}
	if !slices.Equal(got, want) || l.Record().Revision != 1 {
		t.Fatalf("named %q", got)
	}
}

// A list that was read can be written, though an app on it expired meanwhile; another expiry must lie ahead.
func TestExpiredAppsCanBeWrittenBack(t *testing.T) {
	t.Parallel()
	l := license(t, nil)
	soon := noon().Add(hour)
	rows, err := l.Entitle(nil, []entitlement.Entitled{{App: "shop", ExpiresAt: &soon}}, noon())
	if err != nil {
		t.Fatal(err)
	}
	later := noon().Add(2 * hour)
	more, err := l.Entitle(rows, []entitlement.Entitled{{App: "shop", ExpiresAt: &soon}, {App: "till"}}, later)
	if err != nil || len(more) != 1 || more[0].App != "till" {
		t.Fatalf("written back as %v (%v)", more, err)
	}
	_, err = l.Entitle(rows, []entitlement.Entitled{{App: "shop", ExpiresAt: new(soon.Add(time.Minute))}}, later)
	refused(t, err, fault.Invalid, "expiry_invalid")
}

// A license is bounded in its apps, and in all that ever were on it.
func TestEntitleBounds(t *testing.T) {
	t.Parallel()
	l := license(t, nil)
	var stored []entitlement.Entitlement
	batch := func(from, n int) []entitlement.Entitled {
		var out []entitlement.Entitled
		for i := range n {
			out = append(out, entitlement.Entitled{App: fmt.Sprintf("app-%d", from+i)})
		}
		return out
	}
	_, err := l.Entitle(nil, batch(0, entitlement.MaxApps+1), noon())
	refused(t, err, fault.Invalid, "too_many_apps")
	byApp := map[string]entitlement.Entitlement{}
	for from := 0; from < entitlement.MaxRows; from += entitlement.MaxApps {
		rows, err := l.Entitle(stored, batch(from, entitlement.MaxApps), noon())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			byApp[row.App] = row
		}
		stored = slices.Collect(maps.Values(byApp))
	}
	revision := l.Record().Revision
	_, err = l.Entitle(stored, batch(entitlement.MaxRows, 1), noon())
	refused(t, err, fault.Exhausted, "entitlements_exhausted")
	if rows, err := l.Entitle(stored, batch(0, 1), noon()); err != nil || len(rows) == 0 || l.Record().Revision != revision+1 {
		t.Fatalf("an app that was on it before is refused: %v", err)
	}
}
