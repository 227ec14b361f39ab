package identity_test

import (
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

// A key verifies from its not-before to its verify-until by the window alone, whatever an old copy says of its state
// (LESSONS 12); compromised and retired keys verify never.
func TestVerifiesByWindow(t *testing.T) {
	t.Parallel()
	for _, state := range keyStates() {
		record := keyIn(t, 1, state)
		ring := ringOf(record)
		inside := []time.Time{record.NotBefore, record.SignUntil, record.VerifyUntil.Add(-1)}
		switch state {
		case identity.KeyPending, identity.KeyActive, identity.KeyRetiring:
			for _, now := range inside {
				must(t, ring.Verifies(kid(1), now))
			}
			wantFault(t, ring.Verifies(kid(1), record.NotBefore.Add(-1)), fault.Unauthenticated, "key_not_yet_valid")
			wantFault(t, ring.Verifies(kid(1), record.VerifyUntil), fault.Unauthenticated, "key_retired")
		case identity.KeyRetired:
			wantFault(t, ring.Verifies(kid(1), record.NotBefore), fault.Unauthenticated, "key_retired")
		case identity.KeyCompromised:
			wantFault(t, ring.Verifies(kid(1), record.NotBefore), fault.Unauthenticated, "key_compromised")
		default:
			wantFault(t, ring.Verifies(kid(1), record.NotBefore), fault.Unauthenticated, "key_unknown")
		}
		wantFault(t, ring.Verifies(kid(2), record.NotBefore), fault.Unauthenticated, "key_unknown")
	}
}

// A key of another purpose verifies nothing here, whatever its state (I9).
func TestKeyOfAnotherPurpose(t *testing.T) {
	t.Parallel()
	for _, purpose := range identity.KeyPurposes() {
		record := keyIn(t, 1, identity.KeyActive)
		record.Purpose = purpose
		ring := ringOf(record)
		if own := purpose == identity.KeyForDeviceTokens; own != (ring.Verifies(kid(1), start()) == nil) {
			t.Errorf("a key for %s: %v", purpose, ring.Verifies(kid(1), start()))
		}
	}
}

// Only the active key signs, and only within its signing window.
func TestSigning(t *testing.T) {
	t.Parallel()
	for _, state := range keyStates() {
		record := keyIn(t, 1, state)
		ring := ringOf(record)
		for _, now := range []time.Time{record.NotBefore.Add(-1), record.NotBefore, record.SignUntil.Add(-1), record.SignUntil} {
			got, err := ring.Signing(now)
			within := !now.Before(record.NotBefore) && now.Before(record.SignUntil)
			if state == identity.KeyActive && within {
				must(t, err)
				if got.KID != kid(1) {
					t.Errorf("%s signs", got.KID)
				}
				continue
			}
			wantFault(t, err, fault.Unavailable, "signing_key_missing")
		}
	}
}

// The JWKS shows pending keys ahead of their time, active and retiring ones, and never one that is over (I6).
func TestPublished(t *testing.T) {
	t.Parallel()
	var all []identity.SigningKeyRecord
	for i, state := range keyStates() {
		r := keyIn(t, i+1, state)
		r.NotBefore = start().Add(time.Duration(i) * time.Second)
		all = append(all, r)
	}
	all[0].NotBefore = start().Add(time.Minute)
	ring := ringOf(all...)
	want := func(now time.Time, kids ...string) {
		t.Helper()
		got := ring.Published(now)
		if len(got) != len(kids) {
			t.Fatalf("published %d keys, want %v", len(got), kids)
		}
		for i, r := range got {
			if r.KID != kids[i] {
				t.Errorf("key %d is %s, want %s", i, r.KID, kids[i])
			}
		}
	}
	want(start(), kid(2), kid(3), kid(1))
	want(all[1].VerifyUntil)
}

// Activating a key retires the one before it in the same step; outside its window, or behind a later key, it is refused.
func TestActivate(t *testing.T) {
	t.Parallel()
	first, second := keyIn(t, 1, identity.KeyActive), keyIn(t, 2, identity.KeyPending)
	second.NotBefore = start().Add(time.Hour)
	ring := ringOf(second, first)
	wantFault(t, errOf(ring.Activate(kid(2), second.NotBefore.Add(-1))), fault.Conflict, "key_transition_refused")
	wantFault(t, errOf(ring.Activate(kid(2), second.SignUntil)), fault.Conflict, "key_transition_refused")
	changed, err := ring.Activate(kid(2), second.NotBefore)
	must(t, err)
	if len(changed) != 2 || changed[0].State() != identity.KeyActive || changed[1].State() != identity.KeyRetiring {
		t.Errorf("activating changed %+v", changed)
	}
	if got := ring.Records(); got[0].State != identity.KeyRetiring || got[1].State != identity.KeyActive {
		t.Errorf("after activating: %s and %s", got[0].State, got[1].State)
	}
	older := ringOf(keyIn(t, 2, identity.KeyActive), keyIn(t, 1, identity.KeyPending))
	wantFault(t, errOf(older.Activate(kid(1), start())), fault.Conflict, "key_transition_refused")
}

// A key is not retired for good while what it signed may still be alive, nor a pending one that has its turn to come.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	retiring := keyIn(t, 1, identity.KeyRetiring)
	ring := ringOf(retiring)
	wantFault(t, errOf(ring.End(kid(1), retiring.VerifyUntil.Add(-1))), fault.Conflict, "key_transition_refused")
	must(t, errOf(ring.End(kid(1), retiring.VerifyUntil)))
	pending := keyIn(t, 2, identity.KeyPending)
	ring = ringOf(pending)
	wantFault(t, errOf(ring.End(kid(2), pending.SignUntil.Add(-1))), fault.Conflict, "key_transition_refused")
	must(t, errOf(ring.End(kid(2), pending.SignUntil)))
	ring = ringOf(pending, keyIn(t, 3, identity.KeyActive))
	must(t, errOf(ring.End(kid(2), start())))
}

// When a key was found compromised after it retired, the time it ended stays; compromising again changes nothing.
func TestCompromiseIsFinal(t *testing.T) {
	t.Parallel()
	ring := ringOf(keyIn(t, 1, identity.KeyActive))
	must(t, errOf(ring.Compromise(kid(1), start())))
	must(t, errOf(ring.Compromise(kid(1), start().Add(time.Hour))))
	if r := ring.Records()[0]; !r.EndedAt.Equal(start()) || r.State != identity.KeyCompromised {
		t.Errorf("compromised twice: %+v", r)
	}
	retired := keyIn(t, 1, identity.KeyRetired)
	retired.EndedAt = start()
	late := ringOf(retired)
	must(t, errOf(late.Compromise(kid(1), start().Add(time.Hour))))
	if r := late.Records()[0]; !r.EndedAt.Equal(start()) || r.State != identity.KeyCompromised {
		t.Errorf("compromised after it retired: %+v", r)
	}
	wantFault(t, ring.Verifies(kid(1), start()), fault.Unauthenticated, "key_compromised")
	if len(ring.Published(start())) != 0 {
		t.Error("a compromised key is published")
	}
}
