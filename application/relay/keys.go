package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// keys are the keys by which devices' tokens are verified (A7). Each ends with its own window (I6), whatever else is heard of
// it; one that is compromised ends with the next answer, and at the latest when the set is too old to be believed.
type keys struct {
	*Node
	set *fetched[tokens.KeySet]
}

func newKeys(n *Node) *keys {
	k := &keys{Node: n}
	k.set = newFetched(n, "signing keys", n.settings.KeyRefresh, n.Authority.Keys.Keys)
	return k
}

func (k *keys) run(ctx context.Context) { k.set.run(ctx) }

// current is the key set, while it may be believed. Faults: Unavailable keys_unknown, keys_stale.
func (k *keys) current() (tokens.KeySet, error) {
	set, age, held := k.set.get()
	switch {
	case !held:
		return nil, fault.New(fault.Unavailable, "keys_unknown", "the node was not told yet by which keys tokens are verified").After(time.Second)
	case age < 0 || age >= k.settings.Bound:
		return nil, fault.New(fault.Unavailable, "keys_stale", "the node was not told for too long by which keys tokens are verified").After(time.Second)
	}
	return set, nil
}

// verify checks a token. One by a key that is not known is checked again by the next key set, which is asked for at once if the
// last one is not of just now: a key that replaces a compromised one is not published ahead.
func (k *keys) verify(token string) (tokens.DeviceToken, error) {
	out, err := k.check(token)
	if fault.SlugOf(err) == "device_token_key_unknown" && k.set.hurry(context.Background()) {
		return k.check(token)
	}
	return out, err
}

// ended goes by the last set that was heard of: what is to become of a node that hears of none is the gate's to say. Whoever has
// no key came by no token.
func (k *keys) ended(wall time.Time) func(key string) bool {
	set, _, held := k.set.get()
	return func(key string) bool {
		if !held || key == "" {
			return false
		}
		known, is := set[key]
		return !is || !wall.Before(known.VerifyUntil)
	}
}

func errKeyEnded() *fault.Error {
	return fault.New(fault.Unauthenticated, "device_token_key_retired", "the key that signed the token counts no more").Curable("get another token")
}

func (k *keys) check(token string) (tokens.DeviceToken, error) {
	set, err := k.current()
	if err != nil {
		return tokens.DeviceToken{}, err
	}
	return k.Devices.VerifyDeviceToken(token, set, k.settings.Self.Region(), k.keeper.now())
}
