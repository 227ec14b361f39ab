package trust_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca/catest"
	"berth/ports/store/storetest"
)

// While the authority is away nobody is enrolled and the token stays unspent; a later try succeeds. That is said with a
// time after which to try again.
func TestEnrollWhileTheAuthorityIsAway(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	token := e.joinToken("n1").Clear
	for what, set := range map[string]func(error){"the authority": e.ca.Break, "the signing service": e.kms.Break} {
		before := e.dump()
		set(errors.New("gone"))
		_, err := e.enroll(token, "n1")
		e.refused(err, fault.Unavailable, "ca_unavailable")
		if f, _ := fault.As(err); f.RetryAfter <= 0 {
			t.Errorf("%s: no time to try again", what)
		}
		e.untouched(before, what)
		if used := e.secret(token); !used.UsedAt.IsZero() {
			t.Fatalf("%s: the token is spent", what)
		}
		set(nil)
	}
	_, err := e.enroll(token, "n1")
	e.must(err)
}

// While no root is believed, as before the first was made, nobody is enrolled and the bundle is not answered empty: both say
// that they are not ready, and when to ask again. A root of another CA is enough for a bundle.
func TestNotReadyBeforeTheFirstRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority := catest.NewMemory(w.kms)
	w.CA = authority
	e := &enrolment{w, authority}
	notReady := func() {
		t.Helper()
		_, enroll := e.enroll(e.joinToken("n1").Clear, "n1")
		_, bundle := w.TrustBundle(w.ctx)
		for _, err := range []error{enroll, bundle} {
			w.refused(err, fault.Unavailable, "ca_not_ready")
			if f, _ := fault.As(err); f.RetryAfter <= 0 {
				t.Error("the refusal does not say when to ask again")
			}
		}
	}
	notReady()
	w.must(e.KeepKeys(w.ctx))
	out, err := e.enroll(e.joinToken("n1").Clear, "n1")
	w.must(err)
	e.believes(out.Bundle, 1)
	kid := e.roots()[0].KID
	e.kms.Break(errors.New("gone"))
	_, err = e.CompromiseSigningKey(w.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: kid})
	w.must(err)
	notReady()
	roots := foreignRoots(t, noon.Add(day), keyOf("one"))
	e.ExternalRoots = func() []identity.ExternalRoot { return roots }
	b, err := e.TrustBundle(w.ctx)
	w.must(err)
	e.believes(b, 0, roots...)
}

// A process that is killed between signing and admitting leaves the token unspent and nothing admitted; one killed
// between admitting and answering, or whose answer is lost, leaves a node that enrols by trying again.
func TestEnrollThroughCrashes(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		faults   storetest.Faults
		slug     string
		admitted int
	}{
		"signed, not admitted":   {storetest.Faults{Begin: storetest.Always(storetest.Unavailable())}, "store_unavailable", 0},
		"not committed":          {storetest.Faults{Commit: storetest.Always(storetest.Unavailable())}, "store_unavailable", 0},
		"admitted, not answered": {storetest.Faults{Answer: storetest.Always(storetest.CommitUnknown())}, "commit_unknown", 1},
	} {
		e := newEnrolment(t)
		e.node("n3")
		token := e.joinToken("n3").Clear
		e.ca.WhenSigned(func() { e.mem.Inject(c.faults) })
		_, err := e.enroll(token, "n3")
		if fault.SlugOf(err) != c.slug {
			t.Fatalf("%s: %v", what, err)
		}
		e.mem.Inject(storetest.Faults{})
		e.ca.WhenSigned(nil)
		if got := e.states("n3"); len(got) != c.admitted {
			t.Fatalf("%s: the certificates are %v", what, got)
		}
		if spent := !e.secret(token).UsedAt.IsZero(); spent != (c.admitted > 0) {
			t.Fatalf("%s: spent %v", what, spent)
		}
		out, err := e.enroll(token, "n3")
		e.must(err)
		_, _, err = e.use("n3", out.Fingerprint)
		e.must(err)
	}
}

// What ends while the authority signs is seen before anything is admitted: the token's life, the node, the CA key.
func TestEnrollIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(e *enrolment)
		kind   fault.Kind
		slug   string
	}{
		"the token's life": {func(e *enrolment) { e.clock.Jump(time.Hour) }, fault.Unauthenticated, "join_token_expired"},
		"the node":         {func(e *enrolment) { e.retire("n3") }, fault.Unauthenticated, "join_token_unknown"},
		"the CA key": {func(e *enrolment) {
			bundle, err := e.TrustBundle(e.ctx)
			e.must(err)
			_, err = e.CompromiseSigningKey(e.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: bundle.Roots[0].KID})
			e.must(err)
		}, fault.Unavailable, "ca_unavailable"},
	} {
		e := newEnrolment(t)
		e.node("n3")
		token := e.joinToken("n3").Clear
		e.ca.WhenSigned(func() { c.change(e) })
		_, err := e.enroll(token, "n3")
		if fault.KindOf(err) != c.kind || fault.SlugOf(err) != c.slug {
			t.Errorf("%s: %v", what, err)
		}
		if got := e.states("n3"); len(got) != 0 {
			t.Errorf("%s: admitted were %v", what, got)
		}
		if used := e.secret(token); !used.UsedAt.IsZero() {
			t.Errorf("%s: the token is spent", what)
		}
	}
}

// The authority is never asked within a transaction: it may take its time, and no database waits for it.
func TestCertificatesAreSignedOutsideTransactions(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	inside := &insider{Store: e.mem}
	e.Store = inside
	token := e.joinToken("n1").Clear
	e.ca.WhenSigned(func() {
		if inside.in {
			t.Error("a certificate is signed within a transaction")
		}
	})
	out, err := e.enroll(token, "n1")
	e.must(err)
	if !bytes.Contains(out.Certificate, []byte(spiffe("n1").String())) {
		t.Error("no certificate")
	}
}
