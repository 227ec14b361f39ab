package entitlement_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/ident"
)

// A new license is active at revision 1, and every field that is wrong is named at once.
func TestNewLicenseNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	r := license(t, nil).Record()
	if r.Status != entitlement.LicenseActive || r.Revision != 1 || r.CreatedAt != noon() || r.ChangedAt != noon() {
		t.Fatalf("a new license is %+v", r)
	}
	_, err := entitlement.NewLicense(entitlement.LicenseSpec{
		ID: "Lic", Customer: "A", Environment: "prod", Enforcement: "on", Grace: -1, KeyHash: [32]byte{1},
	}, noon())
	f, _ := fault.As(err)
	var fields []string
	for _, part := range f.Errors {
		fields = append(fields, part.Field+" "+part.Slug)
	}
	want := []string{
		"id invalid_id", "customer invalid_id", "environment environment_invalid", "enforce enforce_invalid",
		"expires_at expiry_invalid", "grace grace_invalid", "quota.apps out_of_range", "quota.replicas out_of_range",
		"quota.cpu out_of_range", "quota.memory out_of_range",
	}
	if !slices.Equal(fields, want) {
		t.Fatalf("named %q", fields)
	}
}

// Zero is no expiry, a past one is none, and never is not to be had; a grace is whole seconds and may be none at all.
func TestExpiryAndGraceBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, slug string
		change     func(*entitlement.LicenseSpec)
	}{
		{"zero", "expiry_invalid", func(s *entitlement.LicenseSpec) { s.ExpiresAt = time.Time{} }},
		{"now", "expiry_invalid", func(s *entitlement.LicenseSpec) { s.ExpiresAt = noon() }},
		{"in less than is kept", "expiry_invalid", func(s *entitlement.LicenseSpec) { s.ExpiresAt = noon().Add(1) }},
		{"a microsecond on", "", func(s *entitlement.LicenseSpec) { s.ExpiresAt = noon().Add(time.Microsecond) }},
		{"100 years on", "", func(s *entitlement.LicenseSpec) { s.ExpiresAt = noon().AddDate(100, 0, 0) }},
		{"more than that", "expiry_invalid", func(s *entitlement.LicenseSpec) { s.ExpiresAt = noon().AddDate(100, 0, 1) }},
		{"no grace", "", func(s *entitlement.LicenseSpec) { s.Grace = 0 }},
		{"half a second", "grace_invalid", func(s *entitlement.LicenseSpec) { s.Grace = time.Second / 2 }},
		{"the longest grace", "", func(s *entitlement.LicenseSpec) { s.Grace = entitlement.MaxGrace }},
		{"a longer one", "grace_invalid", func(s *entitlement.LicenseSpec) { s.Grace = entitlement.MaxGrace + time.Second }},
		{"no replicas", "out_of_range", func(s *entitlement.LicenseSpec) { s.Quota.Replicas = 0 }},
		{"too much memory", "out_of_range", func(s *entitlement.LicenseSpec) { s.Quota.MemoryBytes = ident.MaxCounter + 1 }},
	} {
		s := spec()
		c.change(&s)
		_, err := entitlement.NewLicense(s, noon())
		if (err == nil) != (c.slug == "") || err != nil && fault.SlugOf(err) != c.slug {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	s := spec()
	s.KeyHash = [32]byte{}
	_, err := entitlement.NewLicense(s, noon())
	refused(t, err, fault.Internal, "license_key_missing")
}

// Every status meets every event: what the diagram has no line for is refused and changes nothing.
func TestEveryStatusMeetsEveryEvent(t *testing.T) {
	t.Parallel()
	events := map[string]func(*entitlement.License, time.Time) error{
		"suspend": (*entitlement.License).Suspend, "resume": (*entitlement.License).Resume, "revoke": (*entitlement.License).Revoke,
	}
	statuses := []entitlement.LicenseStatus{
		entitlement.LicenseActive, entitlement.LicenseSuspended, entitlement.LicenseRevoked,
	}
	want := map[string]string{
		"active suspend": "suspended", "suspended resume": "active", "active revoke": "revoked", "suspended revoke": "revoked",
	}
	for _, status := range statuses {
		for name, do := range events {
			before := license(t, nil).Record()
			before.Status = status
			l := entitlement.RestoreLicense(before)
			err := do(l, noon().Add(hour))
			to, allowed := want[string(status)+" "+name]
			if !allowed {
				refused(t, err, fault.Conflict, "license_status_conflict")
				if l.Record() != before {
					t.Errorf("%s of %s was refused and changed something", name, status)
				}
				continue
			}
			after := before
			after.Status, after.Revision, after.ChangedAt = entitlement.LicenseStatus(to), 2, noon().Add(hour)
			if err != nil || l.Record() != after {
				t.Errorf("%s of %s made %+v (%v)", name, status, l.Record(), err)
			}
		}
	}
	var lines []string
	for _, e := range entitlement.Diagram() {
		lines = append(lines, e.From+" "+e.Event)
		if want[e.From+" "+e.Event] != e.To {
			t.Errorf("the diagram has %v", e)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("the diagram has the lines %q", lines)
	}
}

// A revoked license has no terms to change, no key to rotate and no apps to take on; a suspended one has.
func TestRevokedIsFinal(t *testing.T) {
	t.Parallel()
	expiry := noon().Add(200 * hour)
	changes := map[string]func(*entitlement.License) error{
		"amend": func(l *entitlement.License) error {
			_, err := l.Amend(entitlement.Amendment{ExpiresAt: &expiry}, noon())
			return err
		},
		"rotate": func(l *entitlement.License) error { return l.Rotate([32]byte{2}, noon()) },
		"entitle": func(l *entitlement.License) error {
			_, err := l.Entitle(nil, []entitlement.Entitled{{App: "shop"}}, noon())
			return err
		},
	}
	for name, change := range changes {
		l := license(t, nil)
		if err := l.Suspend(noon()); err != nil {
			t.Fatal(err)
		}
		if err := change(l); err != nil || l.Record().Revision != 3 {
			t.Errorf("%s while suspended: %v, revision %d", name, err, l.Record().Revision)
		}
		if err := l.Revoke(noon()); err != nil {
			t.Fatal(err)
		}
		before := license(t, nil).Record()
		before.Status = entitlement.LicenseRevoked
		l = entitlement.RestoreLicense(before)
		refused(t, change(l), fault.Conflict, "license_revoked")
		if l.Record() != before {
			t.Errorf("%s was refused and changed something", name)
		}
	}
}

// A revision that can not be told in JSON any more is not made, whatever the change.
func TestRevisionsEnd(t *testing.T) {
	t.Parallel()
	last := license(t, nil).Record()
	last.Revision = ident.MaxCounter
	l := entitlement.RestoreLicense(last)
	grace := hour
	_, amended := l.Amend(entitlement.Amendment{Grace: &grace}, noon())
	_, entitled := l.Entitle(nil, []entitlement.Entitled{{App: "shop"}}, noon())
	for _, err := range []error{amended, entitled, l.Rotate([32]byte{2}, noon()), l.Suspend(noon()), l.Revoke(noon())} {
		refused(t, err, fault.Exhausted, "revision_exhausted")
	}
	if l.Record() != last {
		t.Fatalf("left %+v", l.Record())
	}
}

// Amending changes exactly what is named, makes one revision, and none where nothing differs, expired or not.
func TestAmend(t *testing.T) {
	t.Parallel()
	l := license(t, nil)
	before := l.Record()
	later := noon().Add(200 * hour) // the license expired long ago
	grace, mode, more := 3*hour, entitlement.Observe, quota().Add(entitlement.Usage{Apps: 1})
	same := before.ExpiresAt
	changed, err := l.Amend(entitlement.Amendment{ExpiresAt: &same, Grace: &before.Grace, Quota: &before.Quota}, later)
	if changed || err != nil || l.Record() != before {
		t.Fatalf("amending nothing: %v %v %+v", changed, err, l.Record())
	}
	if changed, err = l.Amend(entitlement.Amendment{Grace: &grace, Enforcement: &mode, Quota: &more}, later); err != nil {
		t.Fatal(err)
	}
	want := before
	want.Grace, want.Enforcement, want.Quota, want.Revision, want.ChangedAt = grace, mode, more, 2, later
	if !changed || l.Record() != want {
		t.Fatalf("amended to %+v", l.Record())
	}
	past, wrong, none := noon(), entitlement.Enforcement("off"), entitlement.Usage{}
	_, err = l.Amend(entitlement.Amendment{ExpiresAt: &past, Enforcement: &wrong, Quota: &none}, later)
	if f, _ := fault.As(err); f == nil || len(f.Errors) != 6 || l.Record() != want {
		t.Fatalf("refused with %v, left %+v", err, l.Record())
	}
}

// After a rotation the new key is the right one, and the old one is not.
func TestRotate(t *testing.T) {
	t.Parallel()
	l := license(t, nil)
	if !l.Matches([32]byte{1}) || l.Matches([32]byte{2}) {
		t.Fatal("the key of a new license is another")
	}
	if err := l.Rotate([32]byte{2}, noon()); err != nil {
		t.Fatal(err)
	}
	if l.Matches([32]byte{1}) || !l.Matches([32]byte{2}) || l.Record().Revision != 2 {
		t.Fatalf("rotated to %+v", l.Record())
	}
	refused(t, l.Rotate([32]byte{}, noon()), fault.Internal, "license_key_missing")
}

// A customer has an id and a name for people.
func TestNewCustomer(t *testing.T) {
	t.Parallel()
	c, err := entitlement.NewCustomer("acme", "Acme Größe 客户", noon())
	if err != nil || c != (entitlement.Customer{ID: "acme", Name: "Acme Größe 客户", CreatedAt: noon()}) {
		t.Fatalf("made %+v (%v)", c, err)
	}
	for _, name := range []string{"", "a\nb", "a\x00", "\xff", strings.Repeat("ä", 101)} {
		_, err := entitlement.NewCustomer("acme", name, noon())
		refused(t, err, fault.Invalid, "invalid_name")
	}
	_, err = entitlement.NewCustomer("Acme", "", noon())
	if f, _ := fault.As(err); f == nil || len(f.Errors) != 2 {
		t.Fatalf("refused with %v", err)
	}
}
