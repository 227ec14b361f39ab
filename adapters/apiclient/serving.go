package apiclient

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"

	"berth/adapters/contract"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/tokens"
)

var (
	_ authority.Keys        = (*Authority)(nil)
	_ authority.Revocations = (*Authority)(nil)
	_ authority.Peers       = (*Authority)(nil)
	_ authority.Routes      = (*Authority)(nil)
)

// Keys answers the keys that verify device tokens. Of what the control plane says of a key only its window counts (I6), and
// that it is not one that has ended.
func (a *Authority) Keys(ctx context.Context) (tokens.KeySet, error) {
	in, err := a.calls().SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	out, seen := tokens.KeySet{}, map[string]bool{}
	for _, k := range in.Keys {
		key, err := verificationKey(k)
		if err != nil {
			return nil, err
		}
		if seen[k.KID] {
			return nil, unexpected("a kid names one key")
		}
		if seen[k.KID] = true; key != nil {
			out[k.KID] = *key
		}
	}
	return out, nil
}

// verificationKey is nil where the key verifies nothing any more. One of another purpose has no place in the answer (I9).
func verificationKey(in contract.SigningKey) (*tokens.VerificationKey, error) {
	public, err := base64.RawURLEncoding.Strict().DecodeString(in.PublicKey)
	ok := err == nil && base64.RawURLEncoding.EncodeToString(public) == in.PublicKey
	if !ok || in.Purpose != string(identity.KeyForDeviceTokens) || in.VerifyUntil.IsZero() {
		return nil, unexpected("a key is for device tokens, in base64url, and verifies until a time")
	}
	if identity.CheckTokenKey(in.KID, public) != nil {
		return nil, unexpected("a key has a kid and is an Ed25519 public key")
	}
	switch identity.KeyState(in.State) {
	case identity.KeyPending, identity.KeyActive, identity.KeyRetiring:
		return &tokens.VerificationKey{PublicKey: ed25519.PublicKey(public), VerifyUntil: ident.Instant(in.VerifyUntil)}, nil
	case identity.KeyRetired, identity.KeyCompromised:
		return nil, nil //nolint:nilnil // there is nothing to know of it
	}
	return nil, unexpected("a key is pending, active, retiring, retired or compromised")
}

// Revoke revokes a principal that another asked to revoke.
func (a *Authority) Revoke(ctx context.Context, r authority.Revoke) (int64, error) {
	out, err := a.calls().Revoke(ctx, r.Tenant, r.Principal, contract.NodeRevoke{Generation: r.Generation, AskedBy: r.AskedBy})
	if err != nil {
		return 0, err
	}
	if !counts(out.Revision) {
		return 0, unexpected("a revision lies between 1 and 2^53-1")
	}
	return out.Revision, nil
}

func counts(n int64) bool { return n >= 1 && n <= ident.MaxCounter }

const (
	peersPage = 500 // the longest page that is answered
	mostPeers = 100_000
)

// Peers answers every page of the certificates in force.
func (a *Authority) Peers(ctx context.Context) ([]authority.Peer, error) {
	var out []authority.Peer
	seen := map[string]bool{}
	for p := (Page{Limit: peersPage}); ; {
		in, err := a.calls().Peers(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, one := range in.Peers {
			peer, err := peerOf(one)
			if err != nil {
				return nil, err
			}
			if seen[peer.Fingerprint] {
				return nil, unexpected("a certificate is listed once")
			}
			seen[peer.Fingerprint] = true
			out = append(out, peer)
		}
		switch {
		case in.Next == "":
			return out, nil
		case len(in.Peers) == 0, in.Next == p.Cursor, len(out) > mostPeers:
			return nil, unexpected("a list of peers ends")
		}
		p.Cursor = in.Next
	}
}

func peerOf(in contract.Peer) (authority.Peer, error) {
	id, err := identity.ParseSPIFFEID(in.SPIFFEID)
	if err != nil || id.Node() != in.Node || identity.CheckFingerprint("fingerprint", in.Fingerprint) != nil || in.ExpiresAt.IsZero() {
		return authority.Peer{}, unexpected("a peer has a SPIFFE id, which names its node, a fingerprint and an expiry")
	}
	return authority.Peer{Node: in.Node, SPIFFEID: in.SPIFFEID, Fingerprint: in.Fingerprint, ExpiresAt: ident.Instant(in.ExpiresAt)}, nil
}

// Route answers where a tenant's connections go.
func (a *Authority) Route(ctx context.Context, tenant string) (authority.Route, error) {
	in, err := a.calls().Route(ctx, tenant)
	if err != nil {
		return authority.Route{}, err
	}
	id, err := identity.ParseSPIFFEID(in.SPIFFEID)
	if err != nil || id.Node() != in.Node || !counts(in.Generation) || !counts(in.PlacementVersion) {
		return authority.Route{}, unexpected("a route has a SPIFFE id, which names its node, a generation and a version")
	}
	if placement.CheckAddress("peer_address", in.PeerAddress) != nil {
		return authority.Route{}, unexpected("a peer's address is host:port, or empty")
	}
	return authority.Route{
		Tenant: tenant, Node: in.Node, Generation: in.Generation, Version: in.PlacementVersion, Address: in.PeerAddress, SPIFFEID: in.SPIFFEID,
	}, nil
}
