package berthd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"berth/adapters/clock/systemclock"
	"berth/adapters/ids/ulidids"
	"berth/adapters/registry/ociregistry"
	"berth/adapters/render/yamlrender"
	"berth/adapters/store/pgstore"
	"berth/adapters/store/sqlitestore"
	"berth/adapters/token"
	"berth/application/desired"
	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/identity"
	"berth/e2e/lab"
	"berth/ports/clock"
	"berth/ports/notify/notifytest"
	"berth/ports/render"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// What the customers' benchmarks are made of: a catalogue of many apps, of which few are on the license.
const (
	entitledApps    = 50
	releasesOfEach  = 5
	chain           = 5 // apps of which each needs the one before
	imagesOfTheBig  = 20
	benchedInstall  = "ins_bench"
	benchedLicense  = "lic_bench"
	appsOfOneCommit = 500
)

// onEachStore runs a benchmark on memory, SQLite and Postgres.
func onEachStore(b *testing.B, run func(b *testing.B, s store.Store)) {
	b.Helper()
	b.Run("memory", func(b *testing.B) { run(b, storetest.NewMemory()) })
	b.Run("sqlite", func(b *testing.B) { run(b, onSQLite(b, filepath.Join(b.TempDir(), "control.db"))) })
	b.Run("postgres", func(b *testing.B) { run(b, onPostgres(b, lab.Postgres(b))) })
}

func onSQLite(tb testing.TB, path string) store.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), path, sqlitestore.Options{})
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	_, err = s.Migrate(tb.Context())
	must(tb, err)
	return s
}

func onPostgres(tb testing.TB, dsn string) store.Store {
	tb.Helper()
	s, err := pgstore.Open(tb.Context(), dsn, pgstore.Options{})
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	_, err = s.Migrate(tb.Context())
	must(tb, err)
	return s
}

func must(b testing.TB, errs ...error) {
	b.Helper()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

// stall is a market over a store and everything that is real about it.
type stall struct {
	*market.Market
	b      testing.TB
	other  *market.Market // another replica
	apps   int            // in the catalogue
	store  store.Store
	now    time.Time
	pepper []byte
	key    string
}

func newStall(b testing.TB, apps int, first, second store.Store) *stall {
	b.Helper()
	clock, err := systemclock.New()
	must(b, err)
	kms := signertest.NewMemory(1)
	st := &stall{b: b, apps: apps, store: first, now: clock.Now(), pepper: make([]byte, entitlement.PepperSize)}
	st.key = entitlement.FormatKey(benchedLicense, make([]byte, entitlement.SecretSize))
	st.Market, st.other = st.replica(first, clock, kms), st.replica(second, clock, kms)
	st.do(func(ctx context.Context, r *store.Roles) error {
		ref, public, err := kms.Create(ctx, signer.Purpose(identity.KeyForDesiredState))
		must(b, err)
		return r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: "key-1", Purpose: identity.KeyForDesiredState, PublicKey: public, Ref: string(ref), State: identity.KeyActive,
			NotBefore: st.now.Add(-time.Hour), SignUntil: st.now.AddDate(1, 0, 0), VerifyUntil: st.now.AddDate(2, 0, 0), CreatedAt: st.now,
		}))
	})
	st.seed()
	return st
}

func (st *stall) replica(s store.Store, k clock.Clock, kms signer.Signer) *market.Market {
	images := ociregistry.New(ociregistry.Config{Clock: k})
	st.b.Cleanup(images.Close)
	hints, ids := notifytest.NewFake(), ulidids.New(k)
	return &market.Market{
		Store: s, Clock: k, IDs: ids, Hints: hints, Settings: market.DefaultSettings(),
		Pepper: func(context.Context) ([]byte, error) { return st.pepper, nil },
		Desired: &desired.Desired{
			Store: s, Clock: k, IDs: ids, Hints: hints, Settings: desired.DefaultSettings("https://api.example.test"),
			Rendering: desired.Rendering{
				Renderers: map[delivery.SourceKind]render.Renderer{delivery.SourceManifests: yamlrender.Renderer{}}, Images: images,
			},
			Crypto: desired.Crypto{Documents: token.NewDocumentSigner(kms)},
		},
	}
}

func (st *stall) do(fn func(ctx context.Context, r *store.Roles) error) {
	st.b.Helper()
	must(st.b, st.store.Atomically(st.b.Context(), fn))
}

// between is how far one app that is on the license is from the next.
func (st *stall) between() int { return st.apps / entitledApps }

func appName(n int) string { return fmt.Sprintf("app-%04d", n) }

const smallest = `apiVersion: v1
kind: Secret
metadata: {name: NAME}
type: Opaque
data: {word: eA==}
`

// source is what an app is made of: one object, of a name of its own.
func (st *stall) source(n int) []byte {
	st.b.Helper()
	source, bad := delivery.EncodeFiles(map[string]string{"app.yaml": strings.Replace(smallest, "NAME", appName(n), 1)})
	if bad != nil {
		st.b.Fatal(bad)
	}
	return source
}

// seed fills the catalogue, entitles to every hundredth app, and installs ten of those.
func (st *stall) seed() {
	for from := 0; from < st.apps; from += appsOfOneCommit {
		st.do(func(ctx context.Context, r *store.Roles) error {
			var sources [][]byte
			for n := from; n < min(from+appsOfOneCommit, st.apps); n++ {
				source := st.source(n)
				sources = append(sources, source)
				st.app(ctx, r, n, delivery.Digest(source))
			}
			return r.Objects.Put(ctx, sources...)
		})
	}
	st.do(func(ctx context.Context, r *store.Roles) error {
		l, err := entitlement.NewLicense(entitlement.LicenseSpec{
			ID: benchedLicense, Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce,
			ExpiresAt: st.now.AddDate(1, 0, 0), KeyHash: entitlement.HashKey(st.pepper, st.key),
			Quota: entitlement.Usage{Apps: 100, Replicas: 1000, MilliCPU: 100_000, MemoryBytes: 1 << 40},
		}, st.now)
		must(st.b, err, r.Customers.Create(ctx, entitlement.Customer{ID: "acme", CreatedAt: st.now}), r.Licenses.Create(ctx, l))
		var rights []entitlement.Entitlement
		var apps []delivery.DesiredApp
		var observed []delivery.Observation
		for n := 0; n < st.apps; n += st.between() {
			rights = append(rights, entitlement.Entitlement{License: benchedLicense, App: appName(n), GrantedAt: st.now})
			if len(apps) < 10 {
				apps = append(apps, delivery.DesiredApp{App: appName(n), Version: "1.2.0", Manifests: delivery.BlobOf(st.source(n)), Since: 1, Usage: entitlement.Usage{Apps: 1}})
				observed = append(observed, delivery.Observation{
					InstallID: benchedInstall, App: appName(n), Version: "1.2.0", Outcome: delivery.OutcomeHealthy, Revision: 1, ReportedAt: st.now,
				})
			}
		}
		d, err := delivery.NewDeployment(delivery.DeploymentPlan{
			InstallID: benchedInstall, License: l.Record(), Customer: "acme", Namespace: "acme",
		}, st.now)
		must(st.b, err, r.Entitlements.Put(ctx, rights), r.Deployments.Create(ctx, d))
		must(st.b, r.DesiredStates.Create(ctx, delivery.RestoreDesired(delivery.DesiredRecord{
			InstallID: benchedInstall, License: benchedLicense, Revision: 1, Apps: apps, Digest: "d", Token: "t", At: st.now,
			Usage: entitlement.Usage{Apps: int64(len(apps))},
		})))
		return r.Observations.Put(ctx, observed)
	})
}

func (st *stall) app(ctx context.Context, r *store.Roles, n int, source string) {
	must(st.b, r.Apps.Create(ctx, delivery.App{ID: appName(n), Name: "App", CreatedAt: st.now}))
	for v := range releasesOfEach {
		rel := delivery.Release{App: appName(n), Version: fmt.Sprintf("1.%d.0", v), Kind: delivery.SourceManifests, Source: source}
		if n >= st.between() && n/st.between()%chain != 0 {
			rel.Requires = []delivery.Requirement{{App: appName(n - st.between()), Versions: "^1"}}
		}
		made, err := delivery.NewRelease(rel, st.now)
		must(st.b, err, r.Releases.Create(ctx, made))
	}
}

func (st *stall) caller() market.Caller {
	st.b.Helper()
	c, err := st.Authenticate(st.b.Context(), market.Credentials{Install: benchedInstall, Key: st.key})
	must(st.b, err)
	return c
}

// workloads are manifests of so many Deployments, with an image each.
func workloads(images []string) string {
	var out strings.Builder
	for i, image := range images {
		fmt.Fprintf(&out, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: part-%d}
spec:
  replicas: 2
  selector: {matchLabels: {part: "%d"}}
  template:
    metadata: {labels: {part: "%d"}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: %s
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {cpu: 20m, memory: 32Mi}}
`, i, i, i, image)
	}
	return out.String()
}

// big adds a release of an app that is on the license, with many images which a registry has.
func (st *stall) big() (app string) {
	b := st.b
	server := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	b.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	must(b, err)
	var images []string
	for i := range imagesOfTheBig {
		ref, err := name.ParseReference(fmt.Sprintf("%s/team/part-%d:1.0.0", host, i), name.Insecure)
		must(b, err, remote.Write(ref, image))
		images = append(images, ref.Name())
	}
	source, bad := delivery.EncodeFiles(map[string]string{"app.yaml": workloads(images)})
	if bad != nil {
		b.Fatal(bad)
	}
	app = appName(st.apps - st.between())
	st.do(func(ctx context.Context, r *store.Roles) error {
		must(b, r.Objects.Put(ctx, source))
		must(b, r.Registries.Create(ctx, delivery.Registry{Host: host, PlainHTTP: true, CreatedAt: st.now}))
		made, err := delivery.NewRelease(delivery.Release{
			App: app, Version: "2.0.0", Kind: delivery.SourceManifests, Source: delivery.Digest(source),
		}, st.now)
		must(b, err)
		return r.Releases.Create(ctx, made)
	})
	return app
}
