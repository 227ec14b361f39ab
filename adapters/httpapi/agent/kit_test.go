package agent_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/adapters/httpapi/agent"
	"berth/application/desired"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/notify/notifytest"
	"berth/ports/pack/packtest"
	"berth/ports/sealing/sealingtest"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

const licenseKey = "bl_lic_1_key"

// site is the agents' API over a memory store, with one deployment, and the agent of its cluster.
type site struct {
	tb      testing.TB
	desired *desired.Desired
	handler http.Handler
	clock   *clocktest.Fake
	install string

	private ed25519.PrivateKey
	seal    *sealingtest.FakeKey
	agent   string
}

type ignored struct{}

func (ignored) Answered(_, _ string, _ int, _ string, _ float64) {}

func newSite(tb testing.TB) *site {
	tb.Helper()
	s := &site{tb: tb, clock: clocktest.New(noon()), seal: sealingtest.NewFakeKey()}
	s.private = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	mem, kms := storetest.NewMemory(), signertest.NewMemory(1)
	documents := tokenstest.Documents{Signer: kms}
	s.desired = &desired.Desired{
		Store: mem, Clock: s.clock, IDs: idstest.New(1), Hints: notifytest.NewFake(), Archiver: packtest.Plain{},
		Settings: desired.DefaultSettings("https://api.example.test"),
		Crypto: desired.Crypto{
			Documents: documents, Verifier: documents, Agents: tokenstest.Agents{}, Wrapper: keywraptest.NewMemory(1), Sealer: sealingtest.Fake{},
		},
		Pepper: func(context.Context) ([]byte, error) { return []byte("pepper"), nil },
	}
	s.must(mem.Atomically(tb.Context(), func(ctx context.Context, r *store.Roles) error { return s.seed(ctx, r, kms) }))
	v, err := s.desired.CreateDeployment(tb.Context(), desired.CreateDeploymentRequest{
		Actor: audit.Actor{Kind: audit.ActorOperator, ID: "alice"}, Customer: "acme", License: "lic_1", Namespace: "acme",
	})
	s.must(err)
	s.install = v.Deployment.InstallID
	engine := httpapi.NewEngine(httpapi.EngineOptions{
		Audience: "api", Log: slog.New(slog.DiscardHandler), Observer: ignored{}, NewID: func() string { return "req_1" },
	})
	agent.Mount(engine, agent.Deps{Version: "test", Desired: s.desired, Failures: agent.Failures{SourceLimits: httpapi.NewSourceLimits(0.001, 20)}})
	s.handler = engine
	return s
}

func (s *site) seed(ctx context.Context, r *store.Roles, kms *signertest.Memory) error {
	s.must(r.Customers.Create(ctx, entitlement.Customer{ID: "acme", Name: "Acme", CreatedAt: noon()}))
	s.must(r.Apps.Create(ctx, delivery.App{ID: "db", Name: "db", CreatedAt: noon()}))
	l, err := entitlement.NewLicense(entitlement.LicenseSpec{
		ID: "lic_1", Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce,
		ExpiresAt: noon().Add(720 * time.Hour), KeyHash: entitlement.HashKey([]byte("pepper"), licenseKey),
		Quota: entitlement.Usage{Apps: 10, Replicas: 20, MilliCPU: 10_000, MemoryBytes: 1 << 34},
	}, noon())
	s.must(err)
	s.must(r.Licenses.Create(ctx, l))
	s.must(r.Entitlements.Put(ctx, []entitlement.Entitlement{{License: "lic_1", App: "db", GrantedAt: noon()}}))
	for _, purpose := range []identity.KeyPurpose{identity.KeyForDesiredState, identity.KeyForPackages} {
		ref, public, err := kms.Create(ctx, signer.Purpose(purpose))
		s.must(err)
		s.must(r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: "key-" + string(purpose), Purpose: purpose, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
			NotBefore: noon().Add(-time.Hour), SignUntil: noon().Add(720 * time.Hour), VerifyUntil: noon().Add(1440 * time.Hour), CreatedAt: noon(),
		})))
	}
	return nil
}

// publish puts an app into the desired state.
func (s *site) publish(version string) {
	s.tb.Helper()
	content := []byte(`{"objects":["` + version + `"]}`)
	_, err := s.desired.Publish(s.tb.Context(), desired.Proposal{
		Install: s.install, Actor: audit.Actor{Kind: audit.ActorOperator, ID: "alice"}, Reason: "test", Objects: [][]byte{content},
		Decide: func(desired.Situation) (delivery.Edit, error) {
			return delivery.Edit{Put: []delivery.DesiredApp{{
				App: "db", Version: version, Release: delivery.Digest([]byte(version)), Manifests: delivery.BlobOf(content),
			}}}, nil
		},
	})
	s.must(err)
}

func (s *site) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *site) raw(method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.tb.Helper()
	r := httptest.NewRequestWithContext(s.tb.Context(), method, path, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	s.handler.ServeHTTP(out, r)
	return out
}

// token proves one request of the agent.
func (s *site) token(method, path, body string) string {
	key := &tokenstest.Agent{Key: tokenstest.KeyOf(s.private)}
	return key.Token(tokens.AgentToken{Agent: s.agent, Install: s.install, Instance: "p1", IssuedAt: s.clock.Now()},
		tokenstest.Request(method, path, []byte(body)))
}

// asks is a request of the agent.
func (s *site) asks(method, path, body string, header ...string) *httptest.ResponseRecorder {
	s.tb.Helper()
	return s.raw(method, path, body, append([]string{"Authorization", "Bearer " + s.token(method, path, body)}, header...)...)
}

func (s *site) wants(out *httptest.ResponseRecorder, status int, slug string) {
	s.tb.Helper()
	var p contract.Problem
	_ = json.Unmarshal(out.Body.Bytes(), &p)
	if out.Code != status || !strings.HasSuffix(p.Type, slug) || slug != "" && p.Type == "" {
		s.tb.Fatalf("answered %d %s, want %d %s", out.Code, out.Body, status, slug)
	}
}

// packed makes a package and fetches it by its link.
func (s *site) packed() (link string, files map[string][]byte) {
	s.tb.Helper()
	p, err := s.desired.CreatePackage(s.tb.Context(), desired.CreatePackageRequest{
		Actor: audit.Actor{Kind: audit.ActorOperator, ID: "alice"}, Install: s.install,
	})
	s.must(err)
	link = strings.TrimPrefix(p.DownloadURL, "https://api.example.test")
	out := s.raw("GET", link, "")
	s.wants(out, 200, "")
	unpacked, err := packtest.Plain{}.Read(out.Body.Bytes())
	s.must(err)
	files = map[string][]byte{}
	for _, f := range unpacked {
		files[f.Name] = f.Content
	}
	return link, files
}

func (s *site) enrolBody(token, key string) string {
	s.tb.Helper()
	recipient := s.seal.Recipient()
	body, err := json.Marshal(contract.AgentEnrol{
		Token: token, LicenseKey: key, PublicKey: base64.RawURLEncoding.EncodeToString(s.private.Public().(ed25519.PublicKey)), //nolint:forcetypeassert // it is one
		SealKey: recipient, SealKeySignature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.private, delivery.SealKeyMessage(recipient))),
		Cluster: contract.AgentCluster{UID: "u", Version: "v1.33.1", Platforms: []string{"linux/amd64"}},
	})
	s.must(err)
	return string(body)
}

// enrolled is a site whose agent has enrolled.
func enrolled(tb testing.TB) *site {
	tb.Helper()
	s := newSite(tb)
	_, files := s.packed()
	out := s.raw("POST", "/agent/v1/enroll", s.enrolBody(strings.TrimSpace(string(files["enrolment-token"])), licenseKey))
	s.wants(out, 200, "")
	var e contract.AgentEnrolled
	s.must(json.Unmarshal(out.Body.Bytes(), &e))
	if e.InstallID != s.install || e.MinimumRevision < 1 || len(e.TrustAnchors.Keys) != 2 || e.Poll.Wait != "30s" {
		tb.Fatalf("%+v", e)
	}
	s.agent = e.AgentID
	return s
}
