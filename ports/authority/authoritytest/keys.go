package authoritytest

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/tokens"
)

// TokenKey is a key for device tokens, with the private half that only a key management service has elsewhere.
type TokenKey struct {
	KID     string
	Private ed25519.PrivateKey
}

// RotateKey makes a key that signs from now on; the one that signed so far retires, and verifies until its window ends.
func (p *Control) RotateKey() TokenKey {
	defer p.enter()()
	k := p.newKey(p.Clock.Now())
	must(p.ring.Activate(k.KID, p.Clock.Now()))
	return k
}

// PublishKey makes a key that is pending, and signs from the windows' time on.
func (p *Control) PublishKey() TokenKey {
	defer p.enter()()
	return p.newKey(p.Windows.NotBefore(p.Clock.Now()))
}

func (p *Control) newKey(notBefore time.Time) TokenKey {
	p.serial++
	seed := make([]byte, ed25519.SeedSize)
	binary.BigEndian.PutUint64(seed, uint64(p.serial))
	out := TokenKey{fmt.Sprintf("key-%04d", p.serial), ed25519.NewKeyFromSeed(seed)}
	key := must(identity.NewSigningKey(identity.NewKey{
		KID: out.KID, Purpose: identity.KeyForDeviceTokens, PublicKey: slices.Clone(out.Private[ed25519.SeedSize:]), Ref: out.KID, NotBefore: notBefore,
	}, p.Windows, p.Clock.Now()))
	if err := p.ring.Add(key); err != nil {
		panic(fmt.Sprintf("authoritytest: %v", err))
	}
	return out
}

// CompromiseKey ends a key at once.
func (p *Control) CompromiseKey(kid string) {
	defer p.enter()()
	must(p.ring.Compromise(kid, p.Clock.Now()))
}

// Keys answers every key that verifies now, those published ahead included.
func (c *Client) Keys(ctx context.Context) (tokens.KeySet, error) {
	return request(ctx, c, "Keys", func(*node) (tokens.KeySet, error) {
		if err := authorization.Decide(authorization.OpSigningKeys, placement.RoleStranger, placement.PhaseNone); err != nil {
			return nil, err
		}
		out := tokens.KeySet{}
		for _, k := range c.Control.ring.Published(c.Control.Clock.Now()) {
			out[k.KID] = tokens.VerificationKey{PublicKey: k.PublicKey, VerifyUntil: k.VerifyUntil}
		}
		return out, nil
	})
}
