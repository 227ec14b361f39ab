package desired_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

func TestEveryChangeIsASignedRevisionWithItsAuthorReasonAndDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.publish(putting("first", "shop", "1.0.0"))
	w.hints.Took()
	out := w.publish(putting("second", "shop", "1.1.0", "db", "2.0.0"))
	if !out.Changed || out.Head.Revision != 2 {
		t.Fatalf("%+v", out)
	}
	p := w.payload(out.Head.Token)
	if p.InstallID != install || p.Revision != 2 || p.Previous != first.Head.Digest || len(p.Apps) != 2 {
		t.Fatalf("%+v", p)
	}
	if until := noon.Add(33 * day); !p.Apps[0].RunUntil.Equal(until) {
		t.Fatalf("it may run until %s, want %s", p.Apps[0].RunUntil, until)
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		rev, err := r.Revisions.Get(ctx, install, 2)
		w.must(err)
		if rev.Actor != alice || rev.Reason != "second" || len(rev.Diff) != 2 || rev.Digest != out.Head.Digest {
			t.Fatalf("%+v", rev)
		}
		log, err := r.Audit.About(ctx, "deployment/"+install, 0, 10)
		w.must(err)
		last := log[len(log)-1]
		if last.Action != "desired_state.published" || last.Actor != alice || last.Detail["before"] != "1" ||
			last.Detail["after"] != "2" || last.Detail["change_02"] != "shop upgraded 1.0.0 → 1.1.0" {
			t.Fatalf("%+v", last)
		}
		_, err = r.Objects.Read(ctx, install, p.Apps[1].Manifests.SHA256)
		return err
	})
	if got := fmt.Sprint(w.hints.Took()); got != "[install/ins_1]" {
		t.Fatalf("hints %s", got)
	}
}

func TestWhatIsSoAlreadyMakesNoRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.publish(putting("first", "shop", "1.0.0"))
	ran := false
	again := putting("again", "shop", "1.0.0")
	again.Within = func(context.Context, *store.Roles, desired.Step) error { ran = true; return nil }
	out := w.publish(again)
	if out.Changed || out.Head.Revision != before.Head.Revision || out.Head.Token != before.Head.Token {
		t.Fatalf("%+v", out)
	}
	if !ran {
		t.Fatal("what belongs to the change was not done")
	}
}

// Many publishers at once, on two replicas: each change is in, once, in a line of revisions without a gap.
func TestPublishersRacingLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(w.mem, 2)
	apps := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	w.do(func(ctx context.Context, r *store.Roles) error {
		for _, app := range apps {
			w.must(r.Apps.Create(ctx, delivery.App{ID: app, Name: app, CreatedAt: noon}))
		}
		w.entitle(ctx, r, apps...)
		return nil
	})
	var wg sync.WaitGroup
	errs := make([]error, len(apps))
	for i, app := range apps {
		on := []*desired.Desired{w.Desired, other}[i%2]
		wg.Go(func() {
			for {
				if _, errs[i] = on.Publish(w.ctx, putting("race", app, "1.0.0")); fault.SlugOf(errs[i]) != "desired_state_contended" {
					return
				}
			}
		})
	}
	wg.Wait()
	w.must(errors.Join(errs...))
	if head := w.head(); head.Revision != int64(len(apps)) || len(head.Apps) != len(apps) || head.Usage.Apps != int64(len(apps)) {
		t.Fatalf("revision %d with %d apps", head.Revision, len(head.Apps))
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		previous := ""
		for n := int64(1); n <= int64(len(apps)); n++ {
			rev, err := r.Revisions.Get(ctx, install, n)
			w.must(err)
			if p := w.payload(rev.Token); p.Previous != previous || p.Revision != n {
				t.Fatalf("revision %d follows %q", n, p.Previous)
			}
			previous = rev.Digest
		}
		return nil
	})
}

// Of two who decide on what they see and of whom only one can have it, one gets it.
func TestADecisionIsMadeOnWhatIsCommitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	propose := func(app string) desired.Proposal {
		p := putting("only one", app, "1.0.0")
		put := p.Decide
		p.Decide = func(s desired.Situation) (delivery.Edit, error) {
			if len(s.Head.Running()) > 0 {
				return delivery.Edit{}, fault.New(fault.Conflict, "taken", "there is one already")
			}
			return put(s)
		}
		return p
	}
	var wg sync.WaitGroup
	var errs [2]error
	for i, app := range []string{"shop", "db"} {
		wg.Go(func() { _, errs[i] = w.Publish(w.ctx, propose(app)) })
	}
	wg.Wait()
	if won := (errs[0] == nil) != (errs[1] == nil); !won || fault.SlugOf(errors.Join(errs[:]...)) != "taken" {
		t.Fatalf("%v", errs)
	}
}

// A license that expires after the decision and before the commit: what is committed is what holds at the commit.
func TestALicenseThatExpiresBetweenCheckAndCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := putting("late", "shop", "1.0.0")
	put, asked := late.Decide, 0
	late.Decide = func(s desired.Situation) (delivery.Edit, error) {
		if asked++; asked == 1 {
			defer w.clock.Advance(40 * day) // grace included, it is over
		}
		if errs := s.License.Judge(s.Entitlement("shop"), s.Now); len(errs) > 0 {
			return delivery.Edit{}, errs[0]
		}
		return put(s)
	}
	_, err := w.Publish(w.ctx, late)
	w.refused(err, fault.Conflict, "license_expired")

	w = newWorld(t)
	w.publish(putting("first", "shop", "1.0.0"))
	asked, careless := 0, putting("careless", "db", "1.0.0")
	put = careless.Decide
	careless.Decide = func(s desired.Situation) (delivery.Edit, error) {
		if asked++; asked == 1 {
			defer w.clock.Advance(40 * day)
		}
		return put(s)
	}
	out := w.publish(careless)
	for _, app := range w.payload(out.Head.Token).Apps {
		if !app.Suspended {
			t.Fatalf("%s runs on a license that is over", app.App)
		}
	}
}

func TestNothingIsKeptOfAChangeThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boom := errors.New("boom")
	p := putting("fails", "shop", "1.0.0")
	p.Within = func(context.Context, *store.Roles, desired.Step) error { return boom }
	if _, err := w.Publish(w.ctx, p); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	w.kms.Break(errors.New("away"))
	_, err := w.Publish(w.ctx, putting("unsigned", "shop", "1.0.0"))
	w.refused(err, fault.Unavailable, "signer_unavailable")
	w.kms.Break(nil)
	w.mem.Inject(storetest.Faults{Commit: storetest.Always(storetest.Unavailable())})
	_, err = w.Publish(w.ctx, putting("lost", "shop", "1.0.0"))
	w.refused(err, fault.Unavailable, "store_unavailable")
	w.mem.Inject(storetest.Faults{})
	if head := w.head(); head.Revision != 0 || len(head.Apps) != 0 {
		t.Fatalf("%+v", head)
	}
	if topics := w.hints.Took(); len(topics) > 0 {
		t.Fatalf("hints of what did not happen: %v", topics)
	}
}

// A list that is too long to be signed whole is an object that the deployment may read; its digest is signed.
func TestALongListIsSignedByItsDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var apps, names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("app-%02d", i))
		apps = append(apps, names[i], "1.0.0")
	}
	w.do(func(ctx context.Context, r *store.Roles) error {
		for _, app := range names {
			w.must(r.Apps.Create(ctx, delivery.App{ID: app, Name: app, CreatedAt: noon}))
		}
		w.entitle(ctx, r, names...)
		return nil
	})
	out := w.publish(putting("many", apps...))
	if p := w.payload(out.Head.Token); p.AppsAt == nil || len(p.Apps) != 60 {
		t.Fatalf("%d apps", len(p.Apps))
	}
	if strings.Count(out.Head.Token, ".") != 2 {
		t.Fatal("no compact JWS")
	}
}

// An intent whose app is changed by something else ends there; one of another app goes on.
func TestAChangeSupersedesIntentsInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(putting("first", "shop", "1.0.0", "db", "1.0.0"))
	w.do(func(ctx context.Context, r *store.Roles) error {
		for _, app := range []string{"shop", "db"} {
			w.must(r.Intents.Create(ctx, delivery.NewIntent(delivery.Granted{
				ID: "int_" + app, InstallID: install, License: license, App: app, Action: delivery.Install, Version: "1.0.0", Revision: 1,
			}, noon)))
		}
		return nil
	})
	w.publish(putting("by hand", "shop", "2.0.0"))
	w.view(func(ctx context.Context, r *store.Roles) error {
		for app, want := range map[string]delivery.IntentState{"shop": delivery.IntentSuperseded, "db": delivery.IntentAccepted} {
			intent, err := r.Intents.Get(ctx, "int_"+app)
			w.must(err)
			if got := intent.Record().State; got != want {
				t.Errorf("%s: %s, want %s", app, got, want)
			}
		}
		return nil
	})
}

// An agent that enrols while a change is being signed stays enrolled: what is removed after that is removed by a tombstone.
func TestAnEnrolmentWhileAChangeIsSignedIsKept(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	token := w.packageToken()
	p := putting("two", "blog", "1.0.0")
	decide, enrolled := p.Decide, false
	p.Decide = func(s desired.Situation) (delivery.Edit, error) {
		if !enrolled {
			enrolled = true
			_, err := w.stranger(1).ask(token)
			w.must(err)
		}
		return decide(s)
	}
	w.publish(p)
	w.publish(removing("db"))
	if apps := w.head().Apps; len(apps) != 2 || apps[1].App != "db" || !apps[1].Removed {
		t.Fatalf("%+v", apps)
	}
}

// waited is a store in which something happens while a write waits for its turn.
type waited struct {
	store.Store
	meanwhile func()
}

func (s waited) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	return s.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		s.meanwhile()
		return fn(ctx, r)
	})
}

// What expires while a change waits for its turn in the store has expired at its commit.
func TestALicenseThatExpiresWhileItsChangeWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := putting("late", "shop", "1.0.0")
	put := p.Decide
	p.Decide = func(s desired.Situation) (delivery.Edit, error) {
		if errs := s.License.Judge(s.Entitlement("shop"), s.Now); len(errs) > 0 {
			return delivery.Edit{}, errs[0]
		}
		return put(s)
	}
	on := w.replica(waited{w.mem, func() { w.clock.Advance(40 * day) }}, 2)
	_, err := on.Publish(w.ctx, p)
	w.refused(err, fault.Conflict, "license_expired")
}
