package trust_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca/catest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// enrolment is a world whose control plane has a certificate authority, and its first root.
type enrolment struct {
	*world
	ca *catest.Memory
}

func newEnrolment(t tb) *enrolment {
	t.Helper()
	w := newWorld(t)
	authority := catest.NewMemory(w.kms)
	w.CA = authority
	w.must(w.KeepKeys(w.ctx))
	w.hints.took()
	return &enrolment{w, authority}
}

// replica is another control plane over the same store, authority and signing service.
func (e *enrolment) replica(seed uint64) *trust.Trust {
	r := e.world.replica(seed)
	r.CA = e.ca
	return r
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func csrOf(t tb, key crypto.Signer, change ...func(*x509.CertificateRequest)) []byte {
	t.Helper()
	var r x509.CertificateRequest
	for _, c := range change {
		c(&r)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &r, key)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func (e *enrolment) joinToken(node string) trust.JoinToken {
	e.t.Helper()
	out, err := e.CreateJoinToken(e.ctx, trust.CreateJoinTokenRequest{Actor: alice, Node: node})
	e.must(err)
	return out
}

func (e *enrolment) enroll(token, key string) (trust.Enrolled, error) {
	e.t.Helper()
	return e.Enroll(e.ctx, trust.EnrollRequest{JoinToken: token, CSR: csrOf(e.t, keyOf(key)), Source: "192.0.2.1"})
}

// use is the node's next request by a certificate.
func (e *enrolment) use(node, fp string) (identity.Caller, store.Ticket, error) {
	e.t.Helper()
	p := e.payload()
	p.SPIFFEID, p.Fingerprint = spiffe(node), fp
	return e.check(e.seal(p))
}

// chains fails the test unless a certificate is the node's and verifies against the roots that are believed now.
func (e *enrolment) chains(out trust.Enrolled) {
	e.t.Helper()
	c, err := x509.ParseCertificate(out.Certificate)
	e.must(err)
	bundle, err := e.TrustBundle(e.ctx)
	e.must(err)
	pool := x509.NewCertPool()
	for _, r := range bundle.Roots {
		root, err := x509.ParseCertificate(r.Certificate)
		e.must(err)
		pool.AddCert(root)
	}
	if _, err := c.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: e.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		e.t.Fatalf("at %v a certificate until %v: %v", e.clock.Now(), out.ExpiresAt, err)
	}
}

func (e *enrolment) secret(token string) identity.OneTimeSecretRecord {
	e.t.Helper()
	hash := identity.HashSecret(identity.JoinToken, token)
	var out identity.OneTimeSecretRecord
	e.view(func(ctx context.Context, r *store.Roles) error {
		s, err := r.Secrets.Get(ctx, hex.EncodeToString(hash[:]))
		if err == nil {
			out = s.Record()
		}
		return err
	})
	return out
}

// A token enrols a key as the node of its record: the certificate is admitted as prepared, names that node and nothing
// else, is dated back by a minute, ends after its life, chains to the bundle, and becomes current by its first use.
func TestEnroll(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	e.node("n3")
	since := e.dump().Audit.Sequence
	e.mem.Inject(storetest.Faults{Twice: true})
	token := e.joinToken("n3")
	out, err := e.enroll(token.Clear, "n3")
	e.must(err)
	e.mem.Inject(storetest.Faults{})
	c, err := identity.ReadNodeCertificate(out.Certificate)
	e.must(err)
	if c.SPIFFEID != spiffe("n3") || out.SPIFFEID != c.SPIFFEID.String() || out.Node != "n3" || out.Fingerprint != c.Fingerprint ||
		!c.NotBefore.Equal(noon.Add(-time.Minute)) || !c.NotAfter.Equal(noon.Add(24*time.Hour)) || !out.ExpiresAt.Equal(c.NotAfter) ||
		!out.ServerTime.Equal(noon) || !keyOf("n3").Public().(ed25519.PublicKey).Equal(c.PublicKey) {
		t.Fatalf("enrolled as %+v", out)
	}
	if half := c.NotAfter.Sub(c.NotBefore) / 2; !out.RenewAfter.Equal(c.NotBefore.Add(half)) {
		t.Errorf("it is renewed after %v", out.RenewAfter)
	}
	if len(out.Bundle.Roots) != 1 || len(out.Chain) != 0 || out.Bundle.TrustDomain != domain {
		t.Errorf("beside it came %+v", out.Bundle)
	}
	e.chains(out)
	if got := e.states("n3"); got[out.Fingerprint] != identity.CredentialPrepared || len(got) != 1 {
		t.Fatalf("the certificates of n3 are %v", got)
	}
	_, _, err = e.use("n3", out.Fingerprint)
	e.must(err)
	if got := e.states("n3"); got[out.Fingerprint] != identity.CredentialCurrent {
		t.Fatalf("after its first use it is %v", got)
	}
	e.wantActions(since, "join_token.issued", "join_token.used", "credential.admitted", "credential.used_first")
}

// The audit log names who enrolled, from where and by which token, and holds no token and no key.
func TestEnrolmentIsAudited(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	since := e.dump().Audit.Sequence
	token := e.joinToken("n1")
	out, err := e.enroll(token.Clear, "n1")
	e.must(err)
	page, err := e.AuditEntries(e.ctx, trust.AuditEntriesRequest{After: since})
	e.must(err)
	issued, used, admitted := page.Entries[0], page.Entries[1], page.Entries[2]
	if issued.Actor != alice || issued.Subject != "node/n1" || issued.Detail["token_id"] != token.ID {
		t.Errorf("issued: %+v", issued)
	}
	for _, entry := range []map[string]string{used.Detail, {"token_id": strings.TrimPrefix(admitted.Detail["admitted_by"], "join-token/")}} {
		if entry["token_id"] != token.ID {
			t.Errorf("the token is named as %v", entry)
		}
	}
	if used.Actor.ID != "n1" || used.Actor.Source != "192.0.2.1" || admitted.Actor != used.Actor || admitted.Detail["fingerprint"] != out.Fingerprint {
		t.Errorf("used: %+v, admitted: %+v", used, admitted)
	}
	all := fmt.Sprint(page.Entries)
	csr := base64Of(csrOf(t, keyOf("n1")))
	for what, secret := range map[string]string{"the token": token.Clear, "its text": strings.TrimPrefix(token.Clear, "bj_"), "the request": csr} {
		if strings.Contains(all, secret) {
			t.Errorf("%s stands in the audit log", what)
		}
	}
}

func base64Of(text []byte) string { return strings.Split(string(text), "\n")[1] }

// Of two keys that come with one token at the same instant, on two replicas, one is enrolled, whichever it is; the other
// is told that the token is used, and has no certificate that is believed.
func TestTwoEnrolmentsByOneToken(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	replicas := []*trust.Trust{e.Trust, e.replica(2)}
	for round := range 20 {
		node := fmt.Sprintf("r%d", round)
		e.node(node)
		token := e.joinToken(node)
		var both, signed sync.WaitGroup
		signed.Add(2)
		e.ca.WhenSigned(func() { signed.Done(); signed.Wait() }) // neither is admitted before both are signed
		outs, errs := make([]trust.Enrolled, 2), make([]error, 2)
		for i := range outs {
			csr := csrOf(t, keyOf(fmt.Sprint(i)))
			both.Go(func() {
				outs[i], errs[i] = replicas[i].Enroll(e.ctx, trust.EnrollRequest{JoinToken: token.Clear, CSR: csr})
			})
		}
		both.Wait()
		winner := slices.IndexFunc(errs, func(err error) bool { return err == nil })
		if winner < 0 {
			t.Fatalf("nobody was enrolled: %v", errs)
		}
		e.refused(errs[1-winner], fault.Unauthenticated, "join_token_used")
		if got := e.states(node); len(got) != 1 || got[outs[winner].Fingerprint] != identity.CredentialPrepared {
			t.Fatalf("the certificates are %v", got)
		}
	}
}

// The key that used a token may come again within the token's life, as one whose answer was lost does, and gets another
// certificate; any other key is refused, and so is that one once the token has expired.
func TestEnrollAgain(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	token := e.joinToken("n1")
	first, err := e.enroll(token.Clear, "mine")
	e.must(err)
	since := e.dump().Audit.Sequence
	e.clock.Advance(time.Minute)
	second, err := e.enroll(token.Clear, "mine")
	e.must(err)
	if second.Fingerprint == first.Fingerprint {
		t.Error("the same certificate was given twice")
	}
	e.wantActions(since, "credential.admitted")
	before := e.dump()
	_, err = e.enroll(token.Clear, "another's")
	e.refused(err, fault.Unauthenticated, "join_token_used")
	_, _, err = e.use("n1", second.Fingerprint)
	e.must(err)
	if _, _, err = e.use("n1", first.Fingerprint); fault.SlugOf(err) != "credential_superseded" {
		t.Errorf("the certificate that was lost: %v", err)
	}
	e.clock.Jump(time.Hour)
	_, err = e.enroll(token.Clear, "mine")
	if fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("after the token's end: %v", err)
	}
	if got := e.dump(); len(got.Credentials) != len(before.Credentials) {
		t.Errorf("certificates were admitted: %+v", got.Credentials)
	}
}

// Once a certificate that a token let in was used or revoked, its answer was not lost: the key gets no other by that token,
// or whoever stole key and token would enrol again after the revocation.
func TestEnrollAgainAfterUse(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*enrolment, string){
		"used": func(e *enrolment, fp string) {
			_, _, err := e.use("n3", fp)
			e.must(err)
		},
		"revoked": func(e *enrolment, fp string) {
			_, err := e.RevokeCredential(e.ctx, trust.RevokeCredentialRequest{Actor: alice, Node: "n3", Fingerprint: fp})
			e.must(err)
		},
	} {
		e := newEnrolment(t)
		e.node("n3")
		token := e.joinToken("n3").Clear
		out, err := e.enroll(token, "mine")
		e.must(err)
		end(e, out.Fingerprint)
		e.hints.took()
		before := e.dump()
		_, err = e.enroll(token, "mine")
		e.refused(err, fault.Unauthenticated, "join_token_used")
		e.untouched(before, what)
	}
}

// A token that is unknown, over, of a retired node or not even one, and a request that asks for more than a certificate
// for its key, are refused: nothing changes, the authority signs nothing, and the token works afterwards.
func TestEnrollRefused(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	e.node("n3")
	token, gone := e.joinToken("n1").Clear, e.joinToken("n3").Clear
	e.retire("n3")
	e.ca.WhenSigned(func() { t.Error("something was signed") })
	before := e.dump()
	good := csrOf(t, keyOf("n1"))
	for what, c := range map[string]struct {
		token, csr string
		kind       fault.Kind
		slug       string
	}{
		"unknown":           {"bj_" + strings.Repeat("a", 32), string(good), fault.Unauthenticated, "join_token_unknown"},
		"of a retired node": {gone, string(good), fault.Unauthenticated, "join_token_unknown"},
		"empty":             {"", string(good), fault.Invalid, "join_token_malformed"},
		"malformed":         {token + "a", string(good), fault.Invalid, "join_token_malformed"},
		"upper case":        {strings.ToUpper(token), string(good), fault.Invalid, "join_token_malformed"},
		"a pairing code":    {"0123-4567-89AB-CDEF", string(good), fault.Invalid, "join_token_malformed"},
		"no request":        {token, "", fault.Invalid, "csr_malformed"},
		"garbage":           {token, "garbage", fault.Invalid, "csr_malformed"},
		"huge":              {token, string(good) + strings.Repeat(" ", 8<<10), fault.Invalid, "csr_malformed"},
		"two":               {token, string(good) + string(good), fault.Invalid, "csr_malformed"},
		"names": {token, string(csrOf(t, keyOf("n1"), func(r *x509.CertificateRequest) { r.DNSNames = []string{"n1"} })),
			fault.Invalid, "csr_extensions"},
		"a unit": {token, string(csrOf(t, keyOf("n1"), func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"x"} })),
			fault.Invalid, "csr_subject"},
	} {
		_, err := e.Enroll(e.ctx, trust.EnrollRequest{JoinToken: c.token, CSR: []byte(c.csr)})
		if fault.KindOf(err) != c.kind || fault.SlugOf(err) != c.slug {
			t.Errorf("%s: %v, want %s", what, err, c.slug)
		}
		e.untouched(before, what)
	}
	e.ca.WhenSigned(nil)
	_, err := e.enroll(token, "n1")
	e.must(err)
	late := e.joinToken("n2").Clear
	e.clock.Jump(time.Hour)
	_, err = e.enroll(late, "n2")
	e.refused(err, fault.Unauthenticated, "join_token_expired")
}

// A join token has a life of its own, of a minute to a day; zero is none, and least of all for ever. It is made for a
// node that there is.
func TestCreateJoinToken(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	e.node("n3")
	e.retire("n3")
	before := e.dump()
	life := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		node string
		life *time.Duration
		kind fault.Kind
		slug string
	}{
		{"n1", life(0), fault.Invalid, "expiry_out_of_range"}, {"n1", life(-time.Hour), fault.Invalid, "expiry_out_of_range"},
		{"n1", life(time.Minute - 1), fault.Invalid, "expiry_out_of_range"}, {"n1", life(day + 1), fault.Invalid, "expiry_out_of_range"},
		{"n9", nil, fault.NotFound, "node_not_found"}, {"n3", nil, fault.Conflict, "node_retired"},
	} {
		_, err := e.CreateJoinToken(e.ctx, trust.CreateJoinTokenRequest{Actor: alice, Node: c.node, ExpiresIn: c.life})
		e.refused(err, c.kind, c.slug)
		e.same(before, c.slug)
	}
	for _, c := range []struct {
		life *time.Duration
		want time.Duration
	}{{nil, time.Hour}, {life(time.Minute), time.Minute}, {life(day), day}} {
		out, err := e.CreateJoinToken(e.ctx, trust.CreateJoinTokenRequest{Actor: alice, Node: "n1", ExpiresIn: c.life})
		e.must(err)
		if kept := e.secret(out.Clear); !out.ExpiresAt.Equal(noon.Add(c.want)) || kept.ID != out.ID || kept.Subject != "n1" || strings.Contains(fmt.Sprint(kept), out.Clear) {
			t.Errorf("made %+v, kept %+v", out, kept)
		}
	}
}
