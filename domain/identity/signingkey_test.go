package identity_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

func windows() identity.Windows {
	return identity.Windows{
		PublishAhead: 5 * time.Minute, SignFor: 24 * time.Hour, VerifyAfter: 15 * time.Minute, Skew: 30 * time.Second,
	}
}

func kid(n int) string { return fmt.Sprintf("key_%03d", n) }

func newKey(n int, notBefore time.Time) identity.NewKey {
	public := sha256.Sum256([]byte(kid(n)))
	return identity.NewKey{
		KID: kid(n), Purpose: identity.KeyForDeviceTokens, PublicKey: public[:], Ref: "file:" + kid(n), NotBefore: notBefore,
	}
}

func pendingKey(t tester, n int, notBefore, now time.Time) *identity.SigningKey {
	t.Helper()
	k, err := identity.NewSigningKey(newKey(n, notBefore), windows(), now)
	must(t, err)
	return k
}

func ringOf(records ...identity.SigningKeyRecord) *identity.KeyRing {
	return identity.RestoreKeyRing(identity.KeyForDeviceTokens, records)
}

func keyIn(t tester, n int, state identity.KeyState) identity.SigningKeyRecord {
	t.Helper()
	r := pendingKey(t, n, start(), start()).Record()
	r.State = state
	return r
}

func keyStates() []identity.KeyState {
	return []identity.KeyState{
		identity.KeyPending, identity.KeyActive, identity.KeyRetiring, identity.KeyRetired, identity.KeyCompromised, "other",
	}
}

// The diagram of I6.
func TestSigningKeyDiagram(t *testing.T) {
	t.Parallel()
	wantDiagram(t, identity.SigningKeyDiagram(),
		"pending activate active",
		"active retire retiring",
		"retiring end retired",
		"pending end retired",
		"pending compromise compromised",
		"active compromise compromised",
		"retiring compromise compromised",
		"retired compromise compromised",
	)
}

// Every state meets every event, at a time when its guard allows it: what the diagram does not draw is refused and
// changes nothing.
func TestSigningKeyEveryStateAndEvent(t *testing.T) {
	t.Parallel()
	early, late := start().Add(time.Hour), start().Add(48*time.Hour)
	events := map[string]func(*identity.KeyRing) ([]*identity.SigningKey, error){
		"activate":   func(r *identity.KeyRing) ([]*identity.SigningKey, error) { return r.Activate(kid(1), early) },
		"retire":     func(r *identity.KeyRing) ([]*identity.SigningKey, error) { return r.Retire(kid(1), early) },
		"end":        func(r *identity.KeyRing) ([]*identity.SigningKey, error) { return r.End(kid(1), late) },
		"compromise": func(r *identity.KeyRing) ([]*identity.SigningKey, error) { return r.Compromise(kid(1), early) },
	}
	want := map[string]identity.KeyState{}
	for _, e := range identity.SigningKeyDiagram() {
		want[e.From+" "+e.Event] = identity.KeyState(e.To)
	}
	for _, state := range keyStates() {
		for name, event := range events {
			before := keyIn(t, 1, state)
			ring := ringOf(before)
			changed, err := event(ring)
			after := ring.Records()[0]
			if to, allowed := want[string(state)+" "+name]; allowed {
				must(t, err)
				checkStep(t, string(state)+" "+name, to, after, changed)
				continue
			}
			again := state == identity.KeyCompromised && name == "compromise" && err == nil
			if len(changed) != 0 || !sameKey(before, after) || !again && fault.SlugOf(err) != "key_transition_refused" {
				t.Errorf("%s %s: changed to %+v, %v", state, name, after, err)
			}
		}
	}
}

func checkStep(
	t *testing.T, name string, to identity.KeyState, after identity.SigningKeyRecord, changed []*identity.SigningKey,
) {
	t.Helper()
	ends := to == identity.KeyRetired || to == identity.KeyCompromised
	if after.State != to || ends == after.EndedAt.IsZero() {
		t.Errorf("%s: %s, ended at %v", name, after.State, after.EndedAt)
	}
	if len(changed) != 1 || !sameKey(changed[0].Record(), after) {
		t.Errorf("%s: what changed was not returned: %+v", name, changed)
	}
}

func sameKey(a, b identity.SigningKeyRecord) bool {
	same := bytes.Equal(a.PublicKey, b.PublicKey)
	a.PublicKey, b.PublicKey = nil, nil
	return same && fmt.Sprint(a) == fmt.Sprint(b)
}

// Every key event on a key that is not in the ring is NotFound.
func TestUnknownKey(t *testing.T) {
	t.Parallel()
	ring := ringOf()
	for _, err := range []error{
		errOf(ring.Activate("k", start())), errOf(ring.Retire("k", start())), errOf(ring.End("k", start())),
		errOf(ring.Compromise("k", start())),
	} {
		wantFault(t, err, fault.NotFound, "key_not_found")
	}
}

// A key that is retired before its time ends as long after as it would have after its sign-until, and not later: what it
// signed last has ended by then. One that is retired late ends when it was to.
func TestARetiredKeyEndsWithWhatItSigned(t *testing.T) {
	t.Parallel()
	w := windows()
	for name, after := range map[string]time.Duration{"early": w.PublishAhead + time.Hour, "late": w.PublishAhead + w.SignFor + time.Hour} {
		k := pendingKey(t, 1, w.NotBefore(start()), start())
		until := k.Record().SignUntil
		ring := ringOf(k.Record())
		_, err := ring.Activate(k.KID(), start().Add(w.PublishAhead))
		must(t, err)
		now := start().Add(after)
		_, err = ring.Retire(k.KID(), now)
		must(t, err)
		if now.Before(until) {
			until = now
		}
		if got := ring.Records()[0]; !got.SignUntil.Equal(until) || !got.VerifyUntil.Equal(until.Add(w.VerifyAfter)) {
			t.Errorf("%s: signs until %v, verifies until %v", name, got.SignUntil, got.VerifyUntil)
		}
	}
}

// A key's three times follow from its not-before and the windows.
func TestKeyTimes(t *testing.T) {
	t.Parallel()
	w := windows()
	k := pendingKey(t, 1, w.NotBefore(start()), start()).Record()
	signs := start().Add(w.PublishAhead)
	for name, c := range map[string]struct{ got, want time.Time }{
		"created": {k.CreatedAt, start()}, "not before": {k.NotBefore, signs.Add(-w.Skew)},
		"sign until": {k.SignUntil, signs.Add(w.SignFor)}, "verify until": {k.VerifyUntil, signs.Add(w.SignFor + w.VerifyAfter)},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if k.State != identity.KeyPending || !k.EndedAt.IsZero() {
		t.Errorf("a new key is %s, ended %v", k.State, k.EndedAt)
	}
}

// A key that lacks anything is refused.
func TestNewSigningKeyValidates(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		slug   string
		change func(*identity.NewKey, *identity.Windows)
	}{
		{"kid_malformed", func(k *identity.NewKey, _ *identity.Windows) { k.KID = "" }},
		{"kid_malformed", func(k *identity.NewKey, _ *identity.Windows) { k.KID = "a/b" }},
		{"kid_malformed", func(k *identity.NewKey, _ *identity.Windows) { k.KID = strings.Repeat("a", 129) }},
		{"key_purpose_unknown", func(k *identity.NewKey, _ *identity.Windows) { k.Purpose = "tls" }},
		{"public_key_malformed", func(k *identity.NewKey, _ *identity.Windows) { k.PublicKey = k.PublicKey[1:] }},
		{"text_out_of_bounds", func(k *identity.NewKey, _ *identity.Windows) { k.Ref = "" }},
		{"validity_invalid", func(k *identity.NewKey, _ *identity.Windows) { k.NotBefore = time.Time{} }},
		{"validity_invalid", func(k *identity.NewKey, w *identity.Windows) { k.NotBefore = start().Add(-w.SignFor - w.Skew) }},
		{"key_windows_invalid", func(_ *identity.NewKey, w *identity.Windows) { w.SignFor = 0 }},
	} {
		k, w := newKey(1, start()), windows()
		c.change(&k, &w)
		if _, err := identity.NewSigningKey(k, w, start()); fault.SlugOf(err) != c.slug {
			t.Errorf("case %d: %v, want %s", i, err, c.slug)
		}
	}
}

// Windows of zero, or that leave a gap between them, are invalid: zero never means for ever (LESSONS 24).
func TestWindowsAreChecked(t *testing.T) {
	t.Parallel()
	must(t, windows().Check(10*time.Minute))
	none := windows()
	none.Skew = 0
	must(t, none.Check(15*time.Minute))
	for i, c := range []struct {
		field  string
		change func(*identity.Windows)
	}{
		{"publish_ahead", func(w *identity.Windows) { w.PublishAhead = 0 }},
		{"publish_ahead", func(w *identity.Windows) { w.PublishAhead = w.Skew }},
		{"sign_for", func(w *identity.Windows) { w.SignFor = 0 }},
		{"sign_for", func(w *identity.Windows) { w.SignFor = 2 * w.PublishAhead }},
		{"verify_after", func(w *identity.Windows) { w.VerifyAfter = 0 }},
		{"verify_after", func(w *identity.Windows) { w.VerifyAfter = 10*time.Minute + w.Skew - 1 }},
		{"skew", func(w *identity.Windows) { w.Skew = -1 }},
	} {
		w := windows()
		c.change(&w)
		f, ok := fault.As(w.Check(10 * time.Minute))
		if !ok || f.Slug != "key_windows_invalid" {
			t.Errorf("case %d: %v", i, f)
			continue
		}
		if named := append(f.Errors, f); !slices.ContainsFunc(named, func(e *fault.Error) bool { return e.Field == c.field }) {
			t.Errorf("case %d: %v names not %s", i, f, c.field)
		}
	}
	wantFault(t, windows().Check(0), fault.Invalid, "key_windows_invalid")
}

// Adding takes pending keys of the ring's purpose once, under one kid and with one public key.
func TestAddKey(t *testing.T) {
	t.Parallel()
	ring := ringOf()
	must(t, ring.Add(pendingKey(t, 1, start(), start())))
	wantFault(t, ring.Add(pendingKey(t, 1, start(), start())), fault.AlreadyExists, "key_exists")
	twin := keyIn(t, 1, identity.KeyPending)
	twin.KID = "twin"
	wantFault(t, ring.Add(identity.RestoreSigningKey(twin)), fault.AlreadyExists, "key_exists")
	namesake := keyIn(t, 4, identity.KeyPending)
	namesake.KID = kid(1)
	wantFault(t, ring.Add(identity.RestoreSigningKey(namesake)), fault.AlreadyExists, "key_exists")
	active := identity.RestoreSigningKey(keyIn(t, 2, identity.KeyActive))
	wantFault(t, ring.Add(active), fault.Conflict, "key_transition_refused")
	foreign := keyIn(t, 3, identity.KeyPending)
	foreign.Purpose = identity.KeyForCA
	wantFault(t, ring.Add(identity.RestoreSigningKey(foreign)), fault.Conflict, "key_purpose_mismatch")
	if len(ring.Records()) != 1 {
		t.Errorf("the ring holds %d keys", len(ring.Records()))
	}
}

// What a caller does to a key it was given does not reach the ring.
func TestKeysAreCopies(t *testing.T) {
	t.Parallel()
	record := keyIn(t, 1, identity.KeyActive)
	ring := ringOf(record)
	want := record.PublicKey[0]
	record.PublicKey[0]++
	ring.Records()[0].PublicKey[0]++
	signing, err := ring.Signing(start())
	must(t, err)
	signing.PublicKey[0]++
	must(t, ring.Add(pendingKey(t, 2, start(), start())))
	changed, err := ring.Retire(kid(1), start())
	must(t, err)
	changed[0].Record().PublicKey[0]++
	if got := ring.Records(); got[0].PublicKey[0] != want || got[1].State != identity.KeyPending {
		t.Errorf("the ring's keys were changed from outside: %+v", got)
	}
}
