package nodes_test

import (
	"context"
	"testing"
	"time"

	"berth/e2e/harness"
)

// A certificate that is revoked is refused at the next request: the node denies within its lease and says why; a new join
// token brings it back, in the same process.
func revoked(t *testing.T, w *world) {
	r, tenant := w.serving("a")
	old := harness.Fingerprint(r.Certificate())
	_, err := w.Operator().RevokeCredential(t.Context(), r.ID, old, "the test wants it")
	must(t, err)
	r.Within(harness.Lease, "it denies and says why", func() bool { return why(r, tenant) == "credential_revoked" })
	says(r, "credential_revoked")
	r.NewJoinToken()
	r.Within(patience, "it may write again", func() bool { return r.MayWrite(tenant) })
	r.Within(patience, "its new certificate is the current one", func() bool {
		return w.state(r, harness.Fingerprint(r.Certificate())) == "current"
	})
	if state := w.state(r, old); state != "revoked" {
		t.Errorf("the certificate that was revoked is %s", state)
	}
}

// slack is how late a node may be to deny (DESIGN §13).
const slack = 100 * time.Millisecond

// A node that is cut off, with nobody telling it, denies at the end of its lease, before the control plane counts the
// lease out; when the network is back it serves again by itself.
func cutOff(t *testing.T, w *world) {
	r, tenant := w.serving("a")
	before := w.Node(r.ID)
	w.cut(r, tenant, r.Wire.Cut)
	r.Wire.Heal()
	r.Within(patience, "it may write again", func() bool { return r.MayWrite(tenant) })
	after := w.Node(r.ID)
	if after.Heartbeat.Generation != before.Heartbeat.Generation || after.Lease.Epoch <= before.Lease.Epoch {
		t.Errorf("it came back as %+v after %+v: not the same process under a new lease", after, before)
	}
}

// cut cuts a node off, and wants it to deny at the end of its lease and before the control plane counts that out.
func (w *world) cut(r *harness.Relay, tenant string, off func()) {
	w.t.Helper()
	watch := harness.NewWatch(w.t, tenant, r)
	within(w.t, patience, "it is looked at", func() bool { return watch.Now() > 10 })
	off()
	cut := time.Now()
	within(w.t, patience, "the control plane counts the lease out", func() bool { return w.Node(r.ID).Lease.State == "lapsed" })
	lapsed := time.Now()
	denied := false
	for _, s := range watch.Samples() {
		switch {
		case s.Err != nil:
			w.t.Errorf("its debug page is gone: %v", s.Err)
		case s.Debug.Write && s.Asked.After(cut.Add(harness.Lease+slack)):
			w.t.Errorf("it may write %s after it was cut off", s.Asked.Sub(cut))
		case s.Debug.Write && s.Asked.After(lapsed):
			w.t.Error("it may write, and the control plane has counted its lease out")
		case !s.Debug.Write:
			denied = true
			if s.Debug.Why() != "lease_run_out" {
				w.t.Errorf("it denies for %q", s.Debug.Why())
			}
		}
	}
	if !denied {
		w.t.Error("it never denied")
	}
}

// A process that was stopped for longer than its lease denies at the first question after it, and then serves again by
// itself.
func stoppedLongerThanItsLease(t *testing.T, w *world) {
	r, tenant := w.serving("a")
	r.Pause()
	within(t, patience, "the control plane counts the lease out", func() bool { return w.Node(r.ID).Lease.State == "lapsed" })
	first := make(chan harness.DebugTenant, 1)
	asked := make(chan struct{})
	go func() {
		close(asked)
		all, err := r.Debug(context.Background())
		if err != nil {
			t.Errorf("its debug page: %v", err)
		}
		first <- all[tenant]
	}()
	<-asked
	r.Unpause()
	if got := <-first; got.Write || got.Why() == "" {
		t.Errorf("its first answer is %+v", got)
	}
	r.Within(patience, "it may write again", func() bool { return r.MayWrite(tenant) })
}

// Of two processes with one identity and copies of one disk exactly one may write at any time: the younger one, and the
// older one ends by itself.
func clonedDisk(t *testing.T, w *world) {
	older, tenant := w.serving("a")
	younger := older.Clone()
	w.connects(tenant, younger)
	watch := harness.NewWatch(t, tenant, older, younger)
	younger.Serves()
	if code := older.Ends(patience); code != exitSuperseded {
		t.Errorf("the older one ended with %d", code)
	}
	says(older, "another process is this node by now")
	younger.Within(patience, "it may write", func() bool { return younger.MayWrite(tenant) })
	harness.OneWriter(t, watch.Samples())
}

// exitSuperseded is the exit code of a node that another process has taken over from.
const exitSuperseded = 3
