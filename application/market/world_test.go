package market_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/desired"
	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/notify/notifytest"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
	"berth/ports/tokens/tokenstest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	install = "ins_1"
	license = "lic_1"
	day     = 24 * time.Hour
)

var pepper = make([]byte, entitlement.PepperSize)

// key is the clear key of a license.
func key(license string) string {
	return entitlement.FormatKey(license, []byte(fmt.Sprintf("%-16s", license))[:entitlement.SecretSize])
}

// shelf is the desired state's use cases, with a rendering that the test decides on.
type shelf struct {
	*desired.Desired

	mu     sync.Mutex
	faults []*fault.Error
	usage  entitlement.Usage
	asked  []desired.PrepareRequest
	during func(n int) // the nth rendering, from 1
}

func (s *shelf) Prepare(_ context.Context, in desired.PrepareRequest) (desired.Prepared, []*fault.Error) {
	s.mu.Lock()
	s.asked = append(s.asked, in)
	n, faults, usage, during := len(s.asked), s.faults, s.usage, s.during
	s.mu.Unlock()
	if during != nil {
		during(n)
	}
	manifests := []byte(`{"objects":[{"app":"` + in.Choice.App + `","version":"` + in.Choice.Version + `"}]}`)
	app := delivery.DesiredApp{
		App: in.Choice.App, Version: in.Choice.Version, Release: delivery.Digest(manifests), Manifests: delivery.BlobOf(manifests),
		Usage: usage, Requires: requirements(in.Choice.App), Parameters: in.Choice.Parameters,
	}
	return desired.Prepared{App: app, Objects: [][]byte{manifests}}, faults
}

func requirements(app string) []string {
	if app == "shop" {
		return []string{"db"}
	}
	return nil
}

// world is a control plane over a store and a clock that the test moves: the license lic_1 for a month, on which the apps
// shop (which needs db), db and blog are, its empty deployment ins_1, and an app that is not on it: secret.
type world struct {
	*market.Market
	t     testing.TB
	ctx   context.Context
	mem   *storetest.Memory
	clock *clocktest.Fake
	hints *notifytest.Fake
	kms   *signertest.Memory
	shelf *shelf
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), hints: notifytest.NewFake(),
		kms: signertest.NewMemory(1),
	}
	w.Market = w.replica(w.mem, 1)
	w.shelf, _ = w.Desired.(*shelf)
	w.signingKey("key-desired")
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(r.Customers.Create(ctx, entitlement.Customer{ID: "acme", Name: "Acme", CreatedAt: noon}))
		for _, text := range []string{"shop 1.0.0: db ^1", "shop 1.1.0: db ^1", "shop 2.0.0: db ^2", "db 1.0.0", "db 2.0.0", "blog 1.0.0", "secret 1.0.0"} {
			w.release(ctx, r, text)
		}
		return nil
	})
	w.license(license, "shop", "db", "blog")
	w.deployment(install, license)
	return w
}

func (w *world) license(id string, apps ...string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		l, err := entitlement.NewLicense(entitlement.LicenseSpec{
			ID: id, Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce,
			ExpiresAt: noon.Add(30 * day), Grace: 3 * day, KeyHash: entitlement.HashKey(pepper, key(id)),
			Quota: entitlement.Usage{Apps: 10, Replicas: 20, MilliCPU: 10_000, MemoryBytes: 1 << 34},
		}, noon)
		w.must(err)
		w.must(r.Licenses.Create(ctx, l))
		w.entitle(ctx, r, id, apps...)
		return nil
	})
}

// entitle makes exactly these the apps of a license, as licensing does it: "shop", or "shop ^1".
func (w *world) entitle(ctx context.Context, r *store.Roles, license string, apps ...string) {
	w.t.Helper()
	l, err := r.Licenses.Get(ctx, license)
	w.must(err)
	current, err := r.Entitlements.OfLicense(ctx, license)
	w.must(err)
	var wanted []entitlement.Entitled
	for _, text := range apps {
		app, versions, _ := strings.Cut(text, " ")
		wanted = append(wanted, entitlement.Entitled{App: app, Versions: versions})
	}
	rows, err := l.Entitle(current, wanted, w.clock.Now())
	w.must(err)
	w.must(r.Entitlements.Put(ctx, rows))
	w.must(r.Licenses.Save(ctx, l))
	w.must(r.Deployments.Review(ctx, license, w.clock.Now()))
}

func (w *world) entitled(apps ...string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error { w.entitle(ctx, r, license, apps...); return nil })
}

func (w *world) deployment(id, license string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		l, err := r.Licenses.Get(ctx, license)
		w.must(err)
		d, err := delivery.NewDeployment(delivery.DeploymentPlan{
			InstallID: id, License: l.Record(), Customer: "acme", Namespace: "acme",
		}, noon)
		w.must(err)
		w.must(r.Deployments.Create(ctx, d))
		return r.DesiredStates.Create(ctx, delivery.NewDesired(id, license, noon))
	})
}

// release reads "shop 1.0.0: db ^1, cache" as a release of an app, which is made where it is not there.
func (w *world) release(ctx context.Context, r *store.Roles, text string) {
	w.t.Helper()
	head, needs, _ := strings.Cut(text, ":")
	app, version, _ := strings.Cut(head, " ")
	if err := r.Apps.Create(ctx, delivery.App{ID: app, Name: strings.ToUpper(app), CreatedAt: noon}); fault.KindOf(err) != fault.AlreadyExists {
		w.must(err)
	}
	source := []byte(`{}`)
	w.must(r.Objects.Put(ctx, source))
	rel := delivery.Release{
		App: app, Version: strings.TrimSpace(version), Kind: delivery.SourceManifests, Source: delivery.Digest(source), CreatedAt: noon,
	}
	for n := range strings.SplitSeq(needs, ",") {
		if n = strings.TrimSpace(n); n != "" {
			need, versions, _ := strings.Cut(n, " ")
			rel.Requires = append(rel.Requires, delivery.Requirement{App: need, Versions: versions})
		}
	}
	made, err := delivery.NewRelease(rel, noon)
	w.must(err)
	w.must(r.Releases.Create(ctx, made))
}

// replica is another control plane over a store.
func (w *world) replica(s store.Store, seed uint64) *market.Market {
	settings := market.DefaultSettings()
	w.must(settings.Check())
	documents := tokenstest.Documents{Signer: w.kms}
	from := source{idstest.New(seed), seed}
	d := &desired.Desired{
		Store: s, Clock: w.clock, IDs: from, Hints: w.hints, Settings: desired.DefaultSettings("https://api.example.test"),
		Crypto: desired.Crypto{Documents: documents, Verifier: documents, Agents: tokenstest.Agents{}, Wrapper: keywraptest.NewMemory(seed)},
	}
	return &market.Market{
		Store: s, Clock: w.clock, IDs: from, Hints: w.hints, Settings: settings,
		Desired: &shelf{Desired: d, usage: entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 100, MemoryBytes: 1 << 20}},
		Pepper:  func(context.Context) ([]byte, error) { return pepper, nil },
	}
}

// source keeps the ids of two replicas apart.
type source struct {
	*idstest.Source
	seed uint64
}

func (s source) New(prefix string) string { return s.Source.New(fmt.Sprintf("%s_%d", prefix, s.seed)) }

func (w *world) signingKey(kid string) {
	w.t.Helper()
	ref, public, err := w.kms.Create(w.ctx, signer.Purpose(identity.KeyForDesiredState))
	w.must(err)
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: kid, Purpose: identity.KeyForDesiredState, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
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

// against fails the test unless err names exactly these slugs.
func (w *world) against(err error, slugs ...string) {
	w.t.Helper()
	f, _ := fault.As(err)
	var got []string
	if f != nil {
		for _, part := range f.Errors {
			got = append(got, part.Slug)
		}
	}
	slices.Sort(got)
	slices.Sort(slugs)
	if !slices.Equal(got, slugs) {
		w.t.Fatalf("got %v (%v), want %v", got, err, slugs)
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

// caller is a deployment that proved its license.
func (w *world) caller(install, license string) market.Caller {
	w.t.Helper()
	c, err := w.Authenticate(w.ctx, market.Credentials{Install: install, Key: key(license), Source: "192.0.2.7"})
	w.must(err)
	return c
}

func (w *world) submit(action delivery.Action, app, version string) (delivery.IntentRecord, error) {
	w.t.Helper()
	return w.SubmitIntent(w.ctx, market.SubmitRequest{
		Caller: w.caller(install, license), Asked: delivery.Asked{App: app, Action: action, Version: version},
	})
}

func (w *world) granted(action delivery.Action, app, version string) delivery.IntentRecord {
	w.t.Helper()
	v, err := w.submit(action, app, version)
	w.must(err)
	return v
}

// ended lets an intent come to its end, as a report does it.
func (w *world) ended(id string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn[*delivery.Intent](ctx, r.Intents, id, func(v *delivery.Intent) error {
			v.Succeed(w.clock.Now(), "")
			return nil
		})
	})
}

func (w *world) head(install string) delivery.DesiredRecord {
	w.t.Helper()
	var out delivery.DesiredRecord
	w.view(func(ctx context.Context, r *store.Roles) error {
		d, err := r.DesiredStates.Get(ctx, install)
		out = d.Record()
		return err
	})
	return out
}

// installs puts apps into the deployment, one after the other, to their end.
func (w *world) installs(apps ...string) {
	w.t.Helper()
	for _, text := range apps {
		app, version, _ := strings.Cut(text, " ")
		w.ended(w.granted(delivery.Install, app, version).ID)
	}
}
