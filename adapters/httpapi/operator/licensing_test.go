package operator_test

import (
	"context"
	"strings"
	"testing"

	"berth/adapters/contract"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/identity"
	"berth/ports/store"
)

const aLicense = `{"customer":"acme","environment":"PROD","expires_at":"2027-03-01T00:00:00Z","enforce":"enforce",` +
	`"quota":{"apps":3,"replicas":10,"cpu":"1500m","memory":"8Gi"}}`

// licensed is a world with the customer acme, a license of it, and the apps shop and db.
func licensed(t *testing.T) (*world, contract.License) {
	t.Helper()
	w := newWorld(t)
	asks[contract.Customer](w, "POST", "/api/v1/customers", `{"id":"acme","name":"Acme"}`, 201)
	w.apps("shop", "db")
	return w, asks[contract.License](w, "POST", "/api/v1/licenses", aLicense, 201)
}

// A customer is made, shown and listed.
func TestCustomers(t *testing.T) {
	t.Parallel()
	w, _ := licensed(t)
	made := asks[contract.Customer](w, "POST", "/api/v1/customers", `{"id":"beta","name":"Beta"}`, 201)
	if got := asks[contract.Customer](w, "GET", "/api/v1/customers/beta", "", 200); got != made || !got.CreatedAt.Equal(noon()) {
		t.Errorf("shown as %+v", got)
	}
	first := asks[contract.Customers](w, "GET", "/api/v1/customers?limit=1", "", 200)
	rest := asks[contract.Customers](w, "GET", "/api/v1/customers?cursor="+first.Next, "", 200)
	if first.Customers[0].ID != "acme" || len(rest.Customers) != 1 || rest.Customers[0] != made {
		t.Errorf("listed as %+v and %+v", first, rest)
	}
	w.refuses("POST", "/api/v1/customers", `{"id":"beta","name":"Beta"}`, 409, "customer_exists")
	w.refuses("POST", "/api/v1/customers", `{"id":"B","name":"\u0007"}`, 422, "invalid_id", "invalid_name")
	w.refuses("GET", "/api/v1/customers/nobody", "", 404, "customer_not_found")
}

// A license's key is shown when it is made or rotated, and nowhere else, a repeated answer included.
func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	w, made := licensed(t)
	if id, err := entitlement.ParseKey(made.LicenseKey); err != nil || id != made.ID || made.Grace != "168h0m0s" || made.Quota.CPU != "1500m" {
		t.Fatalf("made %+v", made)
	}
	path := "/api/v1/licenses/" + made.ID
	rotated := asks[contract.License](w, "POST", path+"/rotate-key", "", 200)
	if _, err := entitlement.ParseKey(rotated.LicenseKey); err != nil || rotated.LicenseKey == made.LicenseKey || rotated.Revision != 2 {
		t.Fatalf("rotated to %+v", rotated)
	}
	for range 2 {
		out := w.as(identity.RoleOperator, "POST", "/api/v1/licenses", aLicense, contract.HeaderIdempotencyKey, "once")
		if replayed := out.Header().Get(contract.HeaderReplayed) != ""; replayed == strings.Contains(out.Body.String(), "bl_") || out.Code != 201 {
			t.Fatalf("replayed %v: %d %s", replayed, out.Code, out.Body)
		}
	}
	for _, quiet := range []string{path, "/api/v1/licenses", path + "/apps"} {
		if out := w.as(identity.RoleAdmin, "GET", quiet, ""); strings.Contains(out.Body.String(), "bl_") || out.Code != 200 {
			t.Errorf("%s: %d %s", quiet, out.Code, out.Body)
		}
	}
	var entries int
	w.must(w.mem.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		all, err := r.Audit.Range(ctx, 0, store.MaxPage)
		for _, e := range all {
			for _, value := range e.Detail {
				if strings.Contains(value, "bl_") {
					t.Errorf("the audit log holds %q", value)
				}
			}
		}
		entries = len(all)
		return err
	}))
	if entries == 0 {
		t.Error("nothing is audited")
	}
}

// Every field of a license that is wrong is named at once, and what is said in a wrong form is told how to be said.
func TestLicensesRefused(t *testing.T) {
	t.Parallel()
	w, made := licensed(t)
	bent := func(from, to string) string { return strings.Replace(aLicense, from, to, 1) }
	const path = "/api/v1/licenses"
	w.refuses("POST", path, bent(`"acme"`, `"nobody"`), 404, "customer_not_found")
	w.refuses("POST", path, bent(`2027-03-01T00:00:00Z`, `0001-01-01T00:00:00Z`), 422, "expiry_invalid")
	w.refuses("POST", path, bent(`2027-03-01T00:00:00Z`, `2026-03-01T12:00:00Z`), 422, "expiry_invalid")
	w.refuses("POST", path, bent(`"expires_at":"2027-03-01T00:00:00Z",`, ``), 422, "required_field_missing")
	w.refuses("POST", path, bent(`"1500m"`, `"1,5"`), 422, "quantity_invalid")
	w.refuses("POST", path, bent(`"1500m"`, `"0"`), 422, "out_of_range")
	w.refuses("POST", path, bent(`"enforce":"enforce"`, `"enforce":"enforce","grace":"7d"`), 422, "grace_invalid")
	w.refuses("POST", path, bent(`"enforce":"enforce"`, `"enforce":"enforce","grace":""`), 422, "invalid_length")
	w.refuses("POST", path, bent(`"PROD"`, `"prod"`), 422, "invalid_value")
	w.refuses("POST", path, strings.NewReplacer(`"1500m"`, `""`, `"8Gi"`, `"lots"`, `"enforce":"enforce"`, `"enforce":"enforce","grace":"x"`).
		Replace(aLicense), 422, "quantity_invalid", "quantity_invalid", "grace_invalid")
	p := w.refuses("PATCH", path+"/"+made.ID, `{"expires_at":"2026-01-01T00:00:00Z","grace":"-1h"}`, 422, "expiry_invalid", "grace_invalid")
	if p.Errors[0].Field != "expires_at" || p.Errors[1].Field != "grace" {
		t.Errorf("named %+v", p.Errors)
	}
	for _, gone := range []string{"", "/apps"} {
		w.refuses("GET", path+"/lic_nobody"+gone, "", 404, "license_not_found")
	}
	if all := asks[contract.Licenses](w, "GET", path, "", 200); len(all.Licenses) != 1 {
		t.Errorf("there are %+v", all)
	}
}

// The terms of a license change, what is left out stays, and its status takes the steps of its machine.
func TestLicenseChanges(t *testing.T) {
	t.Parallel()
	w, made := licensed(t)
	path := "/api/v1/licenses/" + made.ID
	got := asks[contract.License](w, "PATCH", path, `{"grace":"0s","enforce":"observe","quota":{"apps":1,"replicas":1,"cpu":"2","memory":"1Gi"}}`, 200)
	want := made
	want.Grace, want.Enforce, want.Quota, want.Revision, want.LicenseKey = "0s", "observe", contract.Quota{Apps: 1, Replicas: 1, CPU: "2", Memory: "1Gi"}, 2, ""
	if got != want {
		t.Errorf("changed to %+v", got)
	}
	if same := asks[contract.License](w, "PATCH", path, `{}`, 200); same != want {
		t.Errorf("an empty change made %+v", same)
	}
	for _, step := range []struct{ step, status string }{{"suspend", "suspended"}, {"resume", "active"}} {
		if got := asks[contract.License](w, "POST", path+"/"+step.step, "", 200); got.Status != step.status {
			t.Errorf("%s made %+v", step.step, got)
		}
	}
	w.refuses("POST", path+"/resume", "", 409, "license_status_conflict")
	if out := w.as(identity.RoleOperator, "POST", path+"/revoke", ""); out.Code != 403 {
		t.Errorf("an operator revoked a license for good: %d", out.Code)
	}
	if got := decoded[contract.License](w, w.as(identity.RoleAdmin, "POST", path+"/revoke", ""), 200); got.Status != "revoked" || got.Revision != 5 {
		t.Errorf("revoked is %+v", got)
	}
	w.refuses("PATCH", path, `{"grace":"1h"}`, 409, "license_revoked")
}

// The apps of a license are put as a whole, and read back; what stands against it is told together.
func TestLicenseApps(t *testing.T) {
	t.Parallel()
	w, made := licensed(t)
	path := "/api/v1/licenses/" + made.ID + "/apps"
	put := asks[contract.EntitledApps](w, "PUT", path, `{"apps":[{"app":"shop","versions":"^1.2.0","expires_at":"2026-12-01T00:00:00Z"},{"app":"db"}]}`, 200)
	if put.Revision != 2 || len(put.Apps) != 2 || put.Apps[0].App != "db" || put.Apps[0].ExpiresAt != nil || put.Apps[1].Versions != "^1.2.0" {
		t.Errorf("put %+v", put)
	}
	w.refuses("PUT", path, `{"apps":[{"app":"none"},{"app":"shop"},{"app":"nor-this"}]}`, 404, "app_not_found", "app_not_found")
	w.refuses("PUT", path, `{"apps":[{"app":"shop"},{"app":"shop"},{"app":"db","versions":"newest"}]}`, 422, "app_repeated", "versions_invalid")
	w.refuses("PUT", path, `{"apps":[{"app":"shop","expires_at":"0001-01-01T00:00:00Z"}]}`, 422, "expiry_invalid")
	w.refuses("PUT", path, `{}`, 422, "required_field_missing")
	w.must(w.mem.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		w.must(r.Deployments.Create(ctx, delivery.RestoreDeployment(delivery.DeploymentRecord{
			InstallID: "ins_1", Customer: "acme", License: made.ID, Namespace: "acme", Selected: []delivery.Choice{{App: "shop"}},
			CreatedAt: noon(), ChangedAt: noon(),
		})))
		return r.DesiredStates.Create(ctx, delivery.NewDesired("ins_1", made.ID, noon()))
	}))
	p := w.refuses("PUT", path, `{"apps":[{"app":"db"}]}`, 409, "selected_service_remains")
	if !strings.Contains(p.Detail, "ins_1") || p.Cure == "" {
		t.Errorf("refused with %+v", p)
	}
	less := asks[contract.EntitledApps](w, "PUT", path, `{"apps":[{"app":"shop"}]}`, 200)
	read := asks[contract.EntitledApps](w, "GET", path, "", 200)
	if len(less.Withdrawn) != 1 || less.Withdrawn[0].App != "db" || less.Withdrawn[0].WithdrawnAt == nil || len(read.Withdrawn) != 1 || read.Revision != 3 {
		t.Errorf("left %+v, read %+v", less, read)
	}
}

// Who may only look changes nothing, and nobody without a token sees anything.
func TestRolesOfLicensing(t *testing.T) {
	t.Parallel()
	w, made := licensed(t)
	path := "/api/v1/licenses/" + made.ID
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/customers", `{"id":"beta","name":"Beta"}`}, {"POST", "/api/v1/licenses", aLicense}, {"PATCH", path, `{}`},
		{"POST", path + "/rotate-key", ""}, {"POST", path + "/suspend", ""}, {"POST", path + "/resume", ""}, {"POST", path + "/revoke", ""},
		{"PUT", path + "/apps", `{"apps":[]}`},
	} {
		if out := w.as(identity.RoleViewer, c.method, c.path, c.body); out.Code != 403 {
			t.Errorf("a viewer's %s %s: %d", c.method, c.path, out.Code)
		}
	}
	for _, look := range []string{"/api/v1/customers", "/api/v1/customers/acme", "/api/v1/licenses?customer=acme", path, path + "/apps"} {
		if out := w.as(identity.RoleViewer, "GET", look, ""); out.Code != 200 {
			t.Errorf("a viewer's %s: %d", look, out.Code)
		}
		if out := w.raw("GET", look, "", nil); out.Code != 401 {
			t.Errorf("%s without a token: %d", look, out.Code)
		}
	}
	if got := asks[contract.License](w, "GET", path, "", 200); got.Used == nil || *got.Used != (contract.MarketUsage{CPU: "0", Memory: "0"}) {
		t.Errorf("%+v is used", got.Used)
	}
}
