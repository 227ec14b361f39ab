package apiclient_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

const licenseKey = "bl_lic_abcdefghijklmnopqrstuvwxyz"

// seen is what a server was asked last.
type seen struct {
	mu     sync.Mutex
	what   string
	header http.Header
	body   []byte
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.header = r.Method+" "+r.RequestURI, r.Header
	s.body, _ = io.ReadAll(r.Body)
	answer(http.StatusOK, "application/json", "{}")(w, r)
}

func (s *seen) last() (what string, header http.Header, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.what, s.header, s.body
}

// Each operation of vendors and platforms goes by the method and path of the contract, whatever an id holds.
func TestDeliveryPaths(t *testing.T) {
	t.Parallel()
	server := &seen{}
	c := client(t, apiclient.Options{Base: serve(t, server.ServeHTTP)})
	o, m, a := apiclient.NewOperator(c), apiclient.NewMarket(c), apiclient.NewAgent(c)
	for want, do := range map[string]func(context.Context) error{
		"POST /api/v1/customers":                                   result(o.CreateCustomer, contract.NewCustomer{}),
		"GET /api/v1/customers/a%2Fb":                              result(o.Customer, "a/b"),
		"GET /api/v1/customers?limit=2":                            result(o.Customers, apiclient.Page{Limit: 2}),
		"POST /api/v1/licenses":                                    result(o.CreateLicense, contract.NewLicense{}),
		"GET /api/v1/licenses/l":                                   result(o.License, "l"),
		"POST /api/v1/licenses/l/rotate-key":                       result(o.RotateLicenseKey, "l"),
		"POST /api/v1/licenses/l/suspend":                          result(o.SuspendLicense, "l"),
		"POST /api/v1/licenses/l/resume":                           result(o.ResumeLicense, "l"),
		"POST /api/v1/licenses/l/revoke":                           result(o.RevokeLicense, "l"),
		"GET /api/v1/licenses/l/apps":                              result(o.LicenseApps, "l"),
		"PATCH /api/v1/licenses/l":                                 about(o.ChangeLicense, "l", contract.LicenseChange{}),
		"PUT /api/v1/licenses/l/apps":                              about(o.SetLicenseApps, "l", contract.LicenseApps{}),
		"GET /api/v1/licenses?customer=c":                          about(o.Licenses, "c", apiclient.Page{}),
		"POST /api/v1/apps":                                        result(o.CreateApp, contract.NewApp{}),
		"GET /api/v1/apps/shop":                                    result(o.App, "shop"),
		"GET /api/v1/apps?cursor=x":                                result(o.Apps, apiclient.Page{Cursor: "x"}),
		"POST /api/v1/apps/shop/releases":                          about(o.CreateRelease, "shop", contract.NewRelease{}),
		"GET /api/v1/apps/shop/releases/1.0.0":                     about(o.Release, "shop", "1.0.0"),
		"GET /api/v1/apps/shop/releases":                           about(o.Releases, "shop", apiclient.Page{}),
		"POST /api/v1/registries":                                  result(o.AddRegistry, contract.NewRegistry{}),
		"GET /api/v1/registries":                                   result(o.Registries, apiclient.Page{}),
		"DELETE /api/v1/registries/r.test:5000":                    func(ctx context.Context) error { return o.RemoveRegistry(ctx, "r.test:5000") },
		"POST /api/v1/deployments":                                 result(o.CreateDeployment, contract.NewDeployment{}),
		"GET /api/v1/deployments/ins_1":                            result(o.Deployment, "ins_1"),
		"GET /api/v1/deployments?license=l":                        about(o.Deployments, "l", apiclient.Page{}),
		"PUT /api/v1/deployments/ins_1/selected-services":          about(o.SelectServices, "ins_1", contract.SelectedServices{}),
		"POST /api/v1/deployments/ins_1/schema-gate":               about(o.SchemaGate, "ins_1", contract.SchemaGate{}),
		"GET /api/v1/deployments/ins_1/desired-state":              about(o.DesiredState, "ins_1", int64(0)),
		"GET /api/v1/deployments/ins_1/desired-state?revision=7":   about(o.DesiredState, "ins_1", int64(7)),
		"POST /api/v1/deployments/ins_1/desired-state/leap":        about(o.Leap, "ins_1", "restored"),
		"POST /api/v1/deployments/ins_1/apps/a/release-quarantine": about(o.ReleaseQuarantine, "ins_1", "a"),
		"GET /api/v1/deployments/ins_1/agent":                      result(o.AgentState, "ins_1"),
		"POST /api/v1/deployments/ins_1/packages":                  about(o.CreatePackage, "ins_1", contract.NewPackage{}),
		"POST /api/v1/deployments/ins_1/agent/reset-enrolment":     func(ctx context.Context) error { return o.ResetEnrolment(ctx, "ins_1") },
		"PUT /api/v1/deployments/ins_1/apps/a/parameters": func(ctx context.Context) error {
			_, err := o.SetParameters(ctx, "ins_1", "a", contract.NewParameters{})
			return err
		},
		"GET /api/v1/deployments/ins_1/desired-state/history?before=9&limit=2": func(ctx context.Context) error {
			_, err := o.DesiredHistory(ctx, "ins_1", 9, 2)
			return err
		},
		"POST /agent/v1/enroll":                 result(a.Enroll, contract.AgentEnrol{}),
		"POST /agent/v1/reports":                func(ctx context.Context) error { return a.Report(ctx, contract.AgentReport{}) },
		"POST /agent/v1/proofs":                 func(ctx context.Context) error { return a.Prove(ctx, contract.AgentProof{}) },
		"GET /agent/v1/objects/ab":              result(a.Object, "ab"),
		"GET /v1/market/apps":                   func(ctx context.Context) error { _, err := m.Apps(ctx); return err },
		"GET /v1/market/license":                func(ctx context.Context) error { _, err := m.License(ctx); return err },
		"POST /v1/market/apps/shop/intents":     about(m.Submit, "shop", contract.NewIntent{}),
		"PUT /v1/market/apps/shop/installation": about(m.SetInstallation, "shop", contract.NewInstallation{}),
		"GET /v1/market/intents/i":              about(m.Intent, "i", time.Millisecond),
		"GET /v1/market/intents/i?wait=3":       about(m.Intent, "i", 3*time.Second),
	} {
		if err := do(t.Context()); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got, _, _ := server.last(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func result[In, Out any](do func(context.Context, In) (Out, error), in In) func(context.Context) error {
	return func(ctx context.Context) error { _, err := do(ctx, in); return err }
}

func about[In, Out any](do func(context.Context, string, In) (Out, error), what string, in In) func(context.Context) error {
	return func(ctx context.Context) error { _, err := do(ctx, what, in); return err }
}

// A platform proves itself by its pair of headers, and nothing that is printed or that fails shows the key.
func TestPlatformsProveThemselves(t *testing.T) {
	t.Parallel()
	server := &seen{}
	platform := apiclient.Platform{InstallID: "ins_1", LicenseKey: licenseKey}
	c := client(t, apiclient.Options{Base: serve(t, server.ServeHTTP), Proof: platform})
	if _, err := apiclient.NewMarket(c).Apps(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, header, _ := server.last()
	if header.Get(contract.HeaderInstallID) != "ins_1" || header.Get(contract.HeaderLicenseKey) != licenseKey || header.Get("Authorization") != "" {
		t.Errorf("sent %v", header)
	}
	refused := client(t, apiclient.Options{Base: serve(t, answer(401, "text/html", "no")), Proof: platform})
	_, err := apiclient.NewMarket(refused).Apps(t.Context())
	if fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", platform, platform, platform), fmt.Sprint(err)} {
		if strings.Contains(text, licenseKey) {
			t.Errorf("the key is shown: %s", text)
		}
	}
}

// An agent's token is signed by its key and says which request it is for: another body, target or method has another one.
func TestAgentsProveTheirRequests(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 999)
	proof := apiclient.AgentProof{Agent: "agt_1", Install: "ins_1", Instance: "boot-1", Key: private, Now: func() time.Time { return now }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test/agent/v1/reports?a=%20b", nil)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"sequence":1}`)
	if err := proof.Prove(r, body); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		t.Fatalf("sent %v", r.Header)
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), signature) {
		t.Errorf("it is not signed by the agent's key: %v", err)
	}
	digest := sha256.Sum256(body)
	for i, want := range []map[string]any{
		{"alg": "EdDSA", "typ": "berth-agent+jwt"},
		{
			"iss": "agt_1", "aud": "ins_1", "htm": "POST", "htu": "/agent/v1/reports?a=%20b", "ins": "boot-1",
			"bdh": base64.RawURLEncoding.EncodeToString(digest[:]), "iat": 1.8e9, "exp": 1.8e9 + 30,
		},
	} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		got := map[string]any{}
		if err != nil || json.Unmarshal(text, &got) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %s, want %v (%v)", text, want, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", proof, proof, proof); strings.Contains(text, "Key") || !strings.Contains(text, "agt_1") {
		t.Errorf("printed as %s", text)
	}
}

// A poll hands over what was signed as it is, with its ETag, which the next one sends; 304 is no answer and keeps it.
func TestAgentsPoll(t *testing.T) {
	t.Parallel()
	const etag = `"3-abc"`
	c := client(t, apiclient.Options{Base: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == etag && r.URL.Query().Get("wait") == "2" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", etag)
		answer(http.StatusOK, "application/jose", "a.b.c")(w, r)
	})})
	a := apiclient.NewAgent(c)
	for _, known := range []string{"", `"2-abc"`} {
		if jws, got, err := a.DesiredState(t.Context(), known, 0); jws != "a.b.c" || got != etag || err != nil {
			t.Errorf("got %q %s %v", jws, got, err)
		}
	}
	if jws, got, err := a.DesiredState(t.Context(), etag, 2*time.Second); jws != "" || got != etag || err != nil {
		t.Errorf("got %q %s %v", jws, got, err)
	}
}
