package trust_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca/catest"
	"berth/ports/signer"
)

func (e *enrolment) roots() []identity.SigningKeyRecord {
	e.t.Helper()
	b, err := e.TrustBundle(e.ctx)
	e.must(err)
	return b.Roots
}

func (e *enrolment) rotateCA() identity.SigningKeyRecord {
	e.t.Helper()
	k, err := e.RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: identity.KeyForCA})
	e.must(err)
	return k
}

func states(roots []identity.SigningKeyRecord) (out []identity.KeyState) {
	for _, r := range roots {
		out = append(out, r.State)
	}
	return out
}

// At the very start one run makes the first root, active at once, beside the first key of device tokens; the JWKS has the
// one and the bundle the other (I9).
func TestFirstRoot(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	roots := e.roots()
	jwks, err := e.JWKS(e.ctx)
	e.must(err)
	nodes, err := e.NodeKeys(e.ctx)
	e.must(err)
	if !slices.Equal(states(roots), []identity.KeyState{identity.KeyActive}) || roots[0].Purpose != identity.KeyForCA ||
		len(jwks) != 1 || len(nodes) != 1 || jwks[0].Purpose != identity.KeyForDeviceTokens || nodes[0].KID != jwks[0].KID {
		t.Fatalf("the bundle is %+v, the key set %+v", roots, jwks)
	}
	before := e.dump()
	e.must(e.KeepKeys(e.ctx))
	e.untouched(before, "a run with nothing to do")
}

// Root A → B pending beside it → B signs, A retiring → A gone: at each step every certificate that has not ended
// verifies, those of A as long as they live.
func TestRootsOverlap(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	byA := e.enrolled("n1")
	b := e.rotateCA()
	if again := e.rotateCA(); again.KID != b.KID {
		t.Fatalf("asked again, another root is made: %s", again.KID)
	}
	if got := states(e.roots()); !slices.Equal(got, []identity.KeyState{identity.KeyActive, identity.KeyPending}) {
		t.Fatalf("the roots are %v", got)
	}
	stillByA := e.enrolled("n2")
	e.clock.Advance(e.Settings.CAPublishAhead)
	e.must(e.KeepKeys(e.ctx))
	if got := states(e.roots()); !slices.Equal(got, []identity.KeyState{identity.KeyRetiring, identity.KeyActive}) {
		t.Fatalf("the roots are %v", got)
	}
	e.chains(byA)
	e.chains(stillByA)
	e.node("n3")
	byB := e.enrolled("n3")
	e.chains(byB)
	if len(byB.Bundle.Roots) != 2 {
		t.Errorf("with the certificate came %d roots", len(byB.Bundle.Roots))
	}
	e.clock.Advance(e.Settings.CASignFor)
	e.must(e.KeepKeys(e.ctx))
	for _, r := range e.roots() {
		if r.KID == b.KID {
			return
		}
	}
	t.Errorf("the second root left the bundle before its time: %v", states(e.roots()))
}

// Through any history, at every instant every certificate that the authority signed and that has not ended verifies
// against the bundle, unless its root was found compromised.
func TestEveryCertificateChains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := newEnrolment(t)
		e.Settings.CASignFor = 5 * day
		e.node("n3")
		type kept struct {
			trust.Enrolled
			issuer string
		}
		var alive []kept
		compromised := map[string]bool{}
		active := func() string {
			for _, r := range e.roots() {
				if r.State == identity.KeyActive {
					return r.KID
				}
			}
			return ""
		}
		for range 12 {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				e.rotateCA()
			case 1:
				kid := active()
				compromised[kid] = true
				_, err := e.CompromiseSigningKey(e.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: kid})
				e.must(err)
			case 2, 3, 4:
				if kid := active(); kid != "" {
					out, err := e.enroll(e.joinToken("n3").Clear, "n3")
					if fault.SlugOf(err) == "ca_unavailable" {
						break
					}
					e.must(err)
					alive = append(alive, kept{out, kid})
				}
			case 5, 6:
				e.must(e.KeepKeys(e.ctx))
			default:
				e.clock.Jump(time.Duration(rapid.Int64Range(1, int64(2*day)).Draw(t, "by")))
			}
			alive = slices.DeleteFunc(alive, func(k kept) bool { return compromised[k.issuer] || !e.clock.Now().Before(k.ExpiresAt) })
			for _, k := range alive {
				e.chains(k.Enrolled)
			}
		}
	})
}

// A compromised root leaves the bundle at once and another signs; what it signed verifies no more.
func TestCompromisedRoot(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	e.enrolled("n1")
	bad := e.roots()[0]
	since := e.dump().Audit.Sequence
	out, err := e.CompromiseSigningKey(e.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: bad.KID, Reason: "leaked"})
	e.must(err)
	roots := e.roots()
	if len(roots) != 1 || roots[0].KID == bad.KID || out.Active == nil || out.Active.KID != roots[0].KID {
		t.Fatalf("the bundle is %+v, answered %+v", roots, out)
	}
	e.wantActions(since, "signing_key.compromised", "signing_key.created", "signing_key.activated")
	e.chains(e.enrolled("n2"))
}

// Only keys that are kept here are rotated.
func TestRotateSigningKeyOfWhichPurpose(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	for _, purpose := range []identity.KeyPurpose{identity.KeyForPackages, "ca "} {
		_, err := e.RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: purpose})
		e.refused(err, fault.Invalid, "key_purpose_unknown")
	}
	if next, err := e.RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice}); err != nil || next.Purpose != identity.KeyForDeviceTokens {
		t.Errorf("by default %+v, %v", next, err)
	}
	_, err := newWorld(t).RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: identity.KeyForCA})
	e.refused(err, fault.Invalid, "key_purpose_unknown")
}

// A key whose root can not be signed is destroyed, the keys of other purposes are kept all the same, and a later run
// makes the root.
func TestRootThatIsNotSigned(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	kms := &made{Memory: e.kms}
	e.Signer = kms
	e.ca.Break(errors.New("gone"))
	before := len(e.roots())
	e.clock.Advance(e.Settings.CASignFor)
	e.refused(e.KeepKeys(e.ctx), fault.Unavailable, "ca_unavailable")
	jwks, err := e.JWKS(e.ctx)
	e.must(err)
	if len(jwks) != 1 || kms.alive(e.world) != 1 || len(e.roots()) != before {
		t.Fatalf("%d keys are published, %d alive, %d roots", len(jwks), kms.alive(e.world), len(e.roots()))
	}
	_, err = e.RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: identity.KeyForCA})
	e.refused(err, fault.Unavailable, "ca_unavailable")
	e.ca.Break(nil)
	e.must(e.KeepKeys(e.ctx))
	e.chains(e.enrolled("n1"))
	for _, r := range e.roots() {
		_, err := e.kms.Public(e.ctx, signer.KeyRef(r.Ref))
		e.must(err)
	}
}

// picky is a signing service that makes no keys for device tokens.
type picky struct{ signer.Keys }

func (p picky) Create(ctx context.Context, purpose signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	if purpose == signer.DeviceToken {
		return "", nil, signer.Unreachable(errors.New("no such slot"))
	}
	return p.Keys.Create(ctx, purpose)
}

// A purpose whose keys can not be made holds up no other, and the failure is told.
func TestOnePurposeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.CA = catest.NewMemory(w.kms)
	w.Signer = picky{w.kms}
	w.refused(w.KeepKeys(w.ctx), fault.Unavailable, "signer_unavailable")
	if b, err := w.TrustBundle(w.ctx); err != nil || len(b.Roots) != 1 {
		t.Fatalf("the bundle is %+v, %v", b, err)
	}
}

// Whatever settings pass their check give windows that fit one another, so that no run ever fails on them.
func TestSettingsGiveSoundWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := trust.DefaultSettings(domain)
		draw := func(label string, least, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, label))
		}
		s.NodeLife = draw("life", 5*time.Minute, 7*day)
		s.CAPublishAhead = draw("ahead", s.NodeLife, 90*day)
		s.CASignFor = draw("sign", 2*s.CAPublishAhead+time.Second, 10*365*day)
		if err := s.Check(); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if err := s.WindowsOf(identity.KeyForCA).Check(s.NodeLife); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
	})
	for what, change := range map[string]func(*trust.Settings){
		"no life":                      func(s *trust.Settings) { s.NodeLife = 0 },
		"years of life":                func(s *trust.Settings) { s.NodeLife = 365 * day },
		"a root that is seen too late": func(s *trust.Settings) { s.CAPublishAhead = s.NodeLife - 1 },
		"a root that signs too short":  func(s *trust.Settings) { s.CASignFor = 2 * s.CAPublishAhead },
		"tokens without end":           func(s *trust.Settings) { s.JoinTokenLife = 0 },
		"tokens of days":               func(s *trust.Settings) { s.MaxJoinTokenLife = 2 * day },
	} {
		s := trust.DefaultSettings(domain)
		change(&s)
		if fault.SlugOf(s.Check()) != "invalid_setting" {
			t.Errorf("%s: %v", what, s.Check())
		}
	}
}
