package proof_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"berth/adapters/ingress/proof"
	"berth/adapters/ingress/proof/prooftest"
)

// Where what has to work does not, nothing else at that listener counts as proven: a refusal would prove nothing.
func TestAFailedControlProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prooftest.Leaks{AssertsPath: true})
	for _, r := range proof.Run(t.Context(), w.site, proof.Options{}) {
		if r.Listener != proof.OnIngress || r.Kind == proof.KindControl {
			continue
		}
		if r.Verdict != proof.NotProven || !strings.Contains(r.Why, "ingress.control.elsewhere-before was failed") {
			t.Fatalf("%s is %s: %s", r.ID, r.Verdict, r.Why)
		}
	}
}

// A run that is stopped leaves the rest not proven, and says so of each.
func TestAStoppedRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prooftest.Leaks{})
	ctx, stop := context.WithCancel(t.Context())
	results := proof.Run(ctx, w.site, proof.Options{Progress: func(done, _ int, _ proof.Result) {
		if done == 200 {
			stop()
		}
	}})
	counts := map[proof.Verdict]int{}
	for _, r := range results {
		counts[r.Verdict]++
		if r.Verdict == proof.NotProven && r.Why == "" {
			t.Errorf("%s is not proven, and nothing says why", r.ID)
		}
	}
	if len(results) != len(proof.Probes())+controls(results) || counts[proof.Proven] > 400 || counts[proof.Failed] > 0 {
		t.Errorf("%v of %d", counts, len(results))
	}
}

func controls(results []proof.Result) (n int) {
	for _, r := range results {
		if r.Kind == proof.KindControl {
			n++
		}
	}
	return n
}

// One failure is a failure of all, and what was not proven is never counted as passed.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	of := func(all ...proof.Verdict) []proof.Result {
		var out []proof.Result
		for _, v := range all {
			out = append(out, proof.Result{Verdict: v})
		}
		return out
	}
	for _, c := range []struct {
		results []proof.Result
		want    proof.Verdict
	}{
		{of(proof.Proven, proof.Proven), proof.Proven}, {of(proof.Proven, proof.NotProven), proof.NotProven},
		{of(proof.Proven, proof.NotProven, proof.Failed), proof.Failed}, {nil, proof.NotProven},
	} {
		var r proof.Report
		r.Conclude(c.results)
		if r.Verdict != c.want {
			t.Errorf("%v comes to %s", c.results, r.Verdict)
		}
	}
}

// An outcome is as expected only where way, status and slug all are.
func TestExpectations(t *testing.T) {
	t.Parallel()
	e := proof.Expect{Way: proof.Answered, Status: []int{4, 501}, Not: []string{"assertion_"}}
	for _, c := range []struct {
		o    proof.Outcome
		want bool
	}{
		{proof.Outcome{Way: proof.Answered, Status: 404}, true}, {proof.Outcome{Way: proof.Answered, Status: 501}, true},
		{proof.Outcome{Way: proof.Answered, Status: 500}, false}, {proof.Outcome{Way: proof.Answered, Status: 200}, false},
		{proof.Outcome{Way: proof.Several, Status: 404}, false}, {proof.Outcome{Way: proof.Closed}, false},
		{proof.Outcome{Way: proof.Answered, Status: 401, Slug: "assertion_missing"}, false},
	} {
		if e.Meets(c.o) != c.want {
			t.Errorf("%s meets %s: not %t", c.o, e, c.want)
		}
	}
	if (proof.Expect{Way: proof.Answered, Slug: []string{"a"}}).Meets(proof.Outcome{Way: proof.Answered, Slug: "b"}) {
		t.Error("another slug meets it")
	}
}

// A report tells no secret that the site holds.
func TestTheReportTellsNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prooftest.Leaks{KeepsAssertion: true})
	w.site.Token = "bt_a_secret_of_an_operator"
	var r proof.Report
	r.Conclude(proof.Run(t.Context(), w.site, proof.Options{Only: only(kind(proof.KindHeaders))}))
	text, err := json.Marshal(r)
	must(t, err)
	if r.Counts[proof.Failed] == 0 || strings.Contains(string(text), w.site.Token) || strings.Contains(string(text), "v1.ey") {
		t.Errorf("%v: %.300s", r.Counts, text)
	}
}
