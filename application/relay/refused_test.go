package relay_test

import (
	"testing"
	"time"

	"berth/domain/fault"
)

// refusing is an ingress that does not take a certificate, so that nobody behind it is asked.
func (r *rig) refusing(shown []byte) {
	r.spoiled(func(method string, back bool) error {
		chain, _, ok := r.node.Certificate()
		if method == "Enroll" || !ok || string(chain[0]) != string(shown) {
			return nil
		}
		return fault.New(fault.Unauthenticated, "certificate_refused", "the ingress does not take it")
	})
}

// Where the ingress does not take its certificate a node lives on to its lease's end, says so, and takes a join token that
// is put there; where the ingress takes the certificate again it goes on with that one.
func TestCertificateRefusedByTheIngress(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		chain, _, _ := r.node.Certificate()
		enrolled := r.called("Enroll")
		r.refusing(chain[0])
		refused := time.Now()
		r.within(terms().Duration, "it denies", func() bool { return r.write() != "" })
		if lived := time.Since(refused); lived < terms().Duration/2 {
			t.Fatalf("it denies after %v, while its lease is alive", lived)
		}
		if f, ok := fault.As(r.node.Status().Why); !ok || f.Slug != "certificate_refused" || f.Cure == "" {
			t.Fatalf("it serves nothing for %v", r.node.Status().Why)
		}
		r.spoiled(nil)
		r.within(time.Minute, "it goes on with its certificate", func() bool { return r.write() == "" })
		if r.called("Enroll") != enrolled {
			t.Fatal("it tried to enrol by a token that was used")
		}
		r.refusing(chain[0])
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(time.Minute, "it goes on with another one", func() bool {
			now, _, _ := r.node.Certificate()
			return r.write() == "" && string(now[0]) != string(chain[0])
		})
	})
}
