package entitlement_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

func slugs(errs []*fault.Error) string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Slug)
	}
	return strings.Join(out, " ")
}

// Each rule refuses alone, and all that are not met are told together, each with a cure.
func TestJudge(t *testing.T) {
	t.Parallel()
	on := &entitlement.Entitlement{App: "shop"}
	brief := &entitlement.Entitlement{App: "shop", ExpiresAt: noon().Add(hour)}
	off := &entitlement.Entitlement{App: "shop", WithdrawnAt: noon()}
	for _, c := range []struct {
		name   string
		status entitlement.LicenseStatus
		e      *entitlement.Entitlement
		after  time.Duration
		want   string
	}{
		{"nothing stands against it", entitlement.LicenseActive, on, 0, ""},
		{"suspended", entitlement.LicenseSuspended, on, 0, "license_inactive"},
		{"revoked", entitlement.LicenseRevoked, on, 0, "license_inactive"},
		{"never entitled", entitlement.LicenseActive, nil, 0, "not_entitled"},
		{"withdrawn", entitlement.LicenseActive, off, 0, "not_entitled"},
		{"just before the expiry", entitlement.LicenseActive, on, 100*hour - 1, ""},
		{"at the expiry, though in the grace", entitlement.LicenseActive, on, 100 * hour, "license_expired"},
		{"just before the app's expiry", entitlement.LicenseActive, brief, hour - 1, ""},
		{"at the app's expiry", entitlement.LicenseActive, brief, hour, "license_expired"},
		{"both expired", entitlement.LicenseActive, brief, 100 * hour, "license_expired license_expired"},
		{"all together", entitlement.LicenseSuspended, off, 100 * hour, "license_inactive not_entitled license_expired"},
	} {
		r := license(t, nil).Record()
		r.Status = c.status
		errs := entitlement.RestoreLicense(r).Judge(c.e, noon().Add(c.after))
		if got := slugs(errs); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		for _, e := range errs {
			if e.Cure == "" || e.Kind != fault.Conflict {
				t.Errorf("%s: %v has no cure or another kind", c.name, e)
			}
		}
	}
}

// Observe mode lets commercial rules pass and nothing else; an app that never was entitled and a revoked license do not.
func TestCommercial(t *testing.T) {
	t.Parallel()
	e := &entitlement.Entitlement{App: "shop", WithdrawnAt: noon()}
	all := []string{"license_inactive", "license_expired", "quota_exceeded", "not_entitled", "image_missing", "dependency_missing", ""}
	for _, c := range []struct {
		mode   entitlement.Enforcement
		status entitlement.LicenseStatus
		e      *entitlement.Entitlement
		passes int // of all, from the start
	}{
		{entitlement.Observe, entitlement.LicenseActive, e, 4},
		{entitlement.Observe, entitlement.LicenseSuspended, e, 4},
		{entitlement.Observe, entitlement.LicenseActive, nil, 3},
		{entitlement.Observe, entitlement.LicenseRevoked, e, 0},
		{entitlement.Enforce, entitlement.LicenseActive, e, 0},
	} {
		r := license(t, nil).Record()
		r.Enforcement, r.Status = c.mode, c.status
		for i, slug := range all {
			if got := entitlement.RestoreLicense(r).Commercial(c.e, slug); got != (i < c.passes) {
				t.Errorf("%+v: %q passes: %v", c, slug, got)
			}
		}
	}
}

// Without a change an app goes from running to suspended at most once, exactly at the instant that was told as Next, and
// never back; and the instant that an agent is told is one and the same all along.
func TestRunsIsMonotoneAndKnowsWhenItChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l, e := restored(r), entitled(r)
		at := someTime(r, "first")
		first := l.Runs(e, at)
		later := at.Add(time.Duration(rapid.Int64Range(0, 200).Draw(r, "later")) * time.Second)
		second := l.Runs(e, later)
		if first.RunUntil != second.RunUntil {
			r.Fatalf("an agent is told %v, then %v", first.RunUntil, second.RunUntil)
		}
		if first.Next.IsZero() && second != first {
			r.Fatalf("%+v was to stay, and became %+v", first, second)
		}
		if first.Next.IsZero() {
			return
		}
		if first.Suspended || !first.Next.After(at) {
			r.Fatalf("%+v at %v is to change again", first, at)
		}
		if before := l.Runs(e, first.Next.Add(-1)); before != first {
			r.Fatalf("%+v changed to %+v before its time", first, before)
		}
		if then := l.Runs(e, first.Next); !then.Suspended || then.Why == "" || !then.Next.IsZero() {
			r.Fatalf("%+v became %+v at its time", first, then)
		}
	})
}

// In enforce mode an app runs until the first end of license, app and withdrawal, plus the grace and nothing less; the
// same that a cut-off agent is told (D1).
func TestEnforcedEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l, e, now := restored(r), entitled(r), someTime(r, "now")
		record := l.Record()
		got := l.Runs(e, now)
		if e == nil || record.Enforcement == entitlement.Observe {
			if want := e == nil || record.Status == entitlement.LicenseRevoked; got.Suspended != want || !got.RunUntil.IsZero() {
				r.Fatalf("in %s mode with %v: %+v", record.Enforcement, e, got)
			}
			return
		}
		over := true
		for _, end := range []time.Time{record.ExpiresAt, e.ExpiresAt, e.WithdrawnAt} {
			if end.IsZero() {
				continue
			}
			if got.RunUntil.After(end.Add(record.Grace)) {
				r.Fatalf("runs until %v, past %v", got.RunUntil, end.Add(record.Grace))
			}
			over = over && !got.RunUntil.Equal(end.Add(record.Grace))
		}
		if over {
			r.Fatalf("runs until %v, which is no end", got.RunUntil)
		}
		want := record.Status != entitlement.LicenseActive || !now.Before(got.RunUntil)
		if got.Suspended != want || (got.Why != "") != want {
			r.Fatalf("at %v, with its end at %v: %+v", now, got.RunUntil, got)
		}
	})
}

// The reason that is told is that of the end that came first.
func TestWhy(t *testing.T) {
	t.Parallel()
	late := noon().Add(1000 * hour)
	for _, c := range []struct {
		status entitlement.LicenseStatus
		e      *entitlement.Entitlement
		want   string
	}{
		{entitlement.LicenseActive, &entitlement.Entitlement{}, "license expired"},
		{entitlement.LicenseActive, &entitlement.Entitlement{ExpiresAt: noon().Add(hour)}, "app expired"},
		{entitlement.LicenseActive, &entitlement.Entitlement{ExpiresAt: noon().Add(hour), WithdrawnAt: noon()}, "app withdrawn"},
		{entitlement.LicenseActive, &entitlement.Entitlement{WithdrawnAt: noon().Add(500 * hour)}, "license expired"},
		{entitlement.LicenseSuspended, &entitlement.Entitlement{}, "license suspended"},
		{entitlement.LicenseRevoked, &entitlement.Entitlement{}, "license revoked"},
		{entitlement.LicenseActive, nil, "app not on the license"},
	} {
		r := license(t, nil).Record()
		r.Status = c.status
		if got := entitlement.RestoreLicense(r).Runs(c.e, late); got.Why != c.want || !got.Suspended {
			t.Errorf("%s %+v: %+v", c.status, c.e, got)
		}
	}
}

// A renewal, a resumption and an app put on again give back exactly the right that there was.
func TestRenewalRestoresExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := entitlement.RestoreLicense(license(t, nil).Record())
		rows, err := l.Entitle(nil, []entitlement.Entitled{{App: "shop"}}, noon())
		if err != nil {
			r.Fatal(err)
		}
		on := rows[0]
		was := l.Runs(&on, noon())
		at := noon().Add(time.Duration(rapid.Int64Range(0, 300).Draw(r, "hours")) * hour)
		until := l.Record().ExpiresAt
		if rapid.Bool().Draw(r, "suspend") {
			if err := l.Suspend(at); err != nil || !l.Runs(&on, at).Suspended {
				r.Fatal(err)
			}
			if err := l.Resume(at); err != nil {
				r.Fatal(err)
			}
		}
		off, err := l.Entitle(rows, nil, at)
		if err != nil || len(off) != 1 {
			r.Fatalf("withdrawn as %v (%v)", off, err)
		}
		if end := at.Add(l.Record().Grace); !l.Runs(&off[0], end).Suspended {
			r.Fatal("a withdrawn app runs after the grace")
		}
		back, err := l.Entitle(off, []entitlement.Entitled{{App: "shop"}}, at.Add(hour))
		if err != nil || back[0] != on {
			r.Fatalf("put on again as %+v (%v), it was %+v", back, err, on)
		}
		if renewed := at.Add(500 * hour); rapid.Bool().Draw(r, "renew") {
			if _, err := l.Amend(entitlement.Amendment{ExpiresAt: &renewed}, at); err != nil || l.Runs(&back[0], at).Suspended {
				r.Fatalf("renewed, and it does not run (%v)", err)
			}
			later := until.Add(l.Record().Grace)
			if later.Before(renewed) && l.Runs(&back[0], later).Suspended {
				r.Fatal("the old expiry still bites")
			}
			return
		}
		if got := l.Runs(&back[0], noon()); got != was {
			r.Fatalf("had %+v, has %+v", was, got)
		}
	})
}
