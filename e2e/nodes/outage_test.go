package nodes_test

import (
	"testing"

	"berth/e2e/harness"
)

// What befalls the control plane and the ingress while nodes live.
func TestOutages(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t), "outage")
	r, tenant := w.serving("a")
	w.ingressRestarts(r, tenant)
	w.secretRotates(r, tenant)
	w.oneReplicaDies(r, tenant)
	w.allReplicasDie(r, tenant)
}

// undisturbed runs something during which the node may write at every instant.
func (w *world) undisturbed(r *harness.Relay, tenant string, what func()) {
	w.t.Helper()
	epoch := w.Node(r.ID).Lease.Epoch
	watch := harness.NewWatch(w.t, tenant, r)
	what()
	seen := watch.Now()
	within(w.t, patience, "it is looked at after that", func() bool { return watch.Now() > seen+50 })
	harness.NeverDenied(w.t, watch.Samples())
	if now := w.Node(r.ID).Lease; now.State != "live" || now.Epoch != epoch {
		w.t.Errorf("its lease is %+v, and was of epoch %d", now, epoch)
	}
}

// An ingress that is restarted, killed too, costs no lease.
func (w *world) ingressRestarts(r *harness.Relay, tenant string) {
	w.t.Helper()
	w.undisturbed(r, tenant, func() {
		w.Ingress.Stop()
		w.Ingress.Start()
		w.nextBeat(r)
		w.Ingress.Kill()
		w.Ingress.Start()
		w.nextBeat(r)
	})
}

// Rotating the secret of the ingress costs no lease, and no request.
func (w *world) secretRotates(r *harness.Relay, tenant string) {
	w.t.Helper()
	w.undisturbed(r, tenant, func() {
		w.RotateIngressSecret()
		w.nextBeat(r)
		w.RotateIngressSecret()
		w.nextBeat(r)
	})
}

// The death of one replica of two costs no lease.
func (w *world) oneReplicaDies(r *harness.Relay, tenant string) {
	w.t.Helper()
	w.undisturbed(r, tenant, func() {
		w.Replicas[1].Kill()
		w.Upstream[1].Sever()
		w.nextBeat(r)
		w.nextBeat(r)
		w.Replicas[1].Run()
	})
}

// While no replica is there the node denies from the end of its lease on; when they are back it serves by itself.
func (w *world) allReplicasDie(r *harness.Relay, tenant string) {
	w.t.Helper()
	for _, replica := range w.Replicas {
		replica.Kill()
	}
	for _, tap := range w.Upstream {
		tap.Sever()
	}
	r.Within(patience, "it denies", func() bool { return why(r, tenant) == "lease_run_out" })
	for _, replica := range w.Replicas {
		replica.Run()
	}
	r.Within(patience, "it may write again", func() bool { return r.MayWrite(tenant) })
}

// nextBeat waits until another beat of the node was answered.
func (w *world) nextBeat(r *harness.Relay) {
	w.t.Helper()
	before := w.Node(r.ID).Heartbeat
	r.Within(patience, "it beats", func() bool {
		now := w.Node(r.ID).Heartbeat
		return now.Generation == before.Generation && now.Sequence > before.Sequence
	})
}
