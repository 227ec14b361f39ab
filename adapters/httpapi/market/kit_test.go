package market_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	audience "berth/adapters/httpapi/market"
	"berth/application/desired"
	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/notify/notifytest"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
	"berth/ports/tokens/tokenstest"
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pepper = make([]byte, entitlement.PepperSize)
)

const burst = 5 // failures

type quiet struct{}

func (quiet) Answered(string, string, int, string, float64) {}

// shelf is the desired state's use cases, with a rendering that the test decides on.
type shelf struct {
	*desired.Desired
	faults []*fault.Error
	asked  []desired.PrepareRequest
}

func (s *shelf) Prepare(_ context.Context, in desired.PrepareRequest) (desired.Prepared, []*fault.Error) {
	s.asked = append(s.asked, in)
	manifests := []byte(`{"objects":[{"app":"` + in.Choice.App + `","version":"` + in.Choice.Version + `"}]}`)
	return desired.Prepared{App: delivery.DesiredApp{
		App: in.Choice.App, Version: in.Choice.Version, Release: delivery.Digest(manifests), Manifests: delivery.BlobOf(manifests),
		Usage: entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 250, MemoryBytes: 1 << 20},
	}, Objects: [][]byte{manifests}}, s.faults
}

// site is the customers' API over a memory store: the deployments ins_1 and ins_2 of the license lic_1, on which db and
// blog are, and ins_3 of lic_2, which is revoked.
type site struct {
	t       *testing.T
	handler http.Handler
	api     huma.API
	mem     *storetest.Memory
	clock   *clocktest.Fake
	shelf   *shelf
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, mem: storetest.NewMemory(), clock: clocktest.New(noon)}
	kms, hints, ids := signertest.NewMemory(1), notifytest.NewFake(), idstest.New(1)
	documents := tokenstest.Documents{Signer: kms}
	s.shelf = &shelf{Desired: &desired.Desired{
		Store: s.mem, Clock: s.clock, IDs: ids, Hints: hints, Settings: desired.DefaultSettings("https://api.example.test"),
		Crypto: desired.Crypto{Documents: documents, Verifier: documents, Agents: tokenstest.Agents{}},
	}}
	m := &market.Market{
		Store: s.mem, Clock: s.clock, IDs: ids, Hints: hints, Desired: s.shelf, Settings: market.DefaultSettings(),
		Pepper: func(context.Context) ([]byte, error) { return pepper, nil },
	}
	e := httpapi.NewEngine(httpapi.EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: quiet{}, NewID: func() string { return "req_1" },
		Random: func(n int) []byte { return slices.Repeat([]byte{1}, n) },
	})
	s.api = audience.Mount(e, audience.Deps{
		Version: "1", Market: m, Store: s.mem, Clock: s.clock, Failures: audience.Failures{SourceLimits: httpapi.NewSourceLimits(0.001, burst)},
	})
	s.handler = e
	s.must(s.mem.Atomically(context.Background(), func(ctx context.Context, r *store.Roles) error {
		ref, public, err := kms.Create(ctx, signer.Purpose(identity.KeyForDesiredState))
		s.must(err)
		s.must(r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: "key-1", Purpose: identity.KeyForDesiredState, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
			NotBefore: noon.Add(-time.Hour), SignUntil: noon.AddDate(1, 0, 0), VerifyUntil: noon.AddDate(2, 0, 0), CreatedAt: noon.Add(-time.Hour),
		})))
		s.must(r.Customers.Create(ctx, entitlement.Customer{ID: "acme", Name: "Acme", CreatedAt: noon}))
		s.license(ctx, r, "lic_1", "ins_1", "ins_2")
		s.license(ctx, r, "lic_2", "ins_3")
		for _, v := range []string{"1.0.0", "1.1.0"} {
			s.release(ctx, r, "db", v)
		}
		s.release(ctx, r, "blog", "1.0.0", delivery.Requirement{App: "db", Versions: "^1"})
		s.release(ctx, r, "secret", "1.0.0")
		s.must(r.Entitlements.Put(ctx, []entitlement.Entitlement{
			{License: "lic_1", App: "db", GrantedAt: noon}, {License: "lic_1", App: "blog", GrantedAt: noon},
		}))
		return store.UpdateIn[*entitlement.License](ctx, r.Licenses, "lic_2", func(l *entitlement.License) error { return l.Revoke(noon) })
	}))
	return s
}

func (s *site) license(ctx context.Context, r *store.Roles, id string, installs ...string) {
	l, err := entitlement.NewLicense(entitlement.LicenseSpec{
		ID: id, Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce, ExpiresAt: noon.AddDate(0, 1, 0),
		Grace: 72 * time.Hour, KeyHash: entitlement.HashKey(pepper, keyOf(id)),
		Quota: entitlement.Usage{Apps: 10, Replicas: 20, MilliCPU: 10_000, MemoryBytes: 8 << 30},
	}, noon)
	s.must(err)
	s.must(r.Licenses.Create(ctx, l))
	for _, install := range installs {
		d, err := delivery.NewDeployment(delivery.DeploymentPlan{InstallID: install, License: l.Record(), Customer: "acme", Namespace: "acme"}, noon)
		s.must(err)
		s.must(r.Deployments.Create(ctx, d))
		s.must(r.DesiredStates.Create(ctx, delivery.NewDesired(install, id, noon)))
	}
}

func (s *site) release(ctx context.Context, r *store.Roles, app, version string, requires ...delivery.Requirement) {
	if err := r.Apps.Create(ctx, delivery.App{ID: app, Name: strings.ToUpper(app), CreatedAt: noon}); fault.KindOf(err) != fault.AlreadyExists {
		s.must(err)
	}
	s.must(r.Objects.Put(ctx, []byte("{}")))
	made, err := delivery.NewRelease(delivery.Release{
		App: app, Version: version, Kind: delivery.SourceManifests, Source: delivery.Digest([]byte("{}")), Requires: requires,
	}, noon)
	s.must(err)
	s.must(r.Releases.Create(ctx, made))
}

func keyOf(license string) string {
	return entitlement.FormatKey(license, fmt.Appendf(nil, "%-16s", license)[:entitlement.SecretSize])
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("unexpected: %v", err)
	}
}

// pair are the headers of a deployment with the key of a license.
func pair(install, license string) []string {
	return []string{contract.HeaderInstallID, install, contract.HeaderLicenseKey, keyOf(license)}
}

// send makes a request, as ins_1 unless headers say otherwise.
func (s *site) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.sendFrom("192.0.2.1:1000", method, path, body, append(pair("ins_1", "lic_1"), header...)...)
}

func (s *site) sendFrom(remote, method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "/v1/market"+path, strings.NewReader(body))
	r.RemoteAddr = remote
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	s.described(method, path, w)
	return w
}

// described checks an answer against what the API says of itself.
func (s *site) described(method, path string, w *httptest.ResponseRecorder) {
	s.t.Helper()
	template := path
	for _, known := range []string{"/apps/{app}/intents", "/apps/{app}/installation", "/intents/{intent}"} {
		parts, want := strings.Split(path, "/"), strings.Split(known, "/")
		if i := slices.IndexFunc(want, func(p string) bool { return strings.HasPrefix(p, "{") }); len(parts) == len(want) {
			parts[i] = want[i]
			if strings.Join(parts, "/") == known {
				template = known
			}
		}
	}
	item := s.api.OpenAPI().Paths["/v1/market"+template]
	if item == nil {
		s.t.Fatalf("%s is not described", template)
	}
	op := map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put}[method]
	response := op.Responses[fmt.Sprint(w.Code)]
	if response == nil {
		response = op.Responses["default"]
	}
	var schema *huma.Schema
	for _, media := range response.Content {
		schema = media.Schema
	}
	var value any
	s.must(json.Unmarshal(w.Body.Bytes(), &value))
	result := &huma.ValidateResult{}
	huma.Validate(s.api.OpenAPI().Components.Schemas, schema, huma.NewPathBuffer([]byte("body"), 0), huma.ModeReadFromServer, value, result)
	for _, err := range result.Errors {
		s.t.Errorf("%s %s: the answer is not as described: %v", method, path, err)
	}
}

// answered reads an answer of a status.
func answered[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var out T
	if w.Code != status {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// refused fails the test unless an answer is a problem of this status that names exactly these slugs.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, slugs ...string) contract.Problem {
	t.Helper()
	p := answered[contract.Problem](t, w, status)
	var got []string
	for _, e := range p.Errors {
		got = append(got, e.Slug)
		if e.Cure == "" {
			t.Errorf("%s has no cure", e.Slug)
		}
	}
	slices.Sort(got)
	slices.Sort(slugs)
	if !slices.Equal(got, slugs) {
		t.Fatalf("got %v, want %v", got, slugs)
	}
	return p
}
