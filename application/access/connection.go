package access

import (
	"context"
	"crypto/ed25519"
	"strings"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/tokens"
)

// ConnectionRequest asks, in a device's name, whether and where it can connect.
type ConnectionRequest struct {
	Principal string // in the path
	Token     string // the device's access token
}

// ConnectionAnswer is whether and where a device can connect (P13).
type ConnectionAnswer struct {
	State placement.ConnectionState
	URL   string // wss://<origin of the home region>/connect/v1; empty for a tenant that lives nowhere any more
}

// Connection tells a device whether it can connect now. A device whose tenant moved to another region in between needs
// a new token first. Whatever is wrong with the token, or with the principal that it is shown for, is refused in the
// same words. Fault: Unauthenticated device_token_refused.
func (a *Access) Connection(ctx context.Context, in ConnectionRequest) (ConnectionAnswer, error) {
	now := a.Clock.Now()
	var out ConnectionAnswer
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		d, err := deviceOf(ctx, r, in.Principal)
		if err != nil {
			return err
		}
		if err := a.checkToken(ctx, r, d, in.Token, now); err != nil {
			return err
		}
		out, err = connection(ctx, r, d.standing)
		return err
	})
	if err != nil {
		return ConnectionAnswer{}, err
	}
	return out, nil
}

// device is a principal with what its tokens are judged by. For an id that nobody has it has no principal.
type device struct {
	principal *authorization.Principal
	standing  store.Standing
	region    string
}

func (d device) active() bool { return d.principal != nil && d.principal.Active() }

func deviceOf(ctx context.Context, r *store.Roles, id string) (device, error) {
	p, err := principal(ctx, r, id)
	if missing(err) {
		return device{}, nil
	}
	if err != nil {
		return device{}, err
	}
	s, err := r.Standings.Get(ctx, p.Record().Tenant)
	if err != nil {
		return device{}, err
	}
	region, err := homeRegion(ctx, r, s)
	return device{principal: p, standing: s, region: region}, err
}

// checkToken verifies the token also where there is no device that it could be of, so that the answer takes as long.
func (a *Access) checkToken(ctx context.Context, r *store.Roles, d device, token string, now time.Time) error {
	ring, err := deviceKeys(ctx, r)
	if err != nil {
		return err
	}
	said, err := a.Tokens.Verifier.VerifyDeviceToken(token, keySet(ring, now), d.region, now)
	if err != nil {
		return tokenRefused(err)
	}
	if !d.active() {
		return tokenRefused(nil)
	}
	p := d.principal.Record()
	if said.Principal != p.ID || said.Tenant != p.Tenant || said.Thumbprint != tokens.Thumbprint(p.PublicKey[:]) {
		return tokenRefused(nil)
	}
	return nil
}

func tokenRefused(cause error) error {
	return fault.New(fault.Unauthenticated, "device_token_refused", "the request carries no valid token of this device").
		Because(cause).Curable("ask for a new device token")
}

// keySet is what verifies device tokens now.
func keySet(ring *identity.KeyRing, now time.Time) tokens.KeySet {
	set := tokens.KeySet{}
	for _, k := range ring.Published(now) {
		if ring.Verifies(k.KID, now) == nil {
			set[k.KID] = tokens.VerificationKey{PublicKey: ed25519.PublicKey(k.PublicKey), VerifyUntil: k.VerifyUntil}
		}
	}
	return set
}

func connectURL(ctx context.Context, r *store.Roles, s store.Standing) (string, error) {
	id, err := homeRegion(ctx, r, s)
	if id == "" || err != nil {
		return "", err
	}
	region, err := r.Regions.Get(ctx, id)
	return "wss://" + strings.TrimPrefix(region.Origin, "https://") + "/connect/v1", err
}
