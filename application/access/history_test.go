package access_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/store"
)

// follower is a node's view of a tenant that is kept up to date by whatever it happens to ask.
type follower struct {
	*world
	view *authorization.View
	sent time.Duration
}

// Whatever happens to a tenant, and however a node asks for it (snapshot, delta or poll, in any order), the node ends
// with the view that a full snapshot gives; and revisions only grow.
func TestNodeFollowsAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := housed(t)
		w.Settings.KeepRevisions = rapid.IntRange(1, 8).Draw(t, "kept revisions")
		w.Settings.PollChanges = rapid.IntRange(1, 12).Draw(t, "poll changes")
		w.Settings.Limits.Principals = 6
		f := &follower{world: w, view: emptyView()}
		var revision int64
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			w.happens(t, i)
			if now := w.tenant().Revision; now < revision {
				t.Fatalf("the revision fell from %d to %d", revision, now)
			} else {
				revision = now
			}
			f.asks(rapid.SampledFrom([]string{"snapshot", "delta", "poll", "nothing"}).Draw(t, "asks"))
		}
		f.asks("poll")
		f.agrees()
	})
}

func emptyView() *authorization.View {
	return authorization.NewView(authorization.ViewConfig{Tenant: "acme", Region: "eu", Bound: time.Minute})
}

// happens makes one change, or tries to.
func (w *world) happens(t *rapid.T, i int) {
	var ids []string
	list, err := w.Principals(w.ctx, access.TenantPageRequest{Tenant: "acme"})
	w.must(err)
	for _, p := range list.Items {
		ids = append(ids, p.ID)
	}
	pick := func(label string) string { return rapid.SampledFrom(append(ids, "prn_nobody")).Draw(t, label) }
	switch rapid.IntRange(0, 7).Draw(t, "what") {
	case 0, 1, 2:
		w.tryPair(t, uint64(i))
	case 3:
		_, _ = w.revoke(pick("revoked"), pick("asker"))
	case 4:
		_, _ = w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: pick("revoked")})
	case 5:
		_, _ = w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	case 6:
		_, _ = w.Resume(w.ctx, access.ResumeRequest{Actor: alice, Tenant: "acme"})
		_, _ = w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: "acme", ID: fmt.Sprint("r", i%4)})
	case 7:
		w.must(w.SweepAccess(w.ctx))
	}
}

func (w *world) tryPair(t *rapid.T, n uint64) {
	role := rapid.SampledFrom([]authorization.Role{authorization.Owner, authorization.Member}).Draw(t, "role")
	code, err := w.PairingCode(w.ctx, access.PairingCodeRequest{Actor: alice, Tenant: "acme", Role: role})
	if err == nil {
		_, _ = w.RegisterDevice(w.ctx, registration(code.Code, n))
	}
}

func (f *follower) asks(how string) {
	f.t.Helper()
	f.sent++
	at := f.view.Position()
	switch how {
	case "snapshot":
		f.installs()
	case "delta":
		d, err := f.Delta(f.ctx, access.DeltaRequest{
			Caller: caller("a"), Tenant: "acme", Generation: max(at.Generation, 1), Since: at.Revision,
		})
		f.takes(d, err)
	case "poll":
		entries, err := f.poll("a", 0, store.Known{Tenant: "acme", Generation: at.Generation, Revision: at.Revision})
		f.must(err)
		if len(entries) == 0 {
			f.must(f.view.Confirm(at.Generation, at.Revision, f.sent))
			return
		}
		if entries[0].Result == access.PollDelta {
			f.takes(*entries[0].Delta, nil)
			return
		}
		f.installs()
	}
}

func (f *follower) installs() {
	f.t.Helper()
	f.must(f.view.Install(f.snapshot("a"), f.sent))
}

func (f *follower) takes(d access.DeltaAnswer, err error) {
	f.t.Helper()
	if fault.KindOf(err) == fault.Gone && err != nil {
		f.installs()
		return
	}
	f.must(err)
	if err := f.view.Apply(d.Delta, f.sent); fault.KindOf(err) == fault.Gone && err != nil {
		f.installs() // such as after a suspension, which ends the right to write
	} else {
		f.must(err)
	}
}

// agrees compares what the followed view and a fresh one decide, for every device and handle there ever was.
func (f *follower) agrees() {
	f.t.Helper()
	fresh := emptyView()
	f.must(fresh.Install(f.snapshot("a"), f.sent))
	if f.view.Position() != fresh.Position() || f.view.Writable() != fresh.Writable() {
		f.t.Fatalf("followed to %+v, a snapshot leads to %+v", f.view.Position(), fresh.Position())
	}
	list, err := f.Principals(f.ctx, access.TenantPageRequest{Tenant: "acme"})
	f.must(err)
	handles := f.dump().Handles
	for _, p := range list.Items {
		for _, h := range handles {
			claims := authorization.Claims{Tenant: "acme", Region: "eu", Principal: p.ID}
			a, b, err1 := authorization.CheckDevice(f.view, claims, h.Digest, f.sent)
			c, d, err2 := authorization.CheckDevice(fresh, claims, h.Digest, f.sent)
			if !reflect.DeepEqual([]any{a, b, err1 == nil}, []any{c, d, err2 == nil}) {
				f.t.Fatalf("%s on %s: followed %v, fresh %v", p.ID, h.Route, err1, err2)
			}
		}
	}
}
