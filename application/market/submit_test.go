package market_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"berth/application/market"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// A granted intent is in the desired state, in the revision that names it, and in the audit log with before and after.
func TestIntentChangesTheDesiredState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.granted(delivery.Install, "db", "")
	if v.State != delivery.IntentAccepted || v.Version != "2.0.0" || v.From != "" || v.Revision != 1 || v.License != license || v.InstallID != install {
		t.Errorf("got %+v", v)
	}
	w.ended(v.ID)
	head := w.head(install)
	if len(head.Apps) != 1 || head.Apps[0].App != "db" || head.Apps[0].Version != "2.0.0" || !head.Apps[0].RunUntil.Equal(noon.Add(33*day)) {
		t.Errorf("the head is %+v", head)
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		rev, err := r.Revisions.Get(ctx, install, 1)
		w.must(err)
		if rev.Reason != "intent "+v.ID || rev.Actor != (audit.Actor{Kind: audit.ActorCustomer, ID: install, Source: "192.0.2.7"}) {
			t.Errorf("the revision is by %+v for %q", rev.Actor, rev.Reason)
		}
		return nil
	})
	w.ended(w.granted(delivery.Install, "shop", "").ID)
	log := w.log("intent.accepted")
	if last := log[len(log)-1]; last.Detail["app"] != "shop" || last.Detail["before"] != "" || last.Detail["after"] != "2.0.0" ||
		last.Detail["action"] != "install" || last.Detail["revision"] != "2" || last.Actor.Kind != audit.ActorCustomer {
		t.Errorf("the log has %+v", last)
	}
}

func (w *world) log(action string) (out []audit.Entry) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) error {
		all, err := r.Audit.About(ctx, "deployment/"+install, 0, 1000)
		for _, e := range all {
			if e.Action == action {
				out = append(out, e)
			}
		}
		return err
	})
	return out
}

// Everything that is wrong is told at once: what the license says, what the catalogue says, and what registries say.
func TestEverythingThatIsWrongIsToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installs("db 1.0.0")
	w.shelf.faults = []*fault.Error{
		fault.New(fault.NotFound, "image_missing", "gone").Curable("push it"),
		fault.New(fault.Unavailable, "image_check_unavailable", "away"),
	}
	w.shelf.usage.MilliCPU = 1 << 40
	w.clock.Advance(31 * day)
	_, err := w.submit(delivery.Install, "shop", "2.0.0")
	w.against(err, "license_expired", "dependency_conflict", "image_missing", "image_check_unavailable", "quota_exceeded")
	if fault.KindOf(err) != fault.Invalid || w.head(install).Revision != 1 || len(w.log("intent.accepted")) != 1 {
		t.Errorf("refused as %s, and left revision %d", fault.KindOf(err), w.head(install).Revision)
	}
}

// What could not be found out is no answer to an intent: it is asked again.
func TestWhatCouldNotBeFoundOutIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, f := range []*fault.Error{
		fault.New(fault.Unavailable, "store_unavailable", "away"), fault.New(fault.Internal, "internal", "broken"),
		fault.New(fault.Unavailable, "render_unavailable", "away"),
	} {
		w.shelf.faults = []*fault.Error{fault.New(fault.NotFound, "image_missing", "gone"), f}
		_, err := w.submit(delivery.Install, "db", "")
		w.refused(err, f.Kind, f.Slug)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.shelf.faults = []*fault.Error{fault.New(fault.Unavailable, "image_check_unavailable", "ended")}
	w.shelf.during = func(int) { cancel() }
	_, err := w.SubmitIntent(ctx, market.SubmitRequest{
		Caller: w.caller(install, license), Asked: delivery.Asked{App: "db", Action: delivery.Install},
	})
	w.refused(err, fault.Unavailable, "request_ended")
}

// An app that is not on the license, and one that does not exist, are refused the same; nothing is rendered for them.
func TestAnAppThatIsNotOnTheLicenseMayAsWellNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, action := range []delivery.Action{delivery.Install, delivery.Upgrade, delivery.Uninstall} {
		var told []string
		for _, app := range []string{"secret", "unknown"} {
			_, err := w.submit(action, app, "1.0.0")
			w.against(err, "not_entitled")
			f, _ := fault.As(err)
			told = append(told, strings.ReplaceAll(f.Detail+f.Cure+f.Kind.String(), app, "it"))
		}
		if told[0] != told[1] {
			t.Errorf("%s: %q and %q", action, told[0], told[1])
		}
	}
	if len(w.shelf.asked) > 0 {
		t.Errorf("rendered %+v", w.shelf.asked)
	}
}

// looked tells of which apps releases were read.
type looked struct {
	store.Store
	apps map[string]bool
}

func (s *looked) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	return s.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		noted := *r
		noted.Releases = lookedReleases{r.Releases, s.apps}
		return fn(ctx, &noted)
	})
}

type lookedReleases struct {
	store.Releases
	apps map[string]bool
}

func (l lookedReleases) Outlines(ctx context.Context, apps []string) ([]store.ReleaseOutline, error) {
	for _, app := range apps {
		l.apps[app] = true
	}
	return l.Releases.Outlines(ctx, apps)
}

// Of an app that is not on the license nothing is read, so that the time an answer takes does not tell whether there is
// one; of one that is, all that it needs is, so that the answer says what to do first.
func TestWhatIsReadForAnIntent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entitled("shop", "db", "disk")
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.release(ctx, r, "db 2.1.0: disk")
		w.release(ctx, r, "disk 1.0.0")
		return nil
	})
	l := &looked{Store: w.mem, apps: map[string]bool{}}
	w.Market.Store = l
	_, err := w.submit(delivery.Install, "secret", "")
	w.against(err, "not_entitled")
	if len(l.apps) > 0 {
		t.Errorf("read %v", l.apps)
	}
	_, err = w.submit(delivery.Install, "shop", "")
	w.against(err, "dependency_missing")
	if f, _ := fault.As(err); f.Cure != "install disk 1.0.0, then db 2.1.0 first" {
		t.Errorf("the cure is %q", f.Cure)
	}
}

// Requests out of form are refused before anything is read, each part named.
func TestRequestsOutOfForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := map[string]string{"a": strings.Repeat("x", 64<<10)}
	_, err := w.SubmitIntent(w.ctx, market.SubmitRequest{
		Caller: w.caller(install, license), Asked: delivery.Asked{App: "Shop", Action: "reinstall", Version: "v1.2", Parameters: many},
	})
	w.against(err, "invalid_id", "action_unknown", "version_invalid", "parameter_invalid")
	for _, version := range []string{"1.2", "v1.2.3", "1.2.3+meta", " 1.2.3", "latest", strings.Repeat("1", 100)} {
		_, err := w.submit(delivery.Install, "db", version)
		w.refused(err, fault.Invalid, "version_invalid")
	}
}

// An upgrade goes up, and keeps the parameters that the app has.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.SubmitIntent(w.ctx, market.SubmitRequest{Caller: w.caller(install, license), Asked: delivery.Asked{
		App: "db", Action: delivery.Install, Version: "1.0.0", Parameters: map[string]string{"size": "3"},
	}})
	w.must(err)
	w.ended(w.log("intent.accepted")[0].Detail["intent"])
	v := w.granted(delivery.Upgrade, "db", "")
	if v.Version != "2.0.0" || v.From != "1.0.0" {
		t.Errorf("got %+v", v)
	}
	last := w.shelf.asked[len(w.shelf.asked)-1]
	if last.Keep["size"] != "3" || last.By != delivery.ByCustomer || last.Choice.Version != "2.0.0" {
		t.Errorf("rendered %+v", last)
	}
	w.ended(v.ID)
	for _, version := range []string{"", "1.0.0", "2.0.0"} {
		_, err := w.submit(delivery.Upgrade, "db", version)
		w.against(err, "downgrade_refused")
	}
}

// In observe mode an expired license lets an intent pass, and the intent says so, and the log.
func TestObserveRecordsWhatItLetsPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	observe := entitlement.Observe
	w.change(func(l *entitlement.License) error {
		_, err := l.Amend(entitlement.Amendment{Enforcement: &observe, Quota: &entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1, MemoryBytes: 1}}, noon)
		return err
	})
	w.clock.Advance(365 * day / 2)
	v := w.granted(delivery.Install, "db", "")
	if !slices.Equal(v.Waived, []string{"license_expired", "quota_exceeded"}) || w.log("intent.accepted")[0].Detail["waived"] != "license_expired, quota_exceeded" {
		t.Errorf("waived %v", v.Waived)
	}
}

// Uninstalling takes back the platform's word, and where no agent ever was it is at its end at once.
func TestUninstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installs("db 1.0.0", "shop 1.0.0")
	_, err := w.submit(delivery.Uninstall, "db", "")
	w.against(err, "dependents_remain")
	_, err = w.SetInstallation(w.ctx, market.InstallationRequest{Caller: w.caller(install, license), App: "shop", Installed: true, Version: "1.0.0"})
	w.must(err)
	v := w.granted(delivery.Uninstall, "shop", "")
	if v.State != delivery.IntentSucceeded || v.From != "1.0.0" || v.EndedAt.IsZero() {
		t.Errorf("got %+v", v)
	}
	if log := w.log("installation.reported"); len(log) != 2 || log[1].Detail["before"] != "installed 1.0.0" || log[1].Detail["after"] != "not installed" {
		t.Errorf("the log has %+v", log)
	}
	w.do(func(ctx context.Context, r *store.Roles) error { // an agent was told of it
		d, err := r.DesiredStates.Get(ctx, install)
		w.must(err)
		return r.DesiredStates.Save(ctx, d.HandedOut())
	})
	v = w.granted(delivery.Uninstall, "db", "")
	if v.State != delivery.IntentAccepted || !w.head(install).Apps[0].Removed {
		t.Errorf("got %+v", v)
	}
	_, err = w.submit(delivery.Install, "db", "")
	w.against(err, "intent_in_flight")
}

// What else refuses a change of the desired state is told in the same form.
func TestFrozenDesiredStateIsToldInErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(func(ctx context.Context, r *store.Roles) error {
		d, err := r.DesiredStates.Get(ctx, install)
		w.must(err)
		frozen, _ := d.Claimed(7)
		return r.DesiredStates.Save(ctx, frozen)
	})
	_, err := w.submit(delivery.Install, "db", "")
	w.against(err, "desired_state_frozen")
	w.refused(err, fault.Conflict, "desired_state_frozen")
}

// Rendering takes time. Whatever changes meanwhile, the intent is decided on what is there at the commit.
func TestWhatChangesWhileAnIntentIsPrepared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world)
		slugs  []string
	}{
		"the entitlement is withdrawn": {func(w *world) { w.entitled("shop", "blog") }, []string{"not_entitled"}},
		"the entitlement narrows":      {func(w *world) { w.entitled("db <2.0.0") }, []string{"version_unknown"}},
		"the license expires":          {func(w *world) { w.clock.Advance(30 * day) }, []string{"license_expired"}},
		"the license is suspended": {func(w *world) {
			w.change(func(l *entitlement.License) error { return l.Suspend(noon) })
		}, []string{"license_inactive"}},
		"the license is revoked": {func(w *world) {
			w.change(func(l *entitlement.License) error { return l.Revoke(noon) })
		}, []string{"license_inactive"}},
		"the quota shrinks": {func(w *world) {
			w.change(func(l *entitlement.License) error {
				_, err := l.Amend(entitlement.Amendment{Quota: &entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 99, MemoryBytes: 1 << 30}}, noon)
				return err
			})
		}, []string{"quota_exceeded"}},
		"a higher version is released": {func(w *world) {
			w.do(func(ctx context.Context, r *store.Roles) error { w.release(ctx, r, "db 3.0.0"); return nil })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shelf.during = func(int) { c.change(w) }
			v, err := w.submit(delivery.Install, "db", "")
			w.against(err, c.slugs...)
			if c.slugs == nil && (err != nil || v.Version != "2.0.0") {
				t.Errorf("got %+v, %v", v, err)
			}
			if c.slugs != nil && w.head(install).Revision != 0 {
				t.Error("it changed the desired state")
			}
		})
	}
}

// What was rendered for another deployment than there is at the commit is rendered anew.
func TestRenderedAnewForWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.during = func(n int) {
		if n == 1 {
			w.do(func(ctx context.Context, r *store.Roles) error {
				return r.Agents.Create(ctx, delivery.RestoreAgent(delivery.AgentRecord{
					ID: "agt_1", InstallID: install, PublicKey: make([]byte, 32), Platforms: []string{"linux/arm64"}, EnrolledAt: noon, SeenAt: noon,
				}))
			})
		}
	}
	w.granted(delivery.Install, "db", "")
	if len(w.shelf.asked) != 2 || !slices.Equal(w.shelf.asked[1].Platforms, []string{"linux/arm64"}) {
		t.Errorf("rendered %d times: %+v", len(w.shelf.asked), w.shelf.asked)
	}
}

// Where what an intent depends on never stands still, it is given up after a bounded number of attempts.
func TestGivesUpWhereNothingStandsStill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.during = func(n int) {
		w.do(func(ctx context.Context, r *store.Roles) error {
			a := delivery.AgentRecord{
				ID: "agt_1", InstallID: install, PublicKey: make([]byte, 32), Platforms: []string{"linux/" + strings.Repeat("a", n)}, EnrolledAt: noon, SeenAt: noon,
			}
			if n == 1 {
				return r.Agents.Create(ctx, delivery.RestoreAgent(a))
			}
			return r.Agents.Save(ctx, delivery.RestoreAgent(a))
		})
	}
	_, err := w.submit(delivery.Install, "db", "")
	w.refused(err, fault.Unavailable, "desired_state_contended")
	if f, _ := fault.As(err); f.RetryAfter < time.Millisecond || len(w.shelf.asked) != market.DefaultSettings().Attempts {
		t.Errorf("%+v after %d attempts", f, len(w.shelf.asked))
	}
}
