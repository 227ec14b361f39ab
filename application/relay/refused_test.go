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
		time.Sleep(2 * time.Second)
		if why := r.write(); why != "" {
			t.Fatalf("it denies for %s while its lease is alive", why)
		}
		time.Sleep(terms().Duration)
		if f, ok := fault.As(r.node.Status().Why); !ok || f.Slug != "certificate_refused" || f.Cure == "" || r.write() == "" {
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
