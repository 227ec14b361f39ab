package ingress_test

import (
	"crypto/x509"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"berth/adapters/ingress/proof"
	"berth/adapters/ingress/proof/prooftest"
)

// Each way to deploy the ingress is proven, on every listener: what may not get in does not (I2, I3, I4).
func TestDeploymentsAreProven(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *deployment{
		"processes over a socket": overSocket, "processes over pinned TLS": overPins,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t)
			if d.site.Internal.Network == "unix" {
				private(t, d.site.Internal.Address)
			}
			d.proven(proof.Options{})
		})
	}
}

// private checks what guards a socket in the place of TLS.
func private(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %s", path, info.Mode())
	}
}

// Two replicas in containers behind one ingress are proven, too, and neither takes what the other took.
func TestReplicasAreProven(t *testing.T) {
	t.Parallel()
	d := inContainers(t)
	d.proven(proof.Options{})
	replay(t, d)
}

// proven runs probes, and fails for each that is not as it must be or could not be run.
func (d *deployment) proven(o proof.Options) {
	d.tb.Helper()
	counts := map[proof.Verdict]int{}
	for _, r := range proof.Run(d.tb.Context(), &d.site, o) {
		counts[r.Verdict]++
		switch {
		case r.Verdict == proof.Failed:
			d.tb.Errorf("%s: %s: must be %v, saw %s", r.ID, r.Tries, r.Must, r.Saw)
		case r.Verdict == proof.NotProven && !d.exempt(r):
			d.tb.Errorf("%s: not proven: %s", r.ID, r.Why)
		}
	}
	d.tb.Log(counts)
}

// exempt are the doors of TLS, where the internal listener is a socket.
func (d *deployment) exempt(r proof.Result) bool {
	return r.Unable && r.Listener == proof.OnInternal && d.site.Internal.Network == "unix"
}

// What an operator sees of it.
func TestBerthctl(t *testing.T) {
	t.Parallel()
	d := overSocket(t)
	interrupted(t, d)
	t.Run("verified", func(t *testing.T) { t.Parallel(); verified(t, d) })
	t.Run("leaking", func(t *testing.T) { t.Parallel(); leaking(t, d) })
}

// What needs the secret, the files and the clocks of a deployment.
func TestWithTheSecret(t *testing.T) {
	t.Parallel()
	d := overSocket(t)
	t.Run("beside one another", func(t *testing.T) {
		t.Run("bent assertions", func(t *testing.T) { t.Parallel(); bent(t, d) })
		t.Run("clocks", func(t *testing.T) { t.Parallel(); clocks(t, d) })
		t.Run("leaks", func(t *testing.T) { t.Parallel(); leaks(t, d) })
	})
	t.Run("rotation", func(t *testing.T) { rotation(t, d) })
	t.Run("replay and restart", func(t *testing.T) { replay(t, d) })
}

// A terminator that leaks is caught before the real control plane, too, which refuses much of what gets past it: the proof
// does not take that for the ingress' own merit.
func leaks(t *testing.T, d *deployment) {
	for name, c := range map[string]struct {
		leaks prooftest.Leaks
		by    string
	}{
		"none":                  {prooftest.Leaks{}, ""},
		"does not strip":        {prooftest.Leaks{KeepsAssertion: true}, "ingress.headers.exact"},
		"believes the client's": {prooftest.Leaks{TrustsClient: true}, "ingress.headers.exact-elsewhere"},
		"trusts _":              {prooftest.Leaks{ReadsUnderscores: true}, "ingress.headers.underscores"},
		"obeys Connection":      {prooftest.Leaks{ObeysConnection: true}, "ingress.headers.connection"},
		"normalises paths":      {prooftest.Leaks{NormalisesTarget: true}, "ingress.targets.line-046-below"},
		"forwards TE":           {prooftest.Leaks{ForwardsCoding: true}, "ingress.framing.cl-te-plain"},
		"skips client auth":     {prooftest.Leaks{SkipsClientAuth: true}, "ingress.certificates.other-ca"},
		"skips names":           {prooftest.Leaks{SkipsNames: true}, "ingress.certificates.signed-two-uris"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := d.site
			site.Ingress, site.Patience = d.leaky(t, c.leaks), 2*time.Second
			var caught []string
			for _, r := range proof.Run(t.Context(), &site, proof.Options{Only: func(p proof.Probe) bool { return slices.Contains(few, p.ID) }}) {
				if r.Verdict == proof.Failed {
					caught = append(caught, r.ID)
				}
			}
			if c.by == "" && len(caught) > 0 || c.by != "" && !slices.Contains(caught, c.by) {
				t.Errorf("caught by %v, want %q", caught, c.by)
			}
		})
	}
}

// few are the probes that each catch one of the leaks.
var few = []string{
	"ingress.headers.exact", "ingress.headers.exact-elsewhere", "ingress.headers.underscores", "ingress.headers.connection",
	"ingress.targets.line-046-below", "ingress.framing.cl-te-plain", "ingress.certificates.other-ca", "ingress.certificates.signed-two-uris",
}

func (d *deployment) leaky(t *testing.T, leaks prooftest.Leaks) *proof.Endpoint {
	t.Helper()
	bundle, err := d.enrolment().TrustBundle(t.Context())
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle.PEM))
	roots.AddCert(d.hostile.Certificate)
	p := &prooftest.Proxy{
		Leaks: leaks, Certificate: d.serverCertificate(), Roots: roots, TrustDomain: trustDomain, Secret: d.secret, Slow: time.Second,
		Dial: func() (net.Conn, error) { return net.Dial("unix", d.site.Internal.Address) },
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go p.Serve(l)
	t.Cleanup(func() { _ = l.Close(); p.Close() })
	return d.endpoint(l.Addr().String())
}
