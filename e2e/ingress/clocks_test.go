package ingress_test

import (
	"testing"

	"berth/adapters/ingress/proof"
)

// The clocks of ingress and control plane may differ by the skew, and by no more: an ingress that is further ahead asserts
// from the future, one that is further behind what has expired (I4). It makes no difference whose clock is wrong.
func clocks(t *testing.T, d *deployment) {
	for _, c := range []struct {
		offset string
		status int
		slug   string
	}{
		{"0s", 200, ""}, {"3s", 200, ""}, {"-3s", 200, ""}, {"-12s", 200, ""}, // an assertion lives for ten seconds
		{"20s", 401, "assertion_from_future"}, {"-40s", 401, "assertion_expired"},
	} {
		t.Run("the ingress by "+c.offset, func(t *testing.T) {
			t.Parallel()
			e := d.anotherIngress(t, "BERTH_INGRESS_CLOCK_OFFSET="+c.offset)
			d.through(t, e, d.site.First)().is(t, "a request", c.status, c.slug)
		})
	}
}

// A control plane whose clock is wrong refuses in the same way.
func TestTheControlPlanesClock(t *testing.T) {
	t.Parallel()
	for offset, slug := range map[string]string{"40s": "assertion_expired", "-20s": "assertion_from_future"} {
		t.Run(offset, func(t *testing.T) {
			t.Parallel()
			d := prepare(t)
			d.overSocket("BERTH_CLOCK_OFFSET=" + offset)
			m, _, err := proof.NewCast(d.operator, d.enrolment(), region).Enrol(t.Context(), "one")
			must(t, err)
			within(t, "the ingress listens", d.ingress, func() bool { return dials(d.site.Ingress.Address) })
			d.through(t, d.site.Ingress, m)().is(t, "a request", 401, slug)
			e := d.anotherIngress(t, "BERTH_INGRESS_CLOCK_OFFSET="+offset)
			d.through(t, e, m)().is(t, "through an ingress of the same time", 200, "")
		})
	}
}
