package trust_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// A good assertion names its node, and gives the ticket that a mutation has to spend; a read gives none. Neither writes.
func TestGoodAssertion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump()
	p := w.payload()
	caller, ticket, err := w.check(w.seal(p))
	w.must(err)
	want := identity.Caller{Node: "n1", Region: "eu", SPIFFEID: spiffe("n1").String(), Fingerprint: fingerprint("n1-current")}
	if caller != want {
		t.Fatalf("the caller is %+v", caller)
	}
	expires := noon.Add(15 * time.Second)
	if ticket != (store.Ticket{Scope: "s2", Nonce: raw64(p.Nonce), ExpiresAt: expires.Add(2 * w.Settings.Skew)}) {
		t.Fatalf("the ticket is %+v", ticket)
	}
	_, ticket, err = w.CheckAssertion(w.ctx, trust.AssertionRequest{Headers: []string{w.seal(p)}, Arrived: arrived()})
	w.must(err)
	if ticket != (store.Ticket{}) {
		t.Fatalf("a read has the ticket %+v", ticket)
	}
	w.untouched(before, "a good assertion")
	if got := w.refusals.took(); len(got) != 0 {
		t.Fatalf("counted %v", got)
	}
}

// Both secrets work while one is rotated, and a reload is seen by the next request.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, err := identity.Seal(oldKey, w.payload())
	w.must(err)
	_, _, err = w.check(old)
	w.must(err)
	reloaded, err := identity.NewIngressSecrets([]identity.IngressSecret{newKey}, []string{oldKey.ID})
	w.must(err)
	w.Secrets = func() identity.IngressSecrets { return reloaded }
	_, _, err = w.check(old)
	w.refused(err, fault.Unauthenticated, "assertion_secret_retired")
	_, _, err = w.check(w.seal(w.payload()))
	w.must(err)
}

// badAssertion is one way to be refused.
type badAssertion struct {
	slug    string
	kind    fault.Kind
	headers func(w *world) []string
}

func altered(change func(*identity.Payload)) func(*world) []string {
	return func(w *world) []string {
		p := w.payload()
		change(&p)
		return []string{w.seal(p)}
	}
}

func sealedBy(secret identity.IngressSecret) func(*world) []string {
	return func(w *world) []string {
		value, err := identity.Seal(secret, w.payload())
		w.must(err)
		return []string{value}
	}
}

func of(name string) func(*world) []string {
	return altered(func(p *identity.Payload) { p.Fingerprint = fingerprint(name) })
}

var badAssertions = []badAssertion{
	{"assertion_missing", fault.Unauthenticated, func(*world) []string { return nil }},
	{"assertion_duplicated", fault.Unauthenticated, func(w *world) []string {
		return []string{w.seal(w.payload()), w.seal(w.payload())}
	}},
	{"assertion_malformed", fault.Unauthenticated, func(*world) []string { return []string{"v1.x.y"} }},
	{"assertion_malformed", fault.Unauthenticated, func(w *world) []string {
		return []string{w.seal(w.payload()) + "\n"}
	}},
	{"assertion_malformed", fault.Unauthenticated, func(*world) []string { return []string{strings.Repeat("v", 10_000)} }},
	{"assertion_secret_unknown", fault.Unauthenticated, sealedBy(identity.IngressSecret{
		ID: "s9", Key: []byte(strings.Repeat("9", 32)),
	})},
	{"assertion_secret_retired", fault.Unauthenticated, sealedBy(goneKey)},
	{"assertion_mac_mismatch", fault.Unauthenticated, sealedBy(identity.IngressSecret{ID: newKey.ID, Key: goneKey.Key})},
	{"assertion_expired", fault.Unauthenticated, altered(func(p *identity.Payload) {
		p.IssuedAt, p.ExpiresAt = noon.Add(-20*time.Second), noon.Add(-5*time.Second)
	})},
	{"assertion_from_future", fault.Unauthenticated, altered(func(p *identity.Payload) {
		p.IssuedAt, p.ExpiresAt = noon.Add(6*time.Second), noon.Add(20*time.Second)
	})},
	{"assertion_method_mismatch", fault.Forbidden, altered(func(p *identity.Payload) { p.Method = "PUT" })},
	{"assertion_target_mismatch", fault.Forbidden, altered(func(p *identity.Payload) { p.Target += "?x=1" })},
	{"assertion_host_mismatch", fault.Forbidden, altered(func(p *identity.Payload) { p.Host = "elsewhere.test" })},
	{"assertion_body_mismatch", fault.Forbidden, altered(func(p *identity.Payload) { p.BodySHA256[0]++ })},
	{"credential_unknown", fault.Unauthenticated, of("nobody's")},
	{"credential_expired", fault.Unauthenticated, of("expired")},
	{"credential_not_yet_valid", fault.Unauthenticated, of("early")},
	{"credential_revoked", fault.Unauthenticated, of("revoked")},
	{"credential_superseded", fault.Unauthenticated, of("superseded")},
	{"credential_of_another_node", fault.Forbidden, of("n2-current")},
	{"credential_of_another_node", fault.Forbidden, of("other domain")},
	{"node_retired", fault.Forbidden, altered(func(p *identity.Payload) {
		p.SPIFFEID, p.Fingerprint = spiffe("n3"), fingerprint("n3-current")
	})},
}

// hostile is a world with a certificate of every sort that is refused.
func hostile(t tb) *world {
	t.Helper()
	w := newWorld(t)
	w.credential("n1", "expired", identity.CredentialPrepared, func(r *identity.CredentialRecord) { r.ExpiresAt = noon })
	w.credential("n1", "early", identity.CredentialPrepared, func(r *identity.CredentialRecord) {
		r.IssuedAt = noon.Add(time.Minute)
	})
	w.credential("n1", "revoked", identity.CredentialRevoked)
	w.credential("n1", "superseded", identity.CredentialSuperseded)
	w.credential("n1", "other domain", identity.CredentialPrepared, func(r *identity.CredentialRecord) {
		r.SPIFFEID = "spiffe://elsewhere.test/relay/eu/n1"
	})
	w.node("n3")
	w.credential("n3", "n3-current", identity.CredentialCurrent)
	w.retire("n3")
	return w
}

// Every bad assertion of the list is refused by a slug of its own, counted under it, and nothing changes in the store:
// not even a transaction that could write is begun.
func TestBadAssertions(t *testing.T) {
	t.Parallel()
	w := hostile(t)
	before := w.dump()
	for _, c := range badAssertions {
		_, ticket, err := w.check(c.headers(w)...)
		w.refused(err, c.kind, c.slug)
		if got := w.refusals.took(); len(got) != 1 || got[c.slug] != 1 || ticket != (store.Ticket{}) {
			t.Errorf("%s: counted %v, ticket %+v", c.slug, got, ticket)
		}
		w.untouched(before, c.slug)
	}
	w.refused(w.CheckPathNode(identity.Caller{Node: "n1"}, "n2"), fault.Forbidden, "node_mismatch")
	w.must(w.CheckPathNode(identity.Caller{Node: "n1"}, "n1"))
	if got := w.refusals.took(); len(got) != 1 || got["node_mismatch"] != 1 {
		t.Errorf("counted %v", got)
	}
	w.untouched(before, "another node in the path")
}

// The skew is allowed to the instant, on either side.
func TestAssertionSkew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value := w.seal(w.payload())
	for _, c := range []struct {
		at   time.Duration
		slug string
	}{
		{-5 * time.Second, ""},
		{-5*time.Second - 1, "assertion_from_future"},
		{20*time.Second - 1, ""},
		{20 * time.Second, "assertion_expired"},
	} {
		w.clock.Jump(c.at)
		_, _, err := w.check(value)
		w.clock.Jump(-c.at)
		if c.slug == "" && err != nil || c.slug != "" && fault.SlugOf(err) != c.slug {
			t.Errorf("at %s: %v", c.at, err)
		}
	}
}

// That the store is away is told as such, and counted as nobody's refusal.
func TestAssertionWithoutStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mem.Inject(storetest.Faults{Begin: storetest.Always(storetest.Unavailable())})
	_, _, err := w.check(w.seal(w.payload()))
	w.refused(err, fault.Unavailable, "store_unavailable")
	if got := w.refusals.took(); len(got) != 0 {
		t.Fatalf("counted %v", got)
	}
	w.mem.Inject(storetest.Faults{})
	w.Observer = nil
	_, _, err = w.check()
	w.refused(err, fault.Unauthenticated, "assertion_missing")
}

// A mutation counts once: of its assertion sent again and again, to two replicas, one spends the ticket, and what the
// others would have done is undone with it.
func TestReplayOnTwoReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	value := w.seal(w.payload())
	replicas := []*trust.Trust{w.Trust, w.replica(2)}
	errs := make([]error, 40)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			in := trust.AssertionRequest{Headers: []string{value}, Arrived: arrived(), Mutating: true}
			_, ticket, err := replicas[i%2].CheckAssertion(w.ctx, in)
			if err != nil {
				errs[i] = errors.New("not let in")
				return
			}
			errs[i] = w.mem.Atomically(w.ctx, func(ctx context.Context, r *store.Roles) error {
				return r.Nonces.Spend(ctx, ticket)
			})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		w.refused(err, fault.Unauthenticated, "assertion_replayed")
	}
	if won != 1 {
		t.Fatalf("%d of one mutation", won)
	}
}

// A spent nonce is remembered for as long as its assertion could be accepted by any replica, and forgotten after.
func TestSweepNonces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings.NonceBatch = 2
	var tickets []store.Ticket
	for range 5 {
		_, ticket, err := w.check(w.seal(w.payload()))
		w.must(err)
		tickets = append(tickets, ticket)
		w.must(w.spend(ticket))
	}
	w.clock.Advance(15*time.Second + 3*w.Settings.Skew)
	w.must(w.SweepNonces(w.ctx))
	for _, ticket := range tickets {
		w.refused(w.spend(ticket), fault.Unauthenticated, "assertion_replayed")
	}
	w.clock.Advance(time.Second)
	w.must(w.SweepNonces(w.ctx))
	for _, ticket := range tickets {
		w.must(w.spend(ticket))
	}
}

func (w *world) spend(t store.Ticket) error {
	return w.mem.Atomically(w.ctx, func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, t) })
}

// The first use of a prepared certificate makes it current and supersedes the one before, audited once; later uses write
// nothing, and the old one is refused from then on (I5).
func TestFirstUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential("n1", "next", identity.CredentialPrepared, func(r *identity.CredentialRecord) { r.IssuedAt = noon })
	since := w.dump().Audit.Sequence
	next := func() string {
		p := w.payload()
		p.Fingerprint = fingerprint("next")
		return w.seal(p)
	}
	_, _, err := w.check(w.seal(w.payload()))
	w.must(err)
	w.mem.Inject(storetest.Faults{Twice: true})
	_, _, err = w.check(next())
	w.must(err)
	if got := w.states("n1"); got[fingerprint("next")] != identity.CredentialCurrent ||
		got[fingerprint("n1-current")] != identity.CredentialSuperseded {
		t.Fatalf("the states are %v", got)
	}
	w.wantActions(since, "credential.used_first")
	before := w.dump()
	_, _, err = w.check(next())
	w.must(err)
	_, _, err = w.check(w.seal(w.payload()))
	w.refused(err, fault.Unauthenticated, "credential_superseded")
	w.untouched(before, "a later use")
}

// First uses at once, on two replicas, are one; and where it can not be recorded the request is refused, so that no
// certificate is used that the next replica might not know of.
func TestFirstUseAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential("n1", "next", identity.CredentialPrepared)
	since := w.dump().Audit.Sequence
	p := w.payload()
	p.Fingerprint = fingerprint("next")
	value := w.seal(p)
	w.mem.Inject(storetest.Faults{Commit: storetest.Always(storetest.Unavailable())})
	_, _, err := w.check(value)
	w.refused(err, fault.Unavailable, "store_unavailable")
	w.mem.Inject(storetest.Faults{})
	replicas := []*trust.Trust{w.Trust, w.replica(2)}
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() {
			_, _, errs[i] = replicas[i%2].CheckAssertion(w.ctx, trust.AssertionRequest{Headers: []string{value}, Arrived: arrived()})
		})
	}
	all.Wait()
	w.must(errors.Join(errs...))
	w.wantActions(since, "credential.used_first")
}

// meddling does something once between the read of a caller and the transaction of its first use.
type meddling struct {
	store.Store
	meddle func()
}

func (m meddling) Caller(ctx context.Context, fp string) (*identity.Credential, placement.NodeStatus, error) {
	c, status, err := m.Store.Caller(ctx, fp)
	m.meddle()
	return c, status, err
}

// A revocation that falls between the check and the first use wins.
func TestRevokedAtFirstUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential("n1", "next", identity.CredentialPrepared)
	w.Store = meddling{w.mem, func() {
		_, err := w.replica(2).RevokeCredential(w.ctx, trust.RevokeCredentialRequest{
			Actor: alice, Node: "n1", Fingerprint: fingerprint("next"),
		})
		w.must(err)
	}}
	p := w.payload()
	p.Fingerprint = fingerprint("next")
	_, _, err := w.check(w.seal(p))
	w.refused(err, fault.Unauthenticated, "credential_revoked")
	if got := w.states("n1"); got[fingerprint("n1-current")] != identity.CredentialCurrent {
		t.Fatalf("the states are %v", got)
	}
}

// A caller that waited is judged again: revoked, expired and retired ones do not get their answer.
func TestRecheckCaller(t *testing.T) {
	t.Parallel()
	for slug, happens := range map[string]func(w *world){
		"": func(*world) {},
		"credential_revoked": func(w *world) {
			_, err := w.RevokeCredential(w.ctx, trust.RevokeCredentialRequest{
				Actor: alice, Node: "n1", Fingerprint: fingerprint("n1-current"),
			})
			w.must(err)
		},
		"credential_expired": func(w *world) { w.clock.Advance(time.Hour) },
		"node_retired":       func(w *world) { w.retire("n1") },
	} {
		w := newWorld(t)
		caller, _, err := w.check(w.seal(w.payload()))
		w.must(err)
		happens(w)
		err = w.RecheckCaller(w.ctx, caller)
		if slug == "" && err != nil || slug != "" && fault.SlugOf(err) != slug {
			t.Errorf("%s: %v", slug, err)
		}
		if got := w.refusals.took(); slug != "" && got[slug] != 1 {
			t.Errorf("%s: counted %v", slug, got)
		}
	}
	w := newWorld(t)
	w.refused(w.RecheckCaller(w.ctx, identity.Caller{}), fault.Invalid, "spiffe_id_malformed")
}
