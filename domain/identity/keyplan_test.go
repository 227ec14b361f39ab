package identity_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

// keeper is a control plane that keeps one ring: it plans, does what is planned, and hands out tokens.
type keeper struct {
	ring    *identity.KeyRing
	windows identity.Windows
	now     time.Time
	made    int
	tokens  []signed
	history map[string]int // how far each key ever got
}

type signed struct {
	kid   string
	until time.Time
}

const tokenLife = 10 * time.Minute

func newKeeper() *keeper {
	return &keeper{ring: ringOf(), windows: windows(), now: start(), history: map[string]int{}}
}

// settle carries out plans until nothing is due, and fails if that never ends.
func (k *keeper) settle(t tester) {
	t.Helper()
	for range 6 {
		plan := k.ring.Plan(k.now, k.windows)
		if len(plan) == 0 {
			return
		}
		for _, a := range plan {
			k.do(t, a)
		}
		k.ring = ringOf(k.ring.Records()...)
	}
	t.Fatalf("the plan never ends: %+v", k.ring.Plan(k.now, k.windows))
}

func (k *keeper) do(t tester, a identity.Action) {
	t.Helper()
	if a.Kind != identity.ActionNewKey {
		must(t, errOf(k.ring.Do(a, k.now)))
		return
	}
	k.add(t, a.NotBefore)
}

func (k *keeper) add(t tester, notBefore time.Time) {
	t.Helper()
	k.made++
	key, err := identity.NewSigningKey(newKey(k.made, notBefore), k.windows, k.now)
	must(t, err)
	must(t, k.ring.Add(key))
}

func (k *keeper) sign(t tester) {
	t.Helper()
	key, err := k.ring.Signing(k.now)
	must(t, err)
	k.tokens = append(k.tokens, signed{kid: key.KID, until: k.now.Add(tokenLife)})
}

func (k *keeper) stateOf(kid string) identity.KeyState {
	for _, r := range k.ring.Records() {
		if r.KID == kid {
			return r.State
		}
	}
	return ""
}

// check holds after every step: at most one active key, no key goes back, and every living token of a key that is not
// compromised verifies, now and by clocks that differ by the skew.
func (k *keeper) check(t tester) {
	t.Helper()
	ranks := map[identity.KeyState]int{
		identity.KeyPending: 1, identity.KeyActive: 2, identity.KeyRetiring: 3, identity.KeyRetired: 4, identity.KeyCompromised: 5,
	}
	active := 0
	for _, r := range k.ring.Records() {
		if r.State == identity.KeyActive {
			active++
		}
		if ranks[r.State] < k.history[r.KID] || (r.State == identity.KeyRetired || r.State == identity.KeyCompromised) == r.EndedAt.IsZero() {
			t.Fatalf("key %s went back to %s, ended %v", r.KID, r.State, r.EndedAt)
		}
		k.history[r.KID] = ranks[r.State]
	}
	if active > 1 {
		t.Fatalf("%d keys are active", active)
	}
	for _, token := range k.tokens {
		k.checkToken(t, token)
	}
}

func (k *keeper) checkToken(t tester, token signed) {
	t.Helper()
	if k.stateOf(token.kid) == identity.KeyCompromised {
		wantFault(t, k.ring.Verifies(token.kid, k.now), fault.Unauthenticated, "key_compromised")
		return
	}
	if !k.now.Before(token.until) {
		return
	}
	for _, clock := range []time.Time{k.now, k.now.Add(k.windows.Skew), k.now.Add(-k.windows.Skew)} {
		if err := k.ring.Verifies(token.kid, clock); err != nil {
			t.Fatalf("a token alive until %v is refused at %v: %v", token.until, clock, err)
		}
	}
}

// Through any history of rotations, compromises and pauses: at most one key is active, history only moves forward, and
// a token lives out its life unless its key was compromised (I6, A7).
func TestKeyRingHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper()
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				k.now = k.now.Add(time.Duration(rapid.SampledFrom([]int64{1, 60, 299, 600, 3600, 43200, 86400, 900000}).Draw(t, "s")) * time.Second)
			},
			"settle and sign": func(t *rapid.T) { k.settle(t); k.sign(t) },
			"sign as it is": func(t *rapid.T) {
				if _, err := k.ring.Signing(k.now); err == nil {
					k.sign(t)
				}
			},
			"rotate": func(t *rapid.T) { k.add(t, k.windows.NotBefore(k.now)) },
			"compromise": func(t *rapid.T) {
				if k.made > 0 {
					must(t, errOf(k.ring.Compromise(kid(rapid.IntRange(1, k.made).Draw(t, "key")), k.now)))
				}
			},
			"": func(t *rapid.T) { k.check(t) },
		})
	})
}

// A planner that runs at least twice in PublishAhead never leaves a time without a signer, every key but the first is
// known to all before it signs, and keys follow one another without end.
func TestRotationLeavesNoGap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper()
		k.windows.SignFor = time.Hour
		seed := rapid.Uint64().Draw(t, "seed")
		steps := rand.New(rand.NewPCG(seed, seed))
		k.settle(t)
		for range 800 {
			k.sign(t)
			key, err := k.ring.Signing(k.now)
			must(t, err)
			if key.KID != kid(1) && k.now.Before(key.CreatedAt.Add(k.windows.PublishAhead)) {
				t.Fatalf("%s signed %v after it was made", key.KID, k.now.Sub(key.CreatedAt))
			}
			k.tokens = k.tokens[max(0, len(k.tokens)-3):]
			k.now = k.now.Add(time.Duration(steps.Int64N(int64(k.windows.PublishAhead/2)) + 1))
			k.sign(t) // just before the planner runs
			k.settle(t)
			k.check(t)
		}
		if k.made < 12 || k.made > 25 {
			t.Fatalf("%d keys in about 16 hours of hourly rotation", k.made)
		}
	})
}

// An empty ring asks for a key that signs at once; so does one whose only signer was compromised.
func TestPlanWithoutSigner(t *testing.T) {
	t.Parallel()
	k := newKeeper()
	if got := fmt.Sprint(k.ring.Plan(k.now, k.windows)); got != fmt.Sprint([]identity.Action{
		{Kind: identity.ActionNewKey, NotBefore: k.now.Add(-k.windows.Skew)},
	}) {
		t.Fatalf("the plan of an empty ring is %s", got)
	}
	k.settle(t)
	k.sign(t)
	k.now = k.now.Add(time.Hour)
	k.add(t, k.windows.NotBefore(k.now)) // published, but its time has not come
	must(t, errOf(k.ring.Compromise(kid(1), k.now)))
	k.settle(t)
	key, err := k.ring.Signing(k.now)
	must(t, err)
	if key.KID != kid(3) {
		t.Errorf("after the compromise %s signs", key.KID)
	}
	k.now = k.now.Add(k.windows.PublishAhead)
	k.settle(t)
	key, err = k.ring.Signing(k.now)
	must(t, err)
	if key.KID != kid(2) || k.stateOf(kid(3)) != identity.KeyRetiring {
		t.Errorf("the published key did not take its turn: %s signs", key.KID)
	}
}

// A successor is asked for twice PublishAhead before the end and takes over one PublishAhead later; a pending key that a
// later one overtook, or whose time passed, is ended and never asked to sign.
func TestPlanSteps(t *testing.T) {
	t.Parallel()
	w := windows()
	first := keyIn(t, 1, identity.KeyActive)
	kinds := func(ring *identity.KeyRing, now time.Time) string {
		out := ""
		for _, a := range ring.Plan(now, w) {
			out += fmt.Sprint(a.Kind, " ", a.KID, ";")
		}
		return out
	}
	asks := first.SignUntil.Add(-2 * w.PublishAhead)
	second := keyIn(t, 2, identity.KeyPending)
	second.NotBefore, second.SignUntil = w.NotBefore(asks), asks.Add(w.SignFor)
	third := second
	third.KID, third.NotBefore = kid(3), second.NotBefore.Add(time.Second)
	ripe := second.NotBefore.Add(w.Skew)
	retiring := keyIn(t, 1, identity.KeyRetiring)
	late := keyIn(t, 9, identity.KeyActive)
	late.NotBefore, late.SignUntil = first.NotBefore.Add(time.Hour), retiring.VerifyUntil.Add(time.Hour)
	for name, c := range map[string]struct {
		ring *identity.KeyRing
		now  time.Time
		want string
	}{
		"too early":          {ringOf(first), asks.Add(-1), ""},
		"asks":               {ringOf(first), asks, "new-key ;"},
		"asks once":          {ringOf(first, second), asks, ""},
		"not ripe":           {ringOf(first, second), ripe.Add(-1), ""},
		"ripe":               {ringOf(first, second), ripe, "activate key_002;"},
		"latest of two":      {ringOf(first, second, third), ripe.Add(time.Second), "activate key_003;"},
		"no signer, unripe":  {ringOf(second), second.NotBefore, "new-key ;"},
		"no signer, ripe":    {ringOf(second), ripe, "activate key_002;"},
		"signer over":        {ringOf(first), first.SignUntil, "retire key_001;new-key ;"},
		"over, but relieved": {ringOf(first, second), first.SignUntil, "activate key_002;"},
		"overtaken":          {ringOf(late, retiring, keyIn(t, 2, identity.KeyPending)), start().Add(2 * time.Hour), "end key_002;"},
		"verified out":       {ringOf(late, retiring), retiring.VerifyUntil, "end key_001;"},
		"still verifying":    {ringOf(late, retiring), retiring.VerifyUntil.Add(-1), ""},
		"compromised beside": {ringOf(first, keyIn(t, 2, identity.KeyCompromised), keyIn(t, 3, identity.KeyRetired)), start(), ""},
	} {
		if got := kinds(c.ring, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	wantFault(t, errOf(ringOf().Do(identity.Action{Kind: identity.ActionNewKey}, start())), fault.Internal, "key_action_unknown")
	wantFault(t, errOf(ringOf().Do(identity.Action{}, start())), fault.Internal, "key_action_unknown")
}
