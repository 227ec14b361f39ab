package licensing_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/licensing"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// A customer is made once, and listed by id.
func TestCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump()
	_, err := w.CreateCustomer(w.ctx, licensing.CreateCustomerRequest{Actor: alice, ID: "acme", Name: "Other"})
	w.refused(err, fault.AlreadyExists, "customer_exists")
	_, err = w.CreateCustomer(w.ctx, licensing.CreateCustomerRequest{Actor: alice, ID: "Acme", Name: "Other"})
	w.refused(err, fault.Invalid, "invalid_id")
	_, err = w.Customer(w.ctx, "nobody")
	w.refused(err, fault.NotFound, "customer_not_found")
	w.same(before, "what was refused")
	made, err := w.CreateCustomer(w.ctx, licensing.CreateCustomerRequest{Actor: alice, ID: "beta", Name: "Beta"})
	w.must(err)
	w.wantEntries(before.Audit.Sequence, "alice customer.created customer/beta name=Beta")
	found, err := w.Customer(w.ctx, "beta")
	w.must(err)
	page, err := w.Customers(w.ctx, store.Page{Limit: 1})
	w.must(err)
	rest, err := w.Customers(w.ctx, store.Page{Limit: 1, After: page.Next})
	w.must(err)
	if found != made || page.Items[0].ID != "acme" || rest.Items[0] != made || rest.Next != "" {
		t.Fatalf("found %+v, listed %+v and %+v", found, page, rest)
	}
}

// A key is shown once, kept as its hash under the pepper, and is the license's and nobody else's.
func TestCreateLicense(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Pepper(w.ctx) // is made once, and written down
	w.must(err)
	before := w.dump()
	out, other := w.license(), w.license()
	if out.License.KeyHash != ([32]byte{}) || out.License.Grace != entitlement.DefaultGrace || out.Clear == other.Clear {
		t.Fatalf("made %+v", out)
	}
	id, err := entitlement.ParseKey(out.Clear)
	w.must(err)
	pepper, err := w.Pepper(w.ctx)
	w.must(err)
	w.view(func(ctx context.Context, r *store.Roles) error {
		kept, err := r.Licenses.Get(ctx, id)
		w.must(err)
		if !kept.Matches(entitlement.HashKey(pepper, out.Clear)) || kept.Matches(entitlement.HashKey(pepper, other.Clear)) {
			t.Errorf("the key of %s is not its own", id)
		}
		if strings.Contains(fmt.Sprint(kept), out.Clear) {
			t.Error("the key is kept")
		}
		return nil
	})
	entries := w.entries(before.Audit.Sequence)
	const want = "alice license.created license/lic_1_00000000000000000000000001 customer=acme enforce=enforce environment=PROD " +
		"expires_at=2026-04-12T04:00:00Z grace=168h0m0s quota.apps=3 quota.cpu=4 quota.memory=8Gi quota.replicas=10 revision=1 status=active"
	if len(entries) != 2 || entries[0] != want {
		t.Errorf("the audit log says %q", entries)
	}
}

// Whatever is wrong with a license is refused before anything is kept.
func TestCreateLicenseRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Pepper(w.ctx) // is made once, and written down
	w.must(err)
	before := w.dump()
	for slug, change := range map[string]func(*licensing.CreateLicenseRequest){
		"customer_not_found": func(in *licensing.CreateLicenseRequest) { in.Customer = "nobody" },
		"invalid_id":         func(in *licensing.CreateLicenseRequest) { in.Customer = "" },
		"expiry_invalid":     func(in *licensing.CreateLicenseRequest) { in.ExpiresAt = time.Time{} },
		"grace_invalid":      func(in *licensing.CreateLicenseRequest) { grace := -hour; in.Grace = &grace },
		"out_of_range":       func(in *licensing.CreateLicenseRequest) { in.Quota.Apps = 0 },
		"enforce_invalid":    func(in *licensing.CreateLicenseRequest) { in.Enforcement = "" },
	} {
		in := request()
		change(&in)
		out, err := w.CreateLicense(w.ctx, in)
		if fault.SlugOf(err) != slug || out.Clear != "" {
			t.Errorf("%s: got %v", slug, err)
		}
	}
	w.same(before, "what was refused")
}

// Each change of a license makes one revision, calls every one of its deployments to review and no other, hints at the
// license, and is audited with what was before and what is after.
func TestChanges(t *testing.T) {
	t.Parallel()
	expiry, grace, mode := noon.Add(2000*hour), hour, entitlement.Observe
	amend := func(a entitlement.Amendment) func(*world, licensing.LicenseRequest) error {
		return func(w *world, in licensing.LicenseRequest) error {
			_, err := w.Amend(w.ctx, licensing.AmendRequest{LicenseRequest: in, Amendment: a})
			return err
		}
	}
	for _, c := range []struct {
		name   string
		do     func(*world, licensing.LicenseRequest) error
		action string
	}{
		{"renewed", amend(entitlement.Amendment{ExpiresAt: &expiry}),
			"license.amended ID after.expires_at=2026-05-23T20:00:00Z before.expires_at=2026-04-12T04:00:00Z revision=2"},
		{"amended", amend(entitlement.Amendment{Grace: &grace, Enforcement: &mode}),
			"license.amended ID after.enforce=observe after.grace=1h0m0s before.enforce=enforce before.grace=168h0m0s revision=2"},
		{"suspended", func(w *world, in licensing.LicenseRequest) error { _, err := w.Suspend(w.ctx, in); return err },
			"license.suspended ID after.status=suspended before.status=active revision=2"},
		{"revoked", func(w *world, in licensing.LicenseRequest) error { _, err := w.Revoke(w.ctx, in); return err },
			"license.revoked ID after.status=revoked before.status=active revision=2"},
		{"rotated", func(w *world, in licensing.LicenseRequest) error { _, err := w.RotateKey(w.ctx, in); return err },
			"license.key_rotated ID revision=2"},
		{"entitled", func(w *world, in licensing.LicenseRequest) error { _, err := w.entitle(in.License, "shop"); return err },
			"license.apps_changed ID app.00=shop: none -> entitled revision=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			own, other := w.license().License.ID, w.license().License.ID
			w.deployment("ins_1", own)
			w.deployment("ins_2", own)
			w.deployment("ins_3", other)
			before := w.dump()
			w.clock.Advance(hour)
			w.must(c.do(w, on(own)))
			w.wantEntries(before.Audit.Sequence, "alice "+strings.Replace(c.action, "ID", "license/"+own, 1))
			w.told(before, licensing.Topic(own), licensing.Reviews)
			for id, want := range map[string]time.Time{"ins_1": noon.Add(hour), "ins_2": noon.Add(hour), "ins_3": {}} {
				if at := w.reviewed(id); !at.Equal(want) {
					t.Errorf("%s is to be reviewed at %v", id, at)
				}
			}
			view, err := w.License(w.ctx, own)
			w.must(err)
			if view.License.Revision != 2 || !view.License.ChangedAt.Equal(noon.Add(hour)) || view.License.KeyHash != ([32]byte{}) {
				t.Errorf("the license is %+v", view.License)
			}
		})
	}
}

// What is in force already, or is refused, changes nothing, calls nobody and is not audited.
func TestNoChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	w.deployment("ins_1", id)
	_, err := w.entitle(id, "shop")
	w.must(err)
	w.reviewed("ins_1")
	before := w.dump()
	expiry, past := request().ExpiresAt, noon
	_, err = w.Amend(w.ctx, licensing.AmendRequest{LicenseRequest: on(id), Amendment: entitlement.Amendment{ExpiresAt: &expiry}})
	w.must(err)
	_, err = w.entitle(id, "shop")
	w.must(err)
	_, err = w.Amend(w.ctx, licensing.AmendRequest{LicenseRequest: on(id), Amendment: entitlement.Amendment{ExpiresAt: &past}})
	w.refused(err, fault.Invalid, "expiry_invalid")
	_, err = w.Resume(w.ctx, on(id))
	w.refused(err, fault.Conflict, "license_status_conflict")
	for _, do := range []func(context.Context, licensing.LicenseRequest) (entitlement.LicenseRecord, error){w.Suspend, w.Resume, w.Revoke} {
		_, err := do(w.ctx, on("lic_nobody"))
		w.refused(err, fault.NotFound, "license_not_found")
	}
	_, err = w.RotateKey(w.ctx, on("lic_nobody"))
	w.refused(err, fault.NotFound, "license_not_found")
	_, err = w.License(w.ctx, "lic_nobody")
	w.refused(err, fault.NotFound, "license_not_found")
	_, err = w.Apps(w.ctx, "lic_nobody")
	w.refused(err, fault.NotFound, "license_not_found")
	w.same(before, "what changes nothing")
}

// After a rotation the old key is refused; a revoked license is given no key.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.license()
	renewed, err := w.RotateKey(w.ctx, on(old.License.ID))
	w.must(err)
	pepper, err := w.Pepper(w.ctx)
	w.must(err)
	kept := entitlement.RestoreLicense(w.dump().Licenses[0])
	if kept.Matches(entitlement.HashKey(pepper, old.Clear)) || !kept.Matches(entitlement.HashKey(pepper, renewed.Clear)) {
		t.Fatal("the old key is the right one still")
	}
	_, err = w.Revoke(w.ctx, on(old.License.ID))
	w.must(err)
	out, err := w.RotateKey(w.ctx, on(old.License.ID))
	w.refused(err, fault.Conflict, "license_revoked")
	if out.Clear != "" {
		t.Fatal("a key was shown that nobody has")
	}
}

// Licenses are listed by id, of one customer or of all, and never with their hashes.
func TestLicenses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.CreateCustomer(w.ctx, licensing.CreateCustomerRequest{Actor: alice, ID: "beta", Name: "Beta"})
	w.must(err)
	for i := range 4 {
		in := request()
		if i%2 == 0 {
			in.Customer = "beta"
		}
		_, err := w.CreateLicense(w.ctx, in)
		w.must(err)
	}
	for customer, want := range map[string]int{"": 4, "acme": 2, "beta": 2, "nobody": 0} {
		seen, last, page := 0, "", store.Page{Limit: 1}
		for {
			list, err := w.Licenses(w.ctx, licensing.LicensesRequest{Customer: customer, Page: page})
			w.must(err)
			for _, r := range list.Items {
				if seen++; r.ID <= last || r.KeyHash != ([32]byte{}) || customer != "" && r.Customer != customer {
					t.Fatalf("listed %+v after %s", r, last)
				}
				last = r.ID
			}
			if page.After = list.Next; list.Next == "" {
				break
			}
		}
		if seen != want {
			t.Errorf("%d licenses of %q", seen, customer)
		}
	}
}

// A license tells what all its deployments use of its quota, and no other's.
func TestLicenseTellsWhatIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, other := w.license().License.ID, w.license().License.ID
	use := entitlement.Usage{Apps: 1, Replicas: 2, MilliCPU: 3, MemoryBytes: 4}
	for id, license := range map[string]string{"ins_1": own, "ins_2": own, "ins_3": other} {
		w.deployment(id, license)
		w.do(func(ctx context.Context, r *store.Roles) error {
			d, err := r.DesiredStates.Get(ctx, id)
			w.must(err)
			record := d.Record()
			record.Usage = use
			return r.DesiredStates.Save(ctx, delivery.RestoreDesired(record))
		})
	}
	view, err := w.License(w.ctx, own)
	w.must(err)
	if view.Used != use.Add(use) {
		t.Fatalf("%+v is used", view.Used)
	}
}

// Two changes at once both count: no revision is lost, whichever replica makes it.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	replicas := []*licensing.Licensing{w.Licensing, w.replica(w.mem, 2)}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			grace := time.Duration(i+1) * time.Minute
			_, err := replicas[i%2].Amend(w.ctx, licensing.AmendRequest{
				LicenseRequest: on(id), Amendment: entitlement.Amendment{Grace: &grace},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	view, err := w.License(w.ctx, id)
	w.must(err)
	if view.License.Revision != 21 {
		t.Fatalf("revision %d after 20 changes", view.License.Revision)
	}
}
