package nodes_test

import (
	"context"
	"testing"

	"berth/e2e/harness"
	"berth/e2e/lab"
)

// The images that are shipped, on a network of their own: a node whose packets are dropped, whose container is frozen for
// longer than its lease, and that is killed and started again on the same volume.
func TestContainers(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t), "boxed")
	ingress := w.BoxedIngress()
	r, container := w.BoxedRelay("boxed-a", w.region, ingress)
	r.Serves()
	tenant := w.NewTenant("boxed-t", w.region).ID
	w.connects(tenant, r)
	mayWrite := func(when string) {
		t.Helper()
		r.Within(patience, "it may write "+when, func() bool { return r.MayWrite(tenant) })
	}
	mayWrite("at first")

	w.cut(r, tenant, func() { container().Cut(ingress) })
	container().Heal(ingress)
	mayWrite("when it is healed")

	container().Pause()
	within(t, patience, "the control plane counts the lease out", func() bool { return w.Node(r.ID).Lease.State == "lapsed" })
	w.firstAnswerDenies(r, tenant, container())
	mayWrite("when it was thawed")

	before := w.Node(r.ID).Heartbeat.Generation
	r.Kill()
	r.Start()
	r.Beats(before)
	mayWrite("on the same volume")
}

// firstAnswerDenies asks a frozen container, thaws it, and wants to hear that it may not write.
func (w *world) firstAnswerDenies(r *harness.Relay, tenant string, c *lab.Container) {
	w.t.Helper()
	first := make(chan harness.DebugTenant, 1)
	asked := make(chan struct{})
	go func() {
		close(asked)
		all, err := r.Debug(context.Background())
		if err != nil {
			w.t.Errorf("its debug page: %v", err)
		}
		first <- all[tenant]
	}()
	<-asked
	c.Unpause()
	if got := <-first; got.Write || got.Why() == "" {
		w.t.Errorf("its first answer is %+v", got)
	}
}
