package nodes_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// The CA's root is rotated twice while nodes live: each root is published before it signs and believed while certificates
// that it signed are, so that no lease is lost and no node has to be told anything.
func TestCARotates(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t, "BERTH_LEASE_DURATION=15s", "BERTH_LEASE_MARGIN=5s"), "roots")
	r, tenant := w.serving("a")
	other := w.relay("b")
	other.Serves()
	first := w.signer(r)
	w.undisturbed(r, tenant, func() {
		// Half a certificate's life and a bit at a time, so that each node renews once at each step.
		for step := range 5 {
			if step%2 == 0 && step < 4 {
				_, err := w.Operator().RotateSigningKey(t.Context(), contract.RotateKey{Purpose: "ca"})
				must(t, err)
			}
			olds := map[*harness.Relay]string{r: harness.Fingerprint(r.Certificate()), other: harness.Fingerprint(other.Certificate())}
			w.Shift(time.Duration(step+1) * (12*time.Hour + 30*time.Minute))
			for node, old := range olds {
				w.renewed(node, old)
			}
			if step%2 == 1 {
				w.takesOver()
			}
		}
	})
	last := w.signer(r)
	if last == first || w.signer(other) != last {
		t.Errorf("after two rotations the certificates are signed by %s and %s, and were by %s", last, w.signer(other), first)
	}
	bundle, err := w.Operator().TrustBundle(t.Context())
	must(t, err)
	// The first ended with the last certificate that it signed, more than a certificate's life ago.
	if n := len(bundle.Roots); n != 2 || slices.ContainsFunc(bundle.Roots, func(r contract.TrustBundleRoot) bool { return r.Fingerprint == first }) {
		t.Errorf("%d roots are believed, want the one that retires and the last: %+v", n, bundle.Roots)
	}
}

// takesOver waits until no root is pending any more.
func (w *world) takesOver() {
	w.t.Helper()
	within(w.t, 2*patience, "the new root signs", func() bool {
		bundle, err := w.Operator().TrustBundle(w.t.Context())
		must(w.t, err)
		return !slices.ContainsFunc(bundle.Roots, func(r contract.TrustBundleRoot) bool { return r.State == "pending" })
	})
}

// signer is the fingerprint of the root in the trust bundle that signed the node's certificate.
func (w *world) signer(r *harness.Relay) string {
	w.t.Helper()
	bundle, err := w.Operator().TrustBundle(w.t.Context())
	must(w.t, err)
	rest := []byte(bundle.PEM)
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		root, err := x509.ParseCertificate(block.Bytes)
		must(w.t, err)
		if r.Certificate().CheckSignatureFrom(root) == nil {
			sum := sha256.Sum256(root.Raw)
			return hex.EncodeToString(sum[:])
		}
	}
	w.t.Fatalf("no root of the trust bundle signed the certificate of %s", r.ID)
	return ""
}
