package proof_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"berth/adapters/ingress/proof"
	"berth/adapters/ingress/proof/prooftest"
)

// A terminator that does everything right passes, and what was not given counts as not proven.
func TestASoundTerminatorIsProven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prooftest.Leaks{})
	results := proof.Run(t.Context(), w.site, proof.Options{})
	counts := map[proof.Verdict]int{}
	for _, r := range results {
		counts[r.Verdict]++
		if r.Verdict == proof.Failed {
			t.Errorf("%s: %s: must be %v, saw %s", r.ID, r.Tries, r.Must, r.Saw)
		}
		given := r.Listener == proof.OnIngress || r.Listener == proof.OnInternal
		if r.Verdict == proof.NotProven && given && !r.Unable {
			t.Errorf("%s: not proven: %s", r.ID, r.Why)
		}
		if !given && (r.Verdict != proof.NotProven || r.Why == "") {
			t.Errorf("%s: %s without a listener", r.ID, r.Verdict)
		}
	}
	t.Log(counts, len(results))
}

// Each leak is caught, by probes that are meant for it: so we know that the proof can fail.
func TestEachLeakIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leaks prooftest.Leaks
		by    []string
		only  func(proof.Probe) bool
	}{
		"does not strip":           {prooftest.Leaks{KeepsAssertion: true}, []string{"ingress.headers.exact", "ingress.headers.lower"}, kind(proof.KindHeaders)},
		"trusts the client":        {prooftest.Leaks{TrustsClient: true}, []string{"ingress.headers.exact-elsewhere"}, kind(proof.KindHeaders)},
		"trusts _":                 {prooftest.Leaks{ReadsUnderscores: true}, []string{"ingress.headers.underscores", "ingress.headers.underscore-first"}, kind(proof.KindHeaders)},
		"obeys Connection":         {prooftest.Leaks{ObeysConnection: true}, []string{"ingress.headers.connection", "ingress.headers.connection-lower"}, kind(proof.KindHeaders)},
		"normalises paths":         {prooftest.Leaks{NormalisesTarget: true}, []string{"ingress.targets.line-046-below"}, kind(proof.KindTargets)},
		"forwards TE":              {prooftest.Leaks{ForwardsCoding: true}, []string{"ingress.framing.cl-te-plain", "ingress.framing.te-cl-plain"}, plainCodings},
		"forwards any path":        {prooftest.Leaks{ForwardsAny: true}, []string{"ingress.targets.line-005"}, kind(proof.KindTargets)},
		"skips client auth":        {prooftest.Leaks{SkipsClientAuth: true}, []string{"ingress.certificates.self-signed", "ingress.certificates.other-ca"}, kind(proof.KindCertificates)},
		"skips names":              {prooftest.Leaks{SkipsNames: true}, []string{"ingress.certificates.signed-two-uris", "ingress.certificates.signed-ip-san"}, kind(proof.KindCertificates)},
		"asserts whom the path is": {prooftest.Leaks{AssertsPath: true}, []string{"ingress.control.elsewhere-before"}, kind(proof.KindHeaders)},
		"speaks TLS 1.2":           {prooftest.Leaks{Old: true}, []string{"ingress.certificates.tls-1.2"}, kind(proof.KindCertificates)},
		"resumes sessions":         {prooftest.Leaks{Resumes: true}, []string{"ingress.certificates.resumed"}, kind(proof.KindCertificates)},
		"has no bounds":            {prooftest.Leaks{NoBounds: true}, []string{"ingress.limits.slow-head", "ingress.limits.slow-body"}, kind(proof.KindLimits)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.leaks)
			var caught []string
			if c.leaks.NoBounds || c.leaks.ForwardsCoding { // what waits for ever is not waited for
				w.site.Patience, w.site.Slow = time.Second, time.Second
			}
			for _, r := range proof.Run(t.Context(), w.site, proof.Options{Only: only(c.only)}) {
				if r.Verdict == proof.Failed {
					caught = append(caught, r.ID)
				}
			}
			for _, id := range c.by {
				if !slices.Contains(caught, id) {
					t.Errorf("%s did not catch it; these did: %v", id, caught)
				}
			}
			t.Logf("%d probes caught it: %.600v", len(caught), caught)
		})
	}
}

// kind is the kind of attempts that a leak is caught by.
func kind(k proof.Kind) func(proof.Probe) bool {
	return func(p proof.Probe) bool { return p.Kind == k }
}

// only is what is tried of a leaky terminator: the listener behind it leaks nothing.
func only(also func(proof.Probe) bool) func(proof.Probe) bool {
	return func(p proof.Probe) bool { return p.Listener == proof.OnIngress && also(p) }
}

// plainCodings are few of those that make a leaky terminator wait for what never comes.
func plainCodings(p proof.Probe) bool {
	return strings.HasSuffix(p.ID, "-plain") || p.Kind == proof.KindHeaders
}

// Ids are stable names: no two probes share one.
func TestIdsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range proof.Probes() {
		if seen[p.ID] {
			t.Errorf("%s names two probes", p.ID)
		}
		seen[p.ID] = true
	}
}
