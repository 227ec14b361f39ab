package ingress_test

import (
	"testing"

	"berth/adapters/ingress/proof"
)

// Each way to deploy the ingress is proven, on every listener: what may not get in does not (I2, I3, I4).
func TestDeploymentsAreProven(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *deployment{
		"processes over a socket": overSocket, "processes over pinned TLS": overPins, "containers, two replicas": inContainers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t)
			d.proven(proof.Options{})
		})
	}
}

// proven runs probes, and fails for each that is not as it must be or could not be run.
func (d *deployment) proven(o proof.Options) {
	d.tb.Helper()
	took := map[string]int64{}
	counts := map[proof.Verdict]int{}
	for _, r := range proof.Run(d.tb.Context(), &d.site, o) {
		counts[r.Verdict]++
		took[string(r.Listener)+string(r.Kind)] += r.Took
		if r.Took > 3000 { d.tb.Log(r.ID, r.Took, r.Saw) }
		switch {
		case r.Verdict == proof.Failed:
			d.tb.Errorf("%s: %s: must be %v, saw %s", r.ID, r.Tries, r.Must, r.Saw)
		case r.Verdict == proof.NotProven && !d.exempt(r):
			d.tb.Errorf("%s: not proven: %s", r.ID, r.Why)
		}
	}
	d.tb.Log(counts)
	for k, ms := range took { d.tb.Log(k, ms) }
}

// exempt are the doors of TLS, where the internal listener is a socket.
func (d *deployment) exempt(r proof.Result) bool {
	return r.Unable && r.Listener == proof.OnInternal && d.site.Internal.Network == "unix"
}
