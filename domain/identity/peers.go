package identity

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// ListedPeer is one certificate of a node that the control plane says is in force.
type ListedPeer struct {
	SPIFFEID    SPIFFEID
	Fingerprint string // as FingerprintOf
	ExpiresAt   time.Time
}

// PeerList is whom a node believes to be its peers (R3): the certificates that were in force when the list was asked for.
// Nobody is believed by a list that is too old, since who was revoked is known by absence only. It is safe for concurrent
// use, as it never changes; nil believes nobody.
type PeerList struct {
	self    SPIFFEID
	listed  map[string]ListedPeer
	askedAt time.Duration
}

// NewPeerList makes the list of an answer that was asked for at a monotonic instant.
func NewPeerList(self SPIFFEID, peers []ListedPeer, askedAt time.Duration) *PeerList {
	l := &PeerList{self: self, listed: make(map[string]ListedPeer, len(peers)), askedAt: askedAt}
	for _, p := range peers {
		l.listed[p.Fingerprint] = p
	}
	return l
}

// Fresh refuses a list of which nothing may be concluded any more: its age, from when it was asked for, has reached the
// bound. Faults: Unavailable peers_unknown, peers_stale.
func (l *PeerList) Fresh(now, bound time.Duration) error {
	if l == nil {
		return fault.New(fault.Unavailable, "peers_unknown", "this node was not told yet who its peers are")
	}
	if age := now - l.askedAt; age < 0 || age >= bound {
		return fault.New(fault.Unavailable, "peers_stale", "this node was not told for too long who its peers are")
	}
	return nil
}

// StaleAt is the monotonic instant from which Fresh refuses the list.
func (l *PeerList) StaleAt(bound time.Duration) time.Duration { return l.askedAt + bound }

// Moment is one reading of a node's clocks: the control plane's time as far as it is known, by which certificates end, and
// the monotonic one, by which ages are counted.
type Moment struct {
	Wall    time.Time
	Elapsed time.Duration
}

// Judge says whether a certificate is a peer's now: that of another node of this trust domain and region, within its
// validity, and listed under exactly the SPIFFE id that it bears. Whether the other end has its key, the handshake has
// proved. What the list does not say is found out last, so that peer_not_listed is the only refusal which a newer list can
// take back.
// Faults: of Fresh; Unauthenticated peer_trust_domain, peer_region, peer_is_self, peer_not_yet_valid, peer_expired,
// peer_not_listed, peer_id_mismatch.
func (l *PeerList) Judge(c NodeCertificate, at Moment, bound time.Duration) error {
	if err := l.Fresh(at.Elapsed, bound); err != nil {
		return err
	}
	if err := l.stands(c, at.Wall); err != nil {
		return err
	}
	p, ok := l.listed[c.Fingerprint]
	switch {
	case !ok:
		return unauthenticated("peer_not_listed", "the control plane does not list the peer's certificate as one in force")
	case p.SPIFFEID != c.SPIFFEID:
		return unauthenticated("peer_id_mismatch", "the control plane lists the peer's certificate under another SPIFFE id")
	case !ident.Instant(at.Wall).Before(p.ExpiresAt):
		return unauthenticated("peer_expired", "the peer's certificate has ended")
	}
	return nil
}

// stands is what a certificate says by itself.
func (l *PeerList) stands(c NodeCertificate, now time.Time) error {
	switch {
	case c.SPIFFEID.IsZero() || c.SPIFFEID.TrustDomain() != l.self.TrustDomain():
		return unauthenticated("peer_trust_domain", "the peer's certificate is of another trust domain")
	case c.SPIFFEID.Region() != l.self.Region():
		return unauthenticated("peer_region", "the peer is of another region")
	case c.SPIFFEID == l.self:
		return unauthenticated("peer_is_self", "the peer shows a certificate of this very node")
	case now.Before(c.NotBefore):
		return unauthenticated("peer_not_yet_valid", "the peer's certificate is not valid yet")
	case !now.Before(c.NotAfter):
		return unauthenticated("peer_expired", "the peer's certificate has ended")
	}
	return nil
}
