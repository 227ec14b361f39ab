package trust

import (
	"context"

	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/store"
)

// Bundle is every root that is believed in a trust domain.
type Bundle struct {
	TrustDomain string
	Roots       []identity.SigningKeyRecord // by not-before, each with its certificate
	External    []identity.ExternalRoot     // of CAs outside, in the order in which they are set
}

// TrustBundle returns the roots by which nodes' certificates are verified: those published ahead of their turn, the one
// that signs and those that once did, as long as anything they signed can live. A compromised one is not among
// them. Beside them are those of CAs outside that this replica is set to believe. It is public.
//
// Fault: Unavailable ca_not_ready where there is none, as before the first root was made: whoever took an empty bundle for an
// answer would believe nobody.
func (t *Trust) TrustBundle(ctx context.Context) (Bundle, error) {
	var out Bundle
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		ring, err := ringOf(ctx, r, identity.KeyForCA)
		if err != nil {
			return err
		}
		out, err = t.bundle(ring)
		return err
	})
	return out, err
}

func (t *Trust) bundle(ring *identity.KeyRing) (Bundle, error) {
	now := t.Clock.Now()
	b := Bundle{TrustDomain: t.Settings.TrustDomain, Roots: ring.Published(now)}
	if t.ExternalRoots != nil {
		b.External = ring.Beside(t.ExternalRoots(), now)
	}
	if len(b.Roots)+len(b.External) == 0 {
		return Bundle{}, ca.NotReady()
	}
	return b, nil
}
