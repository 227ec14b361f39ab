package licensing_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"berth/application/licensing"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/notify"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

const hour = time.Hour

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice"}
)

// world is a control plane over a memory store and a clock that the test moves, with the customer acme and the apps shop,
// till and db.
type world struct {
	*licensing.Licensing
	t      tb
	ctx    context.Context
	mem    *storetest.Memory
	clock  *clocktest.Fake
	hints  *published
	keeper *keywraptest.Memory
}

func newWorld(t tb) *world {
	t.Helper()
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), hints: &published{},
		keeper: keywraptest.NewMemory(1),
	}
	w.Licensing = w.replica(w.mem, 1)
	_, err := w.CreateCustomer(w.ctx, licensing.CreateCustomerRequest{Actor: alice, ID: "acme", Name: "Acme"})
	w.must(err)
	w.do(func(ctx context.Context, r *store.Roles) error {
		for _, app := range []string{"shop", "till", "db"} {
			w.must(r.Apps.Create(ctx, delivery.App{ID: app, Name: app, CreatedAt: noon}))
		}
		return nil
	})
	return w
}

// replica is another control plane over a store.
func (w *world) replica(s store.Store, seed uint64) *licensing.Licensing {
	return &licensing.Licensing{
		Store: s, Clock: w.clock, IDs: source{idstest.New(seed), seed}, Hints: w.hints, Wrapper: w.keeper,
	}
}

// source keeps the ids of two replicas apart.
type source struct {
	*idstest.Source
	seed uint64
}

func (s source) New(prefix string) string { return s.Source.New(fmt.Sprintf("%s_%d", prefix, s.seed)) }

// published remembers hints.
type published struct {
	mu     sync.Mutex
	topics []notify.Topic
}

func (p *published) Publish(_ context.Context, topics ...notify.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = append(p.topics, topics...)
}

func (p *published) all() []notify.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.topics)
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

func request() licensing.CreateLicenseRequest {
	return licensing.CreateLicenseRequest{
		Actor: alice, Customer: "acme", Environment: entitlement.Production, Enforcement: entitlement.Enforce,
		ExpiresAt: noon.Add(1000 * hour),
		Quota:     entitlement.Usage{Apps: 3, Replicas: 10, MilliCPU: 4000, MemoryBytes: 8 << 30},
	}
}

func (w *world) license() licensing.KeyedLicense {
	w.t.Helper()
	out, err := w.CreateLicense(w.ctx, request())
	w.must(err)
	return out
}

func on(license string) licensing.LicenseRequest {
	return licensing.LicenseRequest{Actor: alice, License: license}
}

func (w *world) entitle(license string, apps ...string) (licensing.Entitled, error) {
	in := licensing.EntitleRequest{LicenseRequest: on(license)}
	for _, app := range apps {
		in.Apps = append(in.Apps, entitlement.Entitled{App: app})
	}
	return w.Entitle(w.ctx, in)
}

// deployment puts one of a license into the store, with these selected services. It is not due for review.
func (w *world) deployment(id, license string, selected ...string) {
	w.t.Helper()
	record := delivery.DeploymentRecord{
		InstallID: id, Customer: "acme", License: license, Namespace: "acme", CreatedAt: noon, ChangedAt: noon,
	}
	for _, app := range selected {
		record.Selected = append(record.Selected, delivery.Choice{App: app})
	}
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(r.Deployments.Create(ctx, delivery.RestoreDeployment(record)))
		return r.DesiredStates.Create(ctx, delivery.NewDesired(id, license, noon))
	})
}

// reviewed returns when the deployment is to be looked at again, and puts that off.
func (w *world) reviewed(id string) time.Time {
	w.t.Helper()
	var at time.Time
	w.do(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, id)
		w.must(err)
		record := d.Record()
		at, record.ReviewAt = record.ReviewAt, time.Time{}
		return r.Deployments.Save(ctx, delivery.RestoreDeployment(record))
	})
	return at
}

// dump is all that this package keeps in a store.
type dump struct {
	Customers    []entitlement.Customer
	Licenses     []entitlement.LicenseRecord
	Entitlements []entitlement.Entitlement
	Reviews      []time.Time
	Audit        audit.Head
	Hints        int
}

func (w *world) dump() dump {
	w.t.Helper()
	d := dump{Hints: len(w.hints.all())}
	page := store.Page{Limit: store.MaxPage}
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		d.Customers, err = r.Customers.List(ctx, page)
		w.must(err)
		licenses, err := r.Licenses.List(ctx, "", page)
		w.must(err)
		for _, l := range licenses {
			d.Licenses = append(d.Licenses, l.Record())
			es, err := r.Entitlements.OfLicense(ctx, l.Record().ID)
			w.must(err)
			d.Entitlements = append(d.Entitlements, es...)
		}
		deployments, err := r.Deployments.List(ctx, "", page)
		w.must(err)
		for _, each := range deployments {
			d.Reviews = append(d.Reviews, each.Record().ReviewAt)
		}
		d.Audit, err = r.Audit.Head(ctx)
		return err
	})
	return d
}

// same fails the test unless nothing changed and nothing was hinted at.
func (w *world) same(before dump, what string) {
	w.t.Helper()
	if after := w.dump(); !reflect.DeepEqual(before, after) {
		w.t.Fatalf("%s changed something:\n%+v\n%+v", what, before, after)
	}
}

// entries is what the audit log says since an entry, its chain verified: action, subject and details in order.
func (w *world) entries(since int64) []string {
	w.t.Helper()
	var out []string
	w.view(func(ctx context.Context, r *store.Roles) error {
		out = nil
		head, err := r.Audit.Head(ctx)
		w.must(err)
		entries, err := r.Audit.Range(ctx, 0, store.MaxPage)
		w.must(err)
		for _, e := range entries[since:] {
			var words []string
			for name, value := range e.Detail {
				words = append(words, name+"="+value)
			}
			slices.Sort(words)
			out = append(out, e.Actor.ID+" "+e.Action+" "+e.Subject+" "+strings.Join(words, " "))
		}
		return audit.Verify(head, entries)
	})
	return out
}

func (w *world) wantEntries(since int64, want ...string) {
	w.t.Helper()
	if got := w.entries(since); !slices.Equal(got, want) {
		w.t.Fatalf("the audit log says\n%q, want\n%q", got, want)
	}
}

// told fails the test unless exactly these topics were hinted at since.
func (w *world) told(since dump, want ...notify.Topic) {
	w.t.Helper()
	if got := w.hints.all()[since.Hints:]; !slices.Equal(got, want) {
		w.t.Fatalf("hinted at %v, want %v", got, want)
	}
}
