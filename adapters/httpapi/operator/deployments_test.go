package operator_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/identity"
	"berth/ports/ids"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/notify/notifytest"
	"berth/ports/pack/packtest"
	"berth/ports/registry/registrytest"
	"berth/ports/render"
	"berth/ports/render/rendertest"
	"berth/ports/sealing/sealingtest"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/tokens/tokenstest"
)

// desired are the use cases of deployments, with keys to sign by.
func (w *world) desired(source ids.Source) *desired.Desired {
	w.t.Helper()
	kms := signertest.NewMemory(1)
	w.must(w.mem.Atomically(w.t.Context(), func(ctx context.Context, r *store.Roles) error {
		for _, purpose := range []identity.KeyPurpose{identity.KeyForDesiredState, identity.KeyForPackages} {
			ref, public, err := kms.Create(ctx, signer.Purpose(purpose))
			w.must(err)
			w.must(r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
				KID: "key-" + string(purpose), Purpose: purpose, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
				NotBefore: noon().Add(-time.Hour), SignUntil: noon().Add(720 * time.Hour), VerifyUntil: noon().Add(1440 * time.Hour), CreatedAt: noon(),
			})))
		}
		return nil
	}))
	documents := tokenstest.Documents{Signer: kms}
	return &desired.Desired{
		Store: w.mem, Clock: w.clock, IDs: source, Hints: notifytest.NewFake(), Archiver: packtest.Plain{},
		Rendering: desired.Rendering{
			Renderers: render.Renderers{delivery.SourceManifests: &rendertest.Memory{}}, Images: registrytest.NewMemory(),
		},
		Crypto: desired.Crypto{
			Documents: documents, Verifier: documents, Agents: tokenstest.Agents{}, Wrapper: keywraptest.NewMemory(2), Sealer: sealingtest.Fake{},
		},
		Settings: desired.DefaultSettings("https://api.example.test"),
	}
}

const secretManifest = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"type":"Opaque","stringData":{"password":"${password}","fixed":"of the vendor"}}`

// vendor has an app db with a release on a license, and returns the license.
func (w *world) vendor() string {
	w.t.Helper()
	w.apps("db")
	source, _ := delivery.EncodeFiles(map[string]string{"a.yaml": secretManifest})
	r, err := delivery.NewRelease(delivery.Release{
		App: "db", Version: "1.0.0", Kind: delivery.SourceManifests, Source: delivery.Digest(source), Parameters: []delivery.Parameter{
			{Name: "password", Type: delivery.ParameterString, Secret: true},
		},
	}, noon())
	w.must(err)
	w.must(w.mem.Atomically(w.t.Context(), func(ctx context.Context, roles *store.Roles) error {
		w.must(roles.Objects.Put(ctx, source))
		return roles.Releases.Create(ctx, r)
	}))
	asks[contract.Customer](w, "POST", "/api/v1/customers", `{"id":"acme","name":"Acme"}`, 201)
	l := asks[contract.License](w, "POST", "/api/v1/licenses", `{"customer":"acme","environment":"PROD","expires_at":"2027-01-01T00:00:00Z","enforce":"enforce",
		"quota":{"apps":5,"replicas":5,"cpu":"4","memory":"8Gi"}}`, 201)
	w.as(identity.RoleOperator, "PUT", "/api/v1/licenses/"+l.ID+"/apps", `{"apps":[{"app":"db"}]}`)
	return l.ID
}

// An operator's way: a deployment, what it is to run, its history, its package; answers are as the document says.
func TestDeploymentsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	license := w.vendor()
	d := asks[contract.Deployment](w, "POST", "/api/v1/deployments", `{"customer":"acme","license":"`+license+`","namespace":"acme",
		"selected_services":[{"app":"db","parameters":{"password":"s3cret"}}]}`, 201)
	if d.Revision != 1 || len(d.Apps) != 1 || d.Apps[0].Version != "1.0.0" || len(d.Apps[0].Seals) != 1 {
		t.Fatalf("%+v", d)
	}
	at := "/api/v1/deployments/" + d.InstallID
	shown := w.as(identity.RoleViewer, "GET", at, "")
	if shown.Code != 200 || strings.Contains(shown.Body.String(), "s3cret") {
		t.Fatal(shown.Code, shown.Body)
	}
	list := asks[contract.Deployments](w, "GET", "/api/v1/deployments?license="+license, "", 200)
	if len(list.Deployments) != 1 || list.Deployments[0].InstallID != d.InstallID {
		t.Fatalf("%+v", list)
	}
	gated := asks[contract.Deployment](w, "POST", at+"/schema-gate", `{"open":true,"note":"migrated"}`, 200)
	if !gated.SchemaGate.Open {
		t.Fatalf("%+v", gated)
	}
	asks[contract.Deployment](w, "PUT", at+"/apps/db/parameters", `{"parameters":{"password":"other"}}`, 200)
	w.refuses("PUT", at+"/apps/db/parameters", `{"parameters":{"password":{"sealed":"`+base64.StdEncoding.EncodeToString([]byte("x"))+`"}}}`,
		409, "agent_not_enrolled")
	w.refuses("PUT", at+"/apps/db/parameters", `{"parameters":{"password":{"sealed":"!"}}}`, 422, "parameter_invalid")
	w.refuses("PUT", at+"/selected-services", `{"selected_services":[{"app":"wiki"}]}`, 422, "not_entitled")
	asks[contract.Deployment](w, "PUT", at+"/selected-services", `{"selected_services":[]}`, 200)
	history := asks[contract.DesiredHistory](w, "GET", at+"/desired-state/history", "", 200)
	if len(history.Revisions) != 2 || history.Revisions[0].Revision != 2 || history.Revisions[0].Diff[0].What != delivery.DiffForgotten {
		t.Fatalf("%+v", history)
	}
	p := asks[contract.Package](w, "POST", at+"/packages", `{"fetch_within":"1h"}`, 201)
	if !strings.HasPrefix(p.DownloadURL, "https://api.example.test/packages/v1/bp_") || !p.ExpiresAt.Equal(noon().Add(time.Hour)) {
		t.Fatalf("%+v", p)
	}
	w.refuses("POST", at+"/packages", `{"fetch_within":"1s"}`, 422, "expiry_out_of_range")
	w.refuses("GET", at+"/agent", "", 404, "agent_not_found")
	w.refuses("POST", at+"/apps/db/release-quarantine", "", 404, "app_not_deployed")
	w.refuses("GET", at+"/desired-state?revision=9", "", 404, "revision_not_found")
	w.refuses("POST", at+"/desired-state/leap", `{"note":"x"}`, 403, "role_insufficient")
	leapt := w.as(identity.RoleAdmin, "POST", at+"/desired-state/leap", `{"note":"restored"}`)
	if s := decoded[contract.DesiredState](w, leapt, 200); s.Revision != 2+delivery.LeapBy || !s.Current {
		t.Fatalf("%+v", s)
	}
}

// A viewer sees what is rendered, but nothing that a Secret holds (§9).
func TestAViewerSeesNoDataOfSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	license := w.vendor()
	d := asks[contract.Deployment](w, "POST", "/api/v1/deployments", `{"customer":"acme","license":"`+license+`","namespace":"acme",
		"selected_services":[{"app":"db"}]}`, 201)
	path := "/api/v1/deployments/" + d.InstallID + "/desired-state?objects=true"
	if got := w.as(identity.RoleOperator, "GET", path, ""); got.Code != 200 || !strings.Contains(got.Body.String(), "of the vendor") {
		t.Fatal(got.Code, got.Body)
	}
	got := w.as(identity.RoleViewer, "GET", path, "")
	if got.Code != 200 || strings.Contains(got.Body.String(), "of the vendor") || !strings.Contains(got.Body.String(), `"fixed":"redacted"`) {
		t.Fatal(got.Code, got.Body)
	}
}
