package relay_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/fault"
	porttokens "berth/ports/tokens"
)

// plainTokens reads "kid/tenant/principal", and holds to the windows of keys as the real verifier does.
type plainTokens struct{}

func (plainTokens) VerifyDeviceToken(token string, keys porttokens.KeySet, region string, now time.Time) (porttokens.DeviceToken, error) {
	part := strings.Split(token, "/")
	if len(part) != 3 {
		return porttokens.DeviceToken{}, fault.New(fault.Unauthenticated, "device_token_malformed", "it has no three parts")
	}
	key, ok := keys[part[0]]
	switch {
	case !ok:
		return porttokens.DeviceToken{}, fault.New(fault.Unauthenticated, "device_token_key_unknown", "no such key")
	case !now.Before(key.VerifyUntil):
		return porttokens.DeviceToken{}, fault.New(fault.Unauthenticated, "device_token_key_retired", "the key ended")
	}
	return porttokens.DeviceToken{KID: part[0], ID: token, Region: region, Tenant: part[1], Principal: part[2], ExpiresAt: now.Add(time.Minute)}, nil
}

// authenticated is the slug of why a token by the key is refused; empty where it is taken.
func (r *rig) authenticated(kid string) string {
	_, err := r.node.Authenticate(kid + "/t0/p")
	return slugOf(err)
}

func slugOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.SlugOf(err)
}

// Nothing is verified before the keys are known, nor once they are too old, counted from when they were asked for; with the
// control plane back it goes on by itself.
func TestKeysAreBelievedForSoLong(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		key := r.control.RotateKey()
		away := only("Keys", false)
		r.spoiled(away)
		r.up()
		if got := r.authenticated(key.KID); got != "keys_unknown" {
			t.Fatalf("before the keys are known: %s", got)
		}
		r.spoiled(nil)
		r.within(6*time.Second, "the keys are known", func() bool { return r.authenticated(key.KID) == "" })
		pass(20 * time.Second)
		r.spoiled(away)
		since := time.Now()
		for r.authenticated(key.KID) == "" {
			pass(10 * time.Millisecond)
		}
		if got, took := r.authenticated(key.KID), time.Since(since); got != "keys_stale" || took > 65*time.Second || took < 40*time.Second {
			t.Fatalf("cut off, it is %s after %v", got, took)
		}
		r.spoiled(nil)
		r.within(6*time.Second, "the keys are known again", func() bool { return r.authenticated(key.KID) == "" })
	})
}

// What an answer took on its way is part of its age (A6).
func TestKeysAgeFromTheQuestion(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		key := r.control.RotateKey()
		var asked atomic.Int64
		r.spoiled(func(method string, back bool) error {
			if method == "Keys" && !back {
				asked.Store(time.Now().UnixNano())
			}
			if method == "Keys" && back {
				pass(4 * time.Second)
			}
			return nil
		})
		r.up()
		r.within(10*time.Second, "the keys are known", func() bool { return r.authenticated(key.KID) == "" })
		last := time.Unix(0, asked.Load())
		r.cut()
		for r.authenticated(key.KID) == "" {
			pass(time.Millisecond)
		}
		if age := time.Since(last); age < 65*time.Second || age > 65*time.Second+2*time.Millisecond {
			t.Fatalf("the keys were believed for %v after they were asked for", age)
		}
	})
}

// A key that was compromised verifies nothing within 65 s, and one that replaces it is asked for as soon as a token by it comes.
func TestCompromisedKeyEnds(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first := r.control.RotateKey()
		r.up()
		pass(5 * time.Second)
		r.control.CompromiseKey(first.KID)
		second := r.control.RotateKey()
		if got := r.authenticated(second.KID); got != "" {
			t.Fatalf("the key that was just made: %s", got)
		}
		if got := r.authenticated(first.KID); got != "device_token_key_unknown" {
			t.Fatalf("the compromised key: %s", got)
		}
	})
	bubble(t, func(r *rig) { // nobody comes with a newer one
		first := r.control.RotateKey()
		r.up()
		pass(5 * time.Second)
		r.control.CompromiseKey(first.KID)
		r.within(20*time.Second, "the compromised key ends", func() bool { return r.authenticated(first.KID) != "" })
	})
}

// A key's window ends it, also in a set that is fresh (I6).
func TestKeyEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first := r.control.RotateKey()
		r.up()
		pass(time.Second)
		r.control.RotateKey()
		pass(r.control.Windows.VerifyAfter - 10*time.Second)
		r.within(5*time.Second, "it still verifies", func() bool { return r.authenticated(first.KID) == "" })
		pass(10 * time.Second)
		if got := r.authenticated(first.KID); got == "" {
			t.Fatal("the key outlived its window")
		}
	})
}

// Tokens by made-up keys have the keys asked for at most once a second.
func TestUnknownKeysAskRarely(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.RotateKey()
		r.up()
		pass(5 * time.Second)
		before := r.called("Keys")
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); pass(time.Millisecond) {
			if got := r.authenticated("made-up"); got != "device_token_key_unknown" {
				t.Fatalf("a made-up key: %q", got)
			}
		}
		if n := r.called("Keys") - before; n < 5 || n > 12 {
			t.Fatalf("the keys were asked for %d times in 10 s", n)
		}
	})
}
