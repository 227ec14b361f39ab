package desired_test

import (
	"context"
	"fmt"
	"time"

	"berth/application/desired"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
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
	"berth/ports/store/storetest"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice"}
)

const (
	install = "ins_1"
	license = "lic_1"
	day     = 24 * time.Hour

	pepper     = "pepper"
	licenseKey = "bl_lic_1_key"
	host       = "registry.example"
)

// world is a control plane over a memory store and a clock that the test moves: a license for a month with three days of
// grace, on which the apps shop, db and blog are, and an empty deployment of it.
type world struct {
	*desired.Desired
	t      tb
	ctx    context.Context
	mem    *storetest.Memory
	clock  *clocktest.Fake
	hints  *notifytest.Fake
	kms    *signertest.Memory
	images *registrytest.Memory
	wrap   *keywraptest.Memory
	public map[string][]byte // by kid
}

func newWorld(t tb) *world {
	t.Helper()
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), hints: notifytest.NewFake(),
		kms: signertest.NewMemory(1), public: map[string][]byte{}, images: registrytest.NewMemory(), wrap: keywraptest.NewMemory(1),
	}
	w.Desired = w.replica(w.mem, 1)
	w.signingKey("key-desired", identity.KeyForDesiredState)
	w.signingKey("key-package", identity.KeyForPackages)
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(r.Customers.Create(ctx, entitlement.Customer{ID: "acme", Name: "Acme", CreatedAt: noon}))
		l, err := entitlement.NewLicense(entitlement.LicenseSpec{
			ID: license, Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce,
			ExpiresAt: noon.Add(30 * day), Grace: 3 * day, KeyHash: entitlement.HashKey([]byte(pepper), licenseKey),
			Quota: entitlement.Usage{Apps: 10, Replicas: 20, MilliCPU: 10_000, MemoryBytes: 1 << 34},
		}, noon)
		w.must(err)
		for _, app := range []string{"shop", "db", "blog"} {
			w.must(r.Apps.Create(ctx, delivery.App{ID: app, Name: app, CreatedAt: noon}))
		}
		w.must(r.Licenses.Create(ctx, l))
		w.must(r.Registries.Create(ctx, delivery.Registry{Host: host, CreatedAt: noon}))
		w.entitle(ctx, r, "shop", "db", "blog")
		d, err := delivery.NewDeployment(delivery.DeploymentPlan{
			InstallID: install, License: l.Record(), Customer: "acme", Namespace: "acme",
		}, noon)
		w.must(err)
		w.must(r.Deployments.Create(ctx, d))
		return r.DesiredStates.Create(ctx, delivery.NewDesired(install, license, noon))
	})
	return w
}

// entitle makes exactly these the apps of the license, as licensing does it.
func (w *world) entitle(ctx context.Context, r *store.Roles, apps ...string) {
	w.t.Helper()
	l, err := r.Licenses.Get(ctx, license)
	w.must(err)
	current, err := r.Entitlements.OfLicense(ctx, license)
	w.must(err)
	var wanted []entitlement.Entitled
	for _, app := range apps {
		wanted = append(wanted, entitlement.Entitled{App: app})
	}
	rows, err := l.Entitle(current, wanted, w.clock.Now())
	w.must(err)
	w.must(r.Entitlements.Put(ctx, rows))
	w.must(r.Licenses.Save(ctx, l))
	w.must(r.Deployments.Review(ctx, license, w.clock.Now()))
}

// license changes the license, as licensing does it.
func (w *world) license(change func(*entitlement.License) error) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(store.UpdateIn[*entitlement.License](ctx, r.Licenses, license, change))
		return r.Deployments.Review(ctx, license, w.clock.Now())
	})
}

func (w *world) renew(until time.Time) {
	w.t.Helper()
	w.license(func(l *entitlement.License) error {
		_, err := l.Amend(entitlement.Amendment{ExpiresAt: &until}, w.clock.Now())
		return err
	})
}

// replica is another control plane over a store.
func (w *world) replica(s store.Store, seed uint64) *desired.Desired {
	settings := desired.DefaultSettings("https://api.example.test")
	w.must(settings.Check())
	documents := tokenstest.Documents{Signer: w.kms}
	return &desired.Desired{
		Store: s, Clock: w.clock, IDs: source{idstest.New(seed), seed}, Hints: w.hints, Settings: settings,
		Crypto: desired.Crypto{
			Documents: documents, Verifier: documents, Agents: tokenstest.Agents{}, Wrapper: w.wrap, Sealer: sealingtest.Fake{},
		},
		Rendering: desired.Rendering{
			Renderers: render.Renderers{delivery.SourceManifests: &rendertest.Memory{}}, Images: w.images,
		},
		Archiver: packtest.Plain{},
		Pepper:   func(context.Context) ([]byte, error) { return []byte(pepper), nil },
	}
}

// source keeps the ids of two replicas apart.
type source struct {
	*idstest.Source
	seed uint64
}

func (s source) New(prefix string) string { return s.Source.New(fmt.Sprintf("%s_%d", prefix, s.seed)) }

func (w *world) signingKey(kid string, purpose identity.KeyPurpose) {
	w.t.Helper()
	ref, public, err := w.kms.Create(w.ctx, signer.Purpose(purpose))
	w.must(err)
	w.public[kid] = public
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: kid, Purpose: purpose, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
			NotBefore: noon.Add(-time.Hour), SignUntil: noon.Add(365 * day), VerifyUntil: noon.Add(730 * day),
			CreatedAt: noon.Add(-time.Hour),
		}))
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("unexpected: %v", err)
	}
}

// refused fails the test unless err is the fault with this kind and slug.
func (w *world) refused(err error, kind fault.Kind, slug string) {
	w.t.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		w.t.Fatalf("got %v, want a refusal %s %s", err, kind, slug)
	}
}

func (w *world) do(fn func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.Atomically(w.ctx, fn))
}

func (w *world) view(fn func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.View(w.ctx, fn))
}

func (w *world) head() delivery.DesiredRecord {
	w.t.Helper()
	var out delivery.DesiredRecord
	w.view(func(ctx context.Context, r *store.Roles) error {
		d, err := r.DesiredStates.Get(ctx, install)
		if err == nil {
			out = d.Record()
		}
		return err
	})
	return out
}

// manifests are the rendered objects of an app.
func manifests(name, version string) []byte {
	return []byte(`{"objects":[{"app":"` + name + `","version":"` + version + `"}]}`)
}

func anApp(name, version string) delivery.DesiredApp {
	return delivery.DesiredApp{
		App: name, Version: version, Release: delivery.Digest([]byte(name + version)),
		Manifests: delivery.BlobOf(manifests(name, version)), Usage: entitlement.Usage{Apps: 1, Replicas: 1},
	}
}

// putting proposes apps, as name and version by turns.
func putting(reason string, apps ...string) desired.Proposal {
	p := desired.Proposal{Install: install, Actor: alice, Reason: reason}
	var put []delivery.DesiredApp
	for i := 0; i < len(apps); i += 2 {
		put = append(put, anApp(apps[i], apps[i+1]))
		p.Objects = append(p.Objects, manifests(apps[i], apps[i+1]))
	}
	p.Decide = func(desired.Situation) (delivery.Edit, error) { return delivery.Edit{Put: put}, nil }
	return p
}

func (w *world) publish(p desired.Proposal) desired.Published {
	w.t.Helper()
	out, err := w.Publish(w.ctx, p)
	w.must(err)
	return out
}

// payload is what a token says, checked as an agent does it.
func (w *world) payload(token string) delivery.Payload {
	w.t.Helper()
	keys := tokens.KeySet{"key-desired": {PublicKey: w.public["key-desired"], VerifyUntil: noon.Add(730 * day)}}
	raw, _, err := tokenstest.Documents{}.VerifyDocument(token, tokens.DesiredStateType, keys, w.clock.Now())
	w.must(err)
	p, err := delivery.ParsePayload(raw)
	w.must(err)
	if p.AppsAt != nil {
		w.view(func(ctx context.Context, r *store.Roles) error {
			list, err := r.Objects.Read(ctx, install, p.AppsAt.SHA256)
			w.must(err)
			p.Apps, err = delivery.ParseApps(list)
			return err
		})
	}
	return p
}
