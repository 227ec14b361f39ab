package trust_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store/storetest"
)

// enrolled is a node with a certificate of the authority's, in use.
func (e *enrolment) enrolled(node string) trust.Enrolled {
	e.t.Helper()
	out, err := e.enroll(e.joinToken(node).Clear, node)
	e.must(err)
	_, _, err = e.use(node, out.Fingerprint)
	e.must(err)
	return out
}

// rotate is a node's request for its next certificate, as it comes through the ingress.
func (e *enrolment) rotate(node, fp, key string) (trust.Enrolled, error) {
	e.t.Helper()
	caller, ticket, err := e.use(node, fp)
	if err != nil {
		return trust.Enrolled{}, err
	}
	return e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(e.t, keyOf(key))})
}

// The next certificate is prepared, and the old one good, until the next is used first; then the old one is superseded
// and can not be followed any more.
func TestRotateCredential(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	old := e.enrolled("n1")
	e.clock.Advance(12 * time.Hour)
	since := e.dump().Audit.Sequence
	e.mem.Inject(storetest.Faults{Twice: true})
	next, err := e.rotate("n1", old.Fingerprint, "next")
	e.must(err)
	e.mem.Inject(storetest.Faults{})
	e.chains(next)
	if next.SPIFFEID != old.SPIFFEID || !next.ExpiresAt.Equal(noon.Add(36*time.Hour)) {
		t.Fatalf("the next certificate is %+v", next)
	}
	for range 2 {
		_, _, err = e.use("n1", old.Fingerprint)
		e.must(err)
	}
	if got := e.states("n1"); got[old.Fingerprint] != identity.CredentialCurrent || got[next.Fingerprint] != identity.CredentialPrepared {
		t.Fatalf("the certificates are %v", got)
	}
	_, _, err = e.use("n1", next.Fingerprint)
	e.must(err)
	_, err = e.rotate("n1", old.Fingerprint, "third")
	e.refused(err, fault.Unauthenticated, "credential_superseded")
	e.wantActions(since, "credential.admitted", "credential.used_first")
	page, err := e.AuditEntries(e.ctx, trust.AuditEntriesRequest{After: since})
	e.must(err)
	if a := page.Entries[0]; a.Actor.ID != "n1" || a.Actor.Source != old.Fingerprint || a.Detail["admitted_by"] != "credential/"+old.Fingerprint {
		t.Errorf("the audit log says %+v", a)
	}
}

// However many answers are lost, as where a disk is full or a line half broken, the node gets its next certificate once one
// arrives (LESSON 7), and no more wait for their first use than may. What somebody else's token let in does not keep it from
// that.
func TestRotateCredentialNeverLocksOut(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	old := e.enrolled("n1")
	token := e.joinToken("n1").Clear
	for range identity.MaxPrepared {
		_, err := e.enroll(token, "another's")
		e.must(err)
		e.clock.Advance(time.Second)
	}
	var next trust.Enrolled
	for range 2 * identity.MaxPrepared {
		var err error
		next, err = e.rotate("n1", old.Fingerprint, "next")
		e.must(err)
		e.clock.Advance(time.Second)
	}
	waiting := 0
	for _, state := range e.states("n1") {
		if state == identity.CredentialPrepared {
			waiting++
		}
	}
	if waiting > identity.MaxPrepared {
		t.Errorf("%d wait for their first use", waiting)
	}
	_, _, err := e.use("n1", next.Fingerprint)
	e.must(err)
	if got := e.states("n1"); got[next.Fingerprint] != identity.CredentialCurrent || got[old.Fingerprint] != identity.CredentialSuperseded {
		t.Errorf("the certificates are %v", got)
	}
}

// A rotation counts once: the same assertion again is a replay, on another replica too, and admits nothing.
func TestRotationCountsOnce(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	old := e.enrolled("n1")
	caller, ticket, err := e.use("n1", old.Fingerprint)
	e.must(err)
	in := trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("next"))}
	replicas := []*trust.Trust{e.Trust, e.replica(2)}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() { _, errs[i] = replicas[i%2].RotateCredential(e.ctx, in) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		e.refused(err, fault.Unauthenticated, "assertion_replayed")
	}
	if won != 1 || len(e.states("n1")) != 3 { // with the one of newWorld
		t.Fatalf("%d rotations counted: %v", won, e.states("n1"))
	}
}

// Who may not rotate: a revoked certificate, whether it is found out at the door or only when the successor is to be
// admitted, and the certificate of a retired node. Its request for a certificate is judged as that of enrolment.
func TestRotateCredentialRefused(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	old := e.enrolled("n1")
	caller, ticket, err := e.use("n1", old.Fingerprint)
	e.must(err)
	before := e.dump()
	_, err = e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("n"), func(r *x509.CertificateRequest) {
		r.DNSNames = []string{"n1"}
	})})
	e.refused(err, fault.Invalid, "csr_extensions")
	e.untouched(before, "a bad request")
	e.ca.Break(errors.New("gone"))
	_, err = e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("n"))})
	e.refused(err, fault.Unavailable, "ca_unavailable")
	e.untouched(before, "an authority that is away")
	e.ca.Break(nil)

	e.ca.WhenSigned(func() {
		_, err := e.RevokeCredential(e.ctx, trust.RevokeCredentialRequest{Actor: alice, Node: "n1", Fingerprint: old.Fingerprint})
		e.must(err)
	})
	_, err = e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("n"))})
	e.refused(err, fault.Unauthenticated, "credential_revoked")
	e.ca.WhenSigned(nil)
	_, err = e.rotate("n1", old.Fingerprint, "n")
	e.refused(err, fault.Unauthenticated, "credential_revoked")
	if got := e.states("n1"); len(got) != 2 {
		t.Fatalf("the certificates are %v", got)
	}

	other := e.enrolled("n2")
	caller, ticket, err = e.use("n2", other.Fingerprint)
	e.must(err)
	e.retire("n2")
	_, err = e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("n"))})
	e.refused(err, fault.Conflict, "node_retired")
	_, err = e.rotate("n2", other.Fingerprint, "n")
	e.refused(err, fault.Forbidden, "node_retired")
}

// A revocation holds for the next request, and for one that waits before it is answered.
func TestRevocationOfAnEnrolledNode(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	out := e.enrolled("n1")
	waiting, _, err := e.use("n1", out.Fingerprint)
	e.must(err)
	e.must(e.RecheckCaller(e.ctx, waiting))
	_, err = e.RevokeCredential(e.ctx, trust.RevokeCredentialRequest{Actor: alice, Node: "n1", Fingerprint: out.Fingerprint, Reason: "stolen"})
	e.must(err)
	e.refused(e.RecheckCaller(e.ctx, waiting), fault.Unauthenticated, "credential_revoked")
	_, _, err = e.use("n1", out.Fingerprint)
	e.refused(err, fault.Unauthenticated, "credential_revoked")
	if topics := e.hints.took(); len(topics) != 1 || topics[0] != "node/n1" {
		t.Errorf("those who wait were hinted at by %v", topics)
	}
	_, err = e.enroll(e.joinToken("n1").Clear, "anew")
	e.must(err)
}

// What was asked for over a certificate ends with it, in one transaction, and each has its entry in the audit log, which
// names the one revoked; those who wait are hinted at once, and a certificate that came by another way stays.
func TestRevocationEndsWhatWasRotatedOverIt(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	stolen := e.enrolled("n1")
	thief := map[string]bool{stolen.Fingerprint: true}
	for _, key := range []string{"a", "b", "c"} {
		out, err := e.rotate("n1", stolen.Fingerprint, key)
		e.must(err)
		thief[out.Fingerprint] = true
	}
	mine, err := e.enroll(e.joinToken("n1").Clear, "anew")
	e.must(err)
	since := e.dump().Audit.Sequence
	e.hints.took()
	e.mem.Inject(storetest.Faults{Twice: true})
	_, err = e.RevokeCredential(e.ctx, trust.RevokeCredentialRequest{Actor: alice, Node: "n1", Fingerprint: stolen.Fingerprint, Reason: "stolen"})
	e.must(err)
	e.mem.Inject(storetest.Faults{})
	if got := e.hints.took(); len(got) != 1 || got[0] != "node/n1" {
		t.Errorf("hinted at %v", got)
	}
	for fp, state := range e.states("n1") {
		if thief[fp] != (state == identity.CredentialRevoked) {
			t.Errorf("%s is %s", fp, state)
		}
	}
	page, err := e.AuditEntries(e.ctx, trust.AuditEntriesRequest{After: since})
	e.must(err)
	for _, a := range page.Entries {
		fp, reason := a.Detail["fingerprint"], a.Detail["reason"]
		if !thief[fp] || a.Action != "credential.revoked" || a.Actor.ID != "alice" ||
			fp != stolen.Fingerprint && !strings.Contains(reason, stolen.Fingerprint) {
			t.Errorf("the audit log says %+v", a)
		}
		delete(thief, fp)
	}
	if len(thief) != 0 {
		t.Errorf("the audit log does not tell of %v", thief)
	}
	_, _, err = e.use("n1", mine.Fingerprint)
	e.must(err)
}

// Whatever answers get lost and wherever a process is killed, the certificate that a node holds works as long as it
// lives, and the node gets its next one by asking again (LESSONS 7).
func TestNobodyIsLockedOut(t *testing.T) {
	t.Parallel()
	faults := []storetest.Faults{
		{}, {Begin: storetest.Always(storetest.Unavailable())}, {Commit: storetest.Always(storetest.Unavailable())},
		{Answer: storetest.Always(storetest.CommitUnknown())},
	}
	rapid.Check(t, func(t *rapid.T) {
		e := newEnrolment(t)
		held := e.enrolled("n1")
		for round := range 12 {
			e.clock.Advance(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "passes")))
			if !e.clock.Now().Before(held.ExpiresAt) {
				held = e.enrolled("n1") // it slept too long: a new join token
			}
			f := rapid.SampledFrom(faults).Draw(t, "fault")
			e.ca.WhenSigned(func() { e.mem.Inject(f) })
			next, err := e.rotate("n1", held.Fingerprint, fmt.Sprint("key", round))
			e.mem.Inject(storetest.Faults{})
			e.ca.WhenSigned(nil)
			arrives := err == nil && rapid.Bool().Draw(t, "arrives")
			if _, _, err := e.use("n1", held.Fingerprint); err != nil {
				t.Fatalf("the certificate that the node holds is refused: %v", err)
			}
			if arrives {
				held = next
			}
			if _, _, err := e.use("n1", held.Fingerprint); err != nil {
				t.Fatalf("the certificate that arrived is refused: %v", err)
			}
		}
	})
}

// Clocks may differ by five seconds either way between who signs and who checks, for a certificate that was just signed.
func TestEnrolledWithSkewedClocks(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{5 * time.Second, -5 * time.Second} {
		e := newEnrolment(t)
		out, err := e.enroll(e.joinToken("n1").Clear, "n1")
		e.must(err)
		e.clock.Jump(skew)
		_, _, err = e.use("n1", out.Fingerprint)
		e.must(err)
		e.chains(out)
		next, err := e.rotate("n1", out.Fingerprint, "next")
		e.must(err)
		e.clock.Jump(-2 * skew)
		_, _, err = e.use("n1", next.Fingerprint)
		e.must(err)
	}
}
