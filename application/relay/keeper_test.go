package relay_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

func certificateOf(tb testing.TB, chain [][]byte) *x509.Certificate {
	tb.Helper()
	c, err := x509.ParseCertificate(chain[0])
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// A lost answer to enrolling is asked for again with the same key, also by another process; the token is spent once and
// remembered (I5).
func TestLostEnrolment(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.spoiled(only("Enroll", true))
		r.start()
		pass(3 * time.Second)
		tries := r.called("Enroll")
		r.end()
		r.spoiled(nil)
		r.up()
		keys := map[string]bool{}
		for _, c := range r.control.Credentials("n0") {
			keys[c.Fingerprint] = true
		}
		spent, err := r.disk.Spent(t.Context(), identity.HashSecret(identity.JoinToken, r.token))
		if tries < 2 || len(keys) != tries+1 || err != nil || !spent {
			t.Fatalf("after %d tries there are %d certificates; spent: %v %v", tries, len(keys), spent, err)
		}
	})
}

// The certificate is renewed by half of its life, over and over; the node writes all the while. Each has a key of its own.
func TestRenews(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		keys := [][]byte{}
		for range 5 {
			chain, key, _ := r.node.Certificate()
			c := certificateOf(t, chain)
			if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
				t.Fatal("a key came back")
			}
			keys = append(keys, key)
			life := c.NotAfter.Sub(c.NotBefore)
			pass(time.Until(c.NotBefore.Add(life*4/10)) - time.Second)
			if again, _, _ := r.node.Certificate(); !bytes.Equal(again[0], chain[0]) {
				t.Fatal("renewed too early")
			}
			r.within(life/10+2*time.Second, "it is renewed", func() bool { again, _, _ := r.node.Certificate(); return !bytes.Equal(again[0], chain[0]) })
			if slug := r.write(); slug != "" {
				t.Fatalf("denied: %s", slug)
			}
		}
	})
}

// While answers to the renewal are lost the current certificate stays in use, and the prepared key is asked for again, by
// another process too (I5, LESSON 7).
func TestLostRenewals(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		chain, _, _ := r.node.Certificate()
		r.spoiled(only("Rotate", true))
		r.within(40*time.Minute, "a renewal was tried", func() bool { return r.called("Rotate") > 2 })
		next, found, err := r.disk.Prepared(t.Context())
		if again, _, _ := r.node.Certificate(); !bytes.Equal(again[0], chain[0]) || r.write() != "" || !found || err != nil {
			t.Fatalf("the current one is not in use: %q, prepared: %v %v", r.write(), found, err)
		}
		r.end()
		r.spoiled(nil)
		r.up()
		r.within(8*time.Minute, "it is renewed", func() bool { return r.node.Counts().Rotations == 1 })
		if _, key, _ := r.node.Certificate(); !key.Equal(next.Key) {
			t.Fatal("another key than the prepared one is in use")
		}
	})
}

// Whose certificate was revoked serves nothing from the next request on, says what to do, tries no spent token again, and
// goes on with another one by itself; then with a new key.
func TestRevoked(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		_, before, _ := r.node.Certificate()
		tries := r.called("Enroll")
		r.control.Revoke("n0")
		r.within(6*time.Second, "it finds out", func() bool { return r.write() == "credential_revoked" })
		pass(time.Minute)
		if f, ok := fault.As(r.node.Status().Identity.Lost); !ok || f.Cure == "" || r.called("Enroll") != tries || r.node.Status().Ready() {
			t.Fatalf("lost by %v, after %d tries", r.node.Status().Identity.Lost, r.called("Enroll")-tries)
		}
		r.give("bj_unknown")
		pass(time.Minute)
		if r.called("Enroll") != tries+1 {
			t.Fatalf("an unknown token was tried %d times", r.called("Enroll")-tries)
		}
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(20*time.Second, "it goes on", func() bool { return r.write() == "" })
		if _, after, _ := r.node.Certificate(); after.Equal(before) {
			t.Fatal("with the revoked key")
		}
	})
}

// A certificate whose root is believed no more is refused before anybody says why. The node goes on trying, and enrols anew
// once there is a token that was not spent.
func TestCertificateThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		old, _, _ := r.node.Certificate()
		r.spoiled(func(method string, _ bool) error {
			if now, _, _ := r.node.Certificate(); method != "Enroll" && bytes.Equal(now[0], old[0]) {
				return authoritytest.Lost()
			}
			return nil
		})
		tries := r.called("Enroll")
		pass(5 * time.Minute)
		if r.called("Enroll") != tries || r.write() != "lease_run_out" {
			t.Fatalf("without another token: %d tries, %q", r.called("Enroll")-tries, r.write())
		}
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(20*time.Second, "it goes on", func() bool { return r.write() == "" })
	})
}

// A node that slept past its certificate serves nothing, and needs another token.
func TestSleptPastItsCertificate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		r.end()
		pass(2 * time.Hour)
		r.start()
		r.within(time.Second, "it says so", func() bool { return r.lost() == "credential_expired" })
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(time.Minute, "it goes on", func() bool { return r.write() == "" })
	})
}

// A machine whose wall clock is wrong learns the control plane's time, judges its certificate by it, and says so.
func TestWrongWallClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		bubble(t, func(r *rig) {
			r.control.Life = time.Hour
			r.clock.jump(wrong)
			r.up()
			if skew := r.node.Status().Skew; (skew + wrong).Abs() > time.Second {
				t.Fatalf("the skew is %v, the clock wrong by %v", skew, wrong)
			}
			pass(2 * time.Hour)
			if slug := r.write(); slug != "" || r.node.Counts().Rotations < 3 {
				t.Fatalf("after two hours: %q, %d renewals", slug, r.node.Counts().Rotations)
			}
		})
	}
}

// A machine that starts with its clock far ahead takes its certificate for one that ended, and asks nobody. It goes on with it
// once the clock is set right.
func TestClockIsSetRightAfterTheStart(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		r.end()
		r.clock.jump(48 * time.Hour)
		r.start()
		r.within(5*time.Second, "the certificate is taken for one that ended", func() bool { return r.lost() == "credential_expired" })
		r.clock.jump(-48 * time.Hour)
		r.within(30*time.Second, "it writes again", func() bool { return r.write() == "" })
	})
}

// A certificate that is not of the node's own key and name is not taken, whoever gave it.
func TestStrangeCertificates(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		other := ed25519.NewKeyFromSeed(make([]byte, 32))
		csr, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, other)
		if err != nil {
			t.Fatal(err)
		}
		ofOther, err := (&authoritytest.Client{Control: r.control, Node: "n0"}).Enroll(t.Context(), r.control.JoinToken("n0", time.Hour), csr)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]engine.Credential{
			"another key": {Chain: ofOther.Chain, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))}, "none": {Key: other},
			"garbage": {Chain: [][]byte{{1, 2, 3}}, Key: other},
		} {
			if err := r.disk.Install(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r.give("")
			r.start()
			r.within(time.Second, name, func() bool { return r.lost() == "certificate_unusable" })
			if _, _, shown := r.node.Certificate(); shown {
				t.Errorf("%s: it is shown", name)
			}
			r.end()
		}
		r.give(r.control.JoinToken("n1", time.Hour)) // another node's
		r.start()
		before := r.called("Enroll")
		pass(20 * time.Second)
		if _, _, shown := r.node.Certificate(); shown || r.node.Status().Ready() {
			t.Error("another node's certificate is taken")
		}
		if tries := r.called("Enroll") - before; tries != 1 {
			t.Errorf("%d certificates of another node were asked for", tries)
		}
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(10*time.Second, "its own token is spent", func() bool { return r.node.Status().Ready() })
	})
}

// A prepared key that can not be read, or that others may have read, is worth nothing, and another takes its place: it
// keeps the node neither from enrolling nor from the next certificate.
func TestDamagedPreparedKey(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]error{
		"damaged": engine.Damaged("it", nil), "open to others": fault.New(fault.Invalid, "file_unsafe", "it is open to others"),
	} {
		bubble(t, func(r *rig) {
			r.control.Life = time.Hour
			r.damage.Store(&damage)
			r.up()
			if r.damage.Load() != nil {
				t.Errorf("%s: no other key was prepared to enrol", name)
			}
			r.damage.Store(&damage)
			r.within(40*time.Minute, name+": it is renewed", func() bool { return r.node.Counts().Rotations == 1 })
		})
	}
}

// A disk that takes no certificate costs one, at enrolment and at a renewal, however long it lasts.
func TestDiskTakesNoCertificate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.full.Store(true)
		r.start()
		pass(2 * time.Minute)
		if r.called("Enroll") != 1 {
			t.Errorf("%d certificates to enrol", r.called("Enroll"))
		}
		r.full.Store(false)
		r.within(20*time.Second, "it is enrolled", func() bool { return r.write() == "" })
		r.full.Store(true)
		r.within(40*time.Minute, "a renewal is tried", func() bool { return r.called("Rotate") > 0 })
		pass(2 * time.Minute)
		if r.called("Rotate") != 1 || r.write() != "" {
			t.Errorf("%d certificates to renew, and the tenant may be written: %q", r.called("Rotate"), r.write())
		}
		r.full.Store(false)
		r.within(20*time.Second, "it is renewed", func() bool { return r.node.Counts().Rotations == 1 })
	})
}
