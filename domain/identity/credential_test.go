package identity_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

func fingerprint(n int) string { return identity.FingerprintOf(fmt.Append(nil, n)) }

func admission(t tester, n int, issued time.Time) identity.Admission {
	t.Helper()
	return identity.Admission{
		SPIFFEID: relayID(t, "eu", "n1"), Fingerprint: fingerprint(n), IssuedAt: issued,
		ExpiresAt: issued.Add(8 * time.Hour), AdmittedBy: "join-token/jt_1",
	}
}

func admit(t tester, set *identity.Credentials, n int, issued time.Time) {
	t.Helper()
	added, err := set.Admit(admission(t, n, issued), issued)
	if err != nil || added == nil || added.Record() != set.Find(fingerprint(n)).Record() {
		t.Fatalf("credential %d was admitted as %+v, %v", n, added, err)
	}
}

func use(t tester, set *identity.Credentials, n int, now time.Time) {
	t.Helper()
	must(t, errOf(set.Use(fingerprint(n), now)))
}

func credentialsOf(records ...identity.CredentialRecord) *identity.Credentials {
	return identity.RestoreCredentials("n1", records)
}

func stateOf(set *identity.Credentials, n int) identity.CredentialState {
	return set.Find(fingerprint(n)).State()
}

// The diagram of I5.
func TestCredentialDiagram(t *testing.T) {
	t.Parallel()
	wantDiagram(t, identity.CredentialDiagram(),
		"prepared use current",
		"prepared replace superseded",
		"prepared revoke revoked",
		"current replace superseded",
		"current revoke revoked",
	)
}

// Every state meets every event: where the diagram has no arrow the credential stays as it is, to the last field.
func TestCredentialEveryStateAndEvent(t *testing.T) {
	t.Parallel()
	now := start().Add(time.Hour)
	events := map[string]func(*identity.Credentials) ([]*identity.Credential, error){
		"use": func(s *identity.Credentials) ([]*identity.Credential, error) { return s.Use(fingerprint(1), now) },
		"revoke": func(s *identity.Credentials) ([]*identity.Credential, error) {
			return s.Revoke(fingerprint(1), now, "lost")
		},
		"replace": func(s *identity.Credentials) ([]*identity.Credential, error) { // what a later one's first use does to it
			changed, err := s.Use(fingerprint(2), now)
			return changed[1:], err
		},
	}
	want := map[string]identity.CredentialState{}
	for _, e := range identity.CredentialDiagram() {
		want[e.From+" "+e.Event] = identity.CredentialState(e.To)
	}
	for _, state := range []identity.CredentialState{
		identity.CredentialPrepared, identity.CredentialCurrent, identity.CredentialSuperseded, identity.CredentialRevoked, "other",
	} {
		for name, event := range events {
			record := recordIn(t, state)
			later := recordIn(t, identity.CredentialPrepared)
			later.Fingerprint, later.IssuedAt = fingerprint(2), record.IssuedAt.Add(time.Minute)
			set := credentialsOf(record, later)
			changed, err := event(set)
			after := set.Records()[0]
			to, allowed := want[string(state)+" "+name]
			switch {
			case allowed && (err != nil || after.State != to || len(changed) != 1 || changed[0].Record() != after):
				t.Errorf("%s %s: %s, %v, returned %+v", state, name, after.State, err, changed)
			case !allowed && (len(changed) != 0 || after != record):
				t.Errorf("%s %s: changed to %+v", state, name, after)
			}
		}
	}
}

func recordIn(t tester, state identity.CredentialState) identity.CredentialRecord {
	t.Helper()
	return identity.CredentialRecord{
		Node: "n1", SPIFFEID: relayID(t, "eu", "n1").String(), Fingerprint: fingerprint(1), IssuedAt: start(),
		ExpiresAt: start().Add(8 * time.Hour), State: state, AdmittedBy: "x",
	}
}

// Each reason not to believe a certificate has its slug (I4), and the edges of its validity are exact.
func TestCheckCredential(t *testing.T) {
	t.Parallel()
	caller := relayID(t, "eu", "n1")
	begin, end := start(), start().Add(8*time.Hour)
	check := func(state identity.CredentialState, as identity.SPIFFEID, now time.Time) error {
		return identity.CheckCredential(identity.RestoreCredential(recordIn(t, state)), as, now)
	}
	for _, state := range []identity.CredentialState{identity.CredentialPrepared, identity.CredentialCurrent} {
		must(t, check(state, caller, begin))
		must(t, check(state, caller, end.Add(-1)))
		wantFault(t, check(state, caller, begin.Add(-1)), fault.Unauthenticated, "credential_not_yet_valid")
		wantFault(t, check(state, caller, end), fault.Unauthenticated, "credential_expired")
	}
	wantFault(t, check(identity.CredentialRevoked, caller, begin), fault.Unauthenticated, "credential_revoked")
	wantFault(t, check(identity.CredentialSuperseded, caller, begin), fault.Unauthenticated, "credential_superseded")
	wantFault(t, check("", caller, begin), fault.Unauthenticated, "credential_unknown")
	wantFault(t, identity.CheckCredential(nil, caller, begin), fault.Unauthenticated, "credential_unknown")
	foreign, err := identity.RelayID("other.example", "eu", "n1")
	must(t, err)
	for _, other := range []identity.SPIFFEID{{}, relayID(t, "us", "n1"), relayID(t, "eu", "n2"), foreign} {
		wantFault(t, check(identity.CredentialCurrent, other, begin), fault.Forbidden, "credential_of_another_node")
	}
	torn := recordIn(t, identity.CredentialCurrent)
	torn.Node = "n2"
	wantFault(t, identity.CheckCredential(identity.RestoreCredential(torn), caller, begin), fault.Forbidden, "credential_of_another_node")
	empty := identity.RestoreCredential(identity.CredentialRecord{State: identity.CredentialCurrent})
	wantFault(t, identity.CheckCredential(empty, identity.SPIFFEID{}, begin), fault.Forbidden, "credential_of_another_node")
}

// A certificate without a beginning, an end, or an end after its beginning is not admitted: zero never means never.
func TestAdmitValidates(t *testing.T) {
	t.Parallel()
	now := start()
	for i, c := range []struct {
		kind   fault.Kind
		slug   string
		change func(*identity.Admission)
	}{
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.ExpiresAt = time.Time{} }},
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.IssuedAt = time.Time{} }},
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.ExpiresAt = a.IssuedAt }},
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.ExpiresAt = a.IssuedAt.Add(-time.Hour) }},
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.IssuedAt, a.ExpiresAt = now.Add(1e9), now.Add(1e9) }},
		{fault.Invalid, "validity_invalid", func(a *identity.Admission) { a.IssuedAt, a.ExpiresAt = now.Add(-time.Hour), now }},
		{fault.Invalid, "fingerprint_malformed", func(a *identity.Admission) { a.Fingerprint = "AB:CD" }},
		{fault.Invalid, "text_out_of_bounds", func(a *identity.Admission) { a.AdmittedBy = "" }},
		{fault.Forbidden, "credential_of_another_node", func(a *identity.Admission) { a.SPIFFEID = relayID(t, "eu", "n2") }},
		{fault.Forbidden, "credential_of_another_node", func(a *identity.Admission) { a.SPIFFEID = identity.SPIFFEID{} }},
	} {
		set := credentialsOf()
		a := admission(t, 1, now)
		c.change(&a)
		added, err := set.Admit(a, now)
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != c.kind || added != nil || len(set.Records()) != 0 {
			t.Errorf("case %d: %v, %v", i, added, err)
		}
	}
}

// Admitting the same certificate again changes nothing; the same fingerprint with other words is refused.
func TestAdmitIsIdempotent(t *testing.T) {
	t.Parallel()
	set := credentialsOf()
	admit(t, set, 1, start())
	use(t, set, 1, start())
	before := set.Records()
	added, err := set.Admit(admission(t, 1, start()), start().Add(time.Hour))
	if added != nil || err != nil || !slices.Equal(set.Records(), before) {
		t.Errorf("admitted twice: %v, %v, %+v", added, err, set.Records())
	}
	other := admission(t, 1, start())
	other.ExpiresAt = other.ExpiresAt.Add(time.Hour)
	wantFault(t, errOf(set.Admit(other, start())), fault.AlreadyExists, "credential_exists")
}

// Revocation is immediate and told once; an unknown certificate and an empty reason are refused.
func TestRevoke(t *testing.T) {
	t.Parallel()
	set := credentialsOf()
	admit(t, set, 1, start())
	use(t, set, 1, start())
	now := start().Add(time.Minute)
	wantFault(t, errOf(set.Revoke(fingerprint(1), now, "")), fault.Invalid, "text_out_of_bounds")
	wantFault(t, errOf(set.Revoke(fingerprint(2), now, "lost")), fault.NotFound, "credential_not_found")
	wantFault(t, errOf(set.Use(fingerprint(2), now)), fault.Unauthenticated, "credential_unknown")
	changed, err := set.Revoke(fingerprint(1), now, "lost")
	r := set.Records()[0]
	if len(changed) != 1 || changed[0].Record() != r || err != nil || !r.RevokedAt.Equal(now) || r.RevokedReason != "lost" || !r.UsedAt.Equal(start()) {
		t.Fatalf("revoked: %v, %v, %+v", changed, err, r)
	}
	changed, err = set.Revoke(fingerprint(1), now.Add(time.Hour), "again")
	if changed != nil || err != nil || set.Records()[0] != r {
		t.Errorf("revoking again changed %+v", set.Records()[0])
	}
	wantFault(t, errOf(set.Use(fingerprint(1), now)), fault.Unauthenticated, "credential_revoked")
	if set.Find(fingerprint(1)).InForce(now) || set.Find(fingerprint(3)) != nil {
		t.Error("a revoked or unknown certificate is in force")
	}
}

// What a caller does to what it was given does not reach the set; certificates of other nodes never enter it.
func TestCredentialsAreCopies(t *testing.T) {
	t.Parallel()
	foreign := recordIn(t, identity.CredentialCurrent)
	foreign.Node, foreign.Fingerprint = "n2", fingerprint(2)
	set := credentialsOf(recordIn(t, identity.CredentialCurrent), foreign)
	set.Records()[0].State = identity.CredentialRevoked
	must(t, errOf(set.Find(fingerprint(1)).Revoke(start(), "a copy")))
	if len(set.Records()) != 1 || stateOf(set, 1) != identity.CredentialCurrent || set.Find(fingerprint(2)) != nil {
		t.Errorf("the set holds %+v", set.Records())
	}
}

// The old certificate works until the new one is used, and not after (LESSONS 7).
func TestRotation(t *testing.T) {
	t.Parallel()
	set := credentialsOf()
	admit(t, set, 1, start())
	use(t, set, 1, start())
	admit(t, set, 2, start().Add(4*time.Hour)) // lost on the way
	admit(t, set, 3, start().Add(5*time.Hour))
	now := start().Add(5 * time.Hour)
	use(t, set, 1, now)
	if stateOf(set, 1) != identity.CredentialCurrent || stateOf(set, 3) != identity.CredentialPrepared {
		t.Fatal("a rotation that was not used yet ended the current certificate")
	}
	changed, err := set.Use(fingerprint(3), now)
	must(t, err)
	if len(changed) != 3 || changed[0].Fingerprint() != fingerprint(3) {
		t.Errorf("the first use changed three, the used one first: %+v", changed)
	}
	for n, want := range map[int]identity.CredentialState{
		1: identity.CredentialSuperseded, 2: identity.CredentialSuperseded, 3: identity.CredentialCurrent,
	} {
		if stateOf(set, n) != want {
			t.Errorf("credential %d is %s, want %s", n, stateOf(set, n), want)
		}
	}
	wantFault(t, errOf(set.Use(fingerprint(1), now)), fault.Unauthenticated, "credential_superseded")
	wantFault(t, errOf(set.Use(fingerprint(2), now)), fault.Unauthenticated, "credential_superseded")
	changed, err = set.Use(fingerprint(3), now.Add(time.Hour))
	if len(changed) != 0 || err != nil || !set.Find(fingerprint(3)).Record().UsedAt.Equal(now) {
		t.Errorf("the first use was told twice: %v, %v", changed, err)
	}
}

// Sixteen certificates may wait for their first use; the next is refused, and says what to do, until one of them is used,
// revoked or over. Admitting one of them again is no further one.
func TestAdmitBoundsWhatIsNeverUsed(t *testing.T) {
	t.Parallel()
	set := credentialsOf()
	for n := range identity.MaxPrepared {
		admit(t, set, n, start())
	}
	full := set.Records()
	next := func(set *identity.Credentials, now time.Time) error {
		return errOf(set.Admit(admission(t, 99, now), now))
	}
	err := next(set, start())
	wantFault(t, err, fault.Exhausted, "credentials_too_many")
	if f, _ := fault.As(err); f.Cure == "" {
		t.Error("the refusal does not say what to do")
	}
	must(t, errOf(set.Admit(admission(t, 3, start()), start())))
	for what, free := range map[string]func(*identity.Credentials) time.Time{
		"used": func(s *identity.Credentials) time.Time { use(t, s, 3, start()); return start() },
		"revoked": func(s *identity.Credentials) time.Time {
			must(t, errOf(s.Revoke(fingerprint(3), start(), "nobody has it")))
			return start()
		},
		"over": func(*identity.Credentials) time.Time { return start().Add(8 * time.Hour) },
	} {
		set := credentialsOf(full...)
		if err := next(set, free(set)); err != nil {
			t.Errorf("once one was %s: %v", what, err)
		}
	}
}

// Room is made by what has waited longest, only where all places are taken, and never by a certificate that is in use.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	set := credentialsOf()
	admit(t, set, 100, start().Add(-time.Hour))
	use(t, set, 100, start())
	for n := range identity.MaxPrepared {
		if out := set.MakeRoom(start()); out != nil {
			t.Fatalf("%d waited, and %+v made room", n, out.Record())
		}
		admit(t, set, n, start().Add(-time.Duration(n)*time.Second))
	}
	if out := set.MakeRoom(start()); out == nil || out.Fingerprint() != fingerprint(identity.MaxPrepared-1) || out.State() != identity.CredentialSuperseded {
		t.Fatalf("%+v made room", out)
	}
	admit(t, set, 99, start())
	if stateOf(set, 100) != identity.CredentialCurrent || stateOf(set, 0) != identity.CredentialPrepared || stateOf(set, 99) != identity.CredentialPrepared {
		t.Errorf("the certificates are %+v", set.Records())
	}
}

// rotations is a node that rotates over a lossy line, next to the set the control plane keeps.
type rotations struct {
	set     *identity.Credentials
	now     time.Time
	made    int
	held    int // the newest certificate that reached the node; 0 for none
	history []identity.CredentialRecord
}

func (r *rotations) admit(t *rapid.T) {
	waiting := 0
	for _, c := range r.set.Records() {
		if c.State == identity.CredentialPrepared && r.now.Before(c.ExpiresAt) {
			waiting++
		}
	}
	if waiting >= identity.MaxPrepared {
		wantFault(t, errOf(r.set.Admit(admission(t, r.made+1, r.now), r.now)), fault.Exhausted, "credentials_too_many")
		return
	}
	r.made++
	admit(t, r.set, r.made, r.now)
	if rapid.Bool().Draw(t, "arrives") {
		r.held = r.made
	}
}

func (r *rotations) pass(t *rapid.T) {
	r.now = r.now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "minutes")) * time.Minute)
}

// present is the node's next request: if what it holds is neither revoked nor expired, it is let in.
func (r *rotations) present(t *rapid.T) {
	if r.held == 0 {
		return
	}
	fp := fingerprint(r.held)
	held := r.set.Find(fp).Record()
	lawful := held.RevokedAt.IsZero() && r.now.Before(held.ExpiresAt)
	err := identity.CheckCredential(r.set.Find(fp), relayID(t, "eu", "n1"), r.now)
	if lawful != (err == nil) {
		t.Fatalf("the node's newest certificate is answered with %v: %+v", err, held)
	}
	if lawful {
		use(t, r.set, r.held, r.now)
	}
}

func (r *rotations) revoke(t *rapid.T) {
	n := rapid.IntRange(1, r.made+1).Draw(t, "revoked")
	_, err := r.set.Revoke(fingerprint(n), r.now, "reported stolen")
	if (err != nil) != (n > r.made) {
		t.Fatalf("revoke %d: %v", n, err)
	}
}

// check holds after every step: at most one current, nothing final ever changes, no first use is forgotten.
func (r *rotations) check(t *rapid.T) {
	current := 0
	records := r.set.Records()
	for i, now := range records {
		if now.State == identity.CredentialCurrent {
			current++
		}
		if i >= len(r.history) {
			continue
		}
		was := r.history[i]
		final := was.State == identity.CredentialRevoked || was.State == identity.CredentialSuperseded
		if final && was != now || !was.UsedAt.IsZero() && was.UsedAt != now.UsedAt {
			t.Fatalf("history was changed from %+v to %+v", was, now)
		}
	}
	if current > 1 {
		t.Fatalf("%d certificates are current", current)
	}
	r.history = records
}

// Through any history of rotations, lost answers and revocations there is at most one current certificate, what is
// revoked never comes back, and the newest that reached the node always works (I5, LESSONS 7).
func TestCredentialHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &rotations{set: credentialsOf(), now: start()}
		t.Repeat(map[string]func(*rapid.T){
			"admit": r.admit, "present": r.present, "present again": r.present, "revoke": r.revoke, "pass": r.pass,
			"restore": func(*rapid.T) { r.set = credentialsOf(r.set.Records()...) },
			"":        r.check,
		})
	})
}
