package nodes_test

import (
	"testing"
	"time"

	"berth/e2e/harness"
)

// What comes with the hours of a certificate's life: the clocks of control plane and ingress are set ahead by them.
func TestCertificatesInTime(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t), "time")
	r, tenant := w.serving("a")
	w.renewsWithLostAnswers(r)
	w.renewsThoughKilled(r)
	w.renewsOnceTheCAIsBack(r)
	w.sleepsPastItsCertificate(r, tenant)
}

// rotation is where the node asks for its next certificate.
func rotation(r *harness.Relay) string { return "/internal/v1/nodes/" + r.ID + "/credentials" }

// atRotation has a hook at both replicas, until off is called.
func (w *world) atRotation(r *harness.Relay, hook harness.Hook) (off func()) {
	var offs []func()
	for _, tap := range w.Upstream {
		offs = append(offs, tap.On(harness.Path("POST", rotation(r)), hook))
	}
	return func() {
		for _, off := range offs {
			off()
		}
	}
}

// state is that of a certificate of the node.
func (w *world) state(r *harness.Relay, fingerprint string) string {
	return w.Credentials(r.ID)[fingerprint].State
}

// renewed waits until the node uses another certificate, which is the current one.
func (w *world) renewed(r *harness.Relay, old string) {
	w.t.Helper()
	r.Within(patience, "its next certificate is the current one", func() bool {
		now := harness.Fingerprint(r.Certificate())
		return now != old && w.state(r, now) == "current"
	})
	if s := w.state(r, old); s == "current" || s == "prepared" {
		w.t.Errorf("the certificate that was renewed is still %s", s)
	}
}

// At half of its life a node gets its next certificate. Until that is used first the old one stays in force, however often
// the answer is lost.
func (w *world) renewsWithLostAnswers(r *harness.Relay) {
	w.t.Helper()
	old := harness.Fingerprint(r.Certificate())
	lost := make(chan string, 3)
	off := w.atRotation(r, func(forward func() int) bool {
		if forward() != 200 || len(lost) == cap(lost) {
			return true
		}
		lost <- w.state(r, old)
		return false
	})
	defer off()
	w.Shift(13 * time.Hour)
	w.renewed(r, old)
	if len(lost) != cap(lost) {
		w.t.Fatalf("%d answers were lost", len(lost))
	}
	for range cap(lost) {
		if state := <-lost; state != "current" {
			w.t.Errorf("when an answer was lost the old certificate was %s", state)
		}
	}
}

// Killed before its request arrives, or before the answer does, the node goes on with what it has, and renews.
func (w *world) renewsThoughKilled(r *harness.Relay) {
	w.t.Helper()
	old := harness.Fingerprint(r.Certificate())
	type arrival struct{ dead chan struct{} }
	held := make(chan arrival)
	arrives := false
	off := w.atRotation(r, func(forward func() int) bool {
		if arrives {
			forward()
		}
		a := arrival{make(chan struct{})}
		held <- a
		<-a.dead
		return false
	})
	w.Shift(26 * time.Hour)
	for range 2 {
		a := <-held
		r.Kill()
		close(a.dead)
		arrives = true
		if now := harness.Fingerprint(r.Certificate()); now != old || w.state(r, old) != "current" {
			w.t.Errorf("killed while it renews, it has %s, and the old one is %s", now, w.state(r, old))
		}
		r.Start()
	}
	a := <-held
	off()
	r.Kill()
	close(a.dead)
	r.Serves()
	w.renewed(r, old)
}

// While the CA is away nodes go on with what they have and no token is spent; when it is back, they renew and enrol.
func (w *world) renewsOnceTheCAIsBack(r *harness.Relay) {
	w.t.Helper()
	old := harness.Fingerprint(r.Certificate())
	away := make(chan struct{})
	off := w.atRotation(r, func(forward func() int) bool { <-away; return forward() != 0 })
	w.Shift(39 * time.Hour)
	r.Beats(0)
	back := w.LoseCA()
	close(away)
	off()
	fresh := w.relay("fresh")
	fresh.Start()
	says(r, "ca_unavailable")
	says(fresh, "ca_unavailable")
	if now := harness.Fingerprint(r.Certificate()); now != old || w.Node(r.ID).Lease.State != "live" {
		w.t.Errorf("without a CA it has %s, and its lease is %s", now, w.Node(r.ID).Lease.State)
	}
	back()
	w.renewed(r, old)
	fresh.Beats(0)
}

// A node that was off for longer than its certificate lives serves nothing and says what it needs: another join token,
// which brings it back while it runs.
func (w *world) sleepsPastItsCertificate(r *harness.Relay, tenant string) {
	w.t.Helper()
	const passed = (39 + 25) * time.Hour
	r.Stop()
	w.Shift(passed)
	r.Extra["CLOCK_OFFSET"] = passed.String()
	r.Start()
	says(r, "credential_expired")
	if down := r.Down(); down != "credential_expired" || r.MayWrite(tenant) {
		w.t.Errorf("with a certificate that ended it is down for %q, and may write: %t", down, r.MayWrite(tenant))
	}
	r.NewJoinToken()
	p := w.NewPhone(tenant, "member", "phone")
	p.Tokens.At(func() time.Time { return time.Now().Add(passed) })
	p.Dial(p.Through(r))
	r.Within(patience, "it may write again", func() bool { return r.MayWrite(tenant) })
}
