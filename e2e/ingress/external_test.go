package ingress_test

import (
	"crypto/tls"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/adapters/ingress/proof"
	"berth/domain/fault"
)

// external is a control plane that signs nothing, before which an ingress believes what it is told.
func external(tb testing.TB) *deployment {
	tb.Helper()
	d := prepare(tb)
	d.write("roots.pem", encode(d.hostile.Certificate.Raw))
	at := free(tb, 5)
	d.site.Internal = &proof.Endpoint{Network: "unix", Address: d.path("internal.sock")}
	d.site.API, d.site.Enroll, d.site.Metrics, d.site.Ingress = d.endpoint(at[0]), d.endpoint(at[1]), d.endpoint(at[2]), d.endpoint(at[3])
	env := with(settings(d.dir), "BERTH_DATABASE_URL=sqlite:"+d.path("control.db"), "BERTH_INTERNAL_LISTEN=unix:"+d.path("internal.sock"),
		"BERTH_LISTEN="+at[0], "BERTH_ENROLL_LISTEN="+at[1], "BERTH_METRICS_LISTEN="+at[2],
		"BERTH_CA=none", "BERTH_EXTERNAL_ROOTS_FILE="+d.path("roots.pem"))
	d.berthd = []program{spawn(tb, "berthd", env)}
	d.ready()
	d.ingress = spawn(tb, "berth-ingress", with(d.ingressEnv(), "BERTH_INGRESS_TRUST_BUNDLE_REFRESH=1s",
		"BERTH_INGRESS_LISTEN="+at[3], "BERTH_INGRESS_METRICS_LISTEN="+at[4]))
	within(tb, "the ingress listens", d.ingress, func() bool { return dials(d.site.Ingress.Address) })
	return d
}

// admitted is a node whose certificate a CA signed and an operator admitted.
func (d *deployment) admitted(ca *proof.Authority, id string) apiclient.Node {
	d.tb.Helper()
	_, err := d.operator.CreateNode(d.tb.Context(), contract.NewNode{ID: id, Region: region})
	must(d.tb, err)
	own, err := ca.Issue("spiffe://" + trustDomain + "/relay/" + region + "/" + id)
	must(d.tb, err)
	_, err = d.operator.AdmitCredential(d.tb.Context(), id,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})))
	must(d.tb, err)
	c, err := apiclient.New(apiclient.Options{
		Base: "https://" + d.site.Ingress.Address, CA: d.roots(), Certificate: func() (*tls.Certificate, error) { return &own, nil },
	})
	must(d.tb, err)
	d.tb.Cleanup(c.Close)
	return apiclient.NewNode(c, id)
}

// replaceRoots has berthd see the whole of the file at any moment.
func (d *deployment) replaceRoots(text string) {
	d.tb.Helper()
	d.write("roots.next", text)
	must(d.tb, os.Rename(d.path("roots.next"), d.path("roots.pem")))
}

func (d *deployment) passes(n apiclient.Node) bool {
	_, err := n.SigningKeys(d.tb.Context())
	return err == nil
}

// Where another CA signs for nodes, its roots reach the ingress from a file of the control plane's, and so does the next
// one that is put beside it and the end of the first; a file that can not be used changes nothing, and is told of once.
func TestRootsOfAnotherCA(t *testing.T) {
	t.Parallel()
	d := external(t)
	next, err := proof.NewAuthority("the next")
	must(t, err)
	first, second := d.admitted(d.hostile, "first"), d.admitted(next, "second")
	within(t, "a node of the first CA is let through", d.ingress, func() bool { return d.passes(first) })
	if d.passes(second) {
		t.Error("a node of a CA that nobody believes is let through")
	}
	if _, err := d.operator.JoinToken(t.Context(), "first", contract.NewJoinToken{}); fault.SlugOf(err) != "ca_absent" {
		t.Errorf("a join token: %v", err)
	}
	bundle, err := d.operator.TrustBundle(t.Context())
	must(t, err)
	if len(bundle.Roots) != 1 || bundle.Roots[0].State != "external" || bundle.Roots[0].KID != "external-"+bundle.Roots[0].Fingerprint[:16] ||
		bundle.PEM != encode(d.hostile.Certificate.Raw) {
		t.Errorf("the bundle is %+v", bundle)
	}

	d.replaceRoots(encode(d.hostile.Certificate.Raw) + encode(next.Certificate.Raw))
	within(t, "a node of the next CA is let through", d.ingress, func() bool { return d.passes(second) })
	if !d.passes(first) {
		t.Error("the first CA is forgotten")
	}

	d.replaceRoots(encode(next.Certificate.Raw) + "garbage")
	within(t, "the bad file is told of", d.berthd[0], func() bool { return strings.Contains(d.berthd[0].output(), "the roots of other CAs are refused") })
	d.replaceRoots(encode(next.Certificate.Raw))
	within(t, "the first CA is believed no more", d.ingress, func() bool { return !d.passes(first) })
	if n := strings.Count(d.berthd[0].output(), "the roots of other CAs are refused"); n != 1 {
		t.Errorf("the bad file was told of %d times", n)
	}
	if !d.passes(second) {
		t.Error("the next CA is not believed")
	}
}
