package authoritytest

import (
	"cmp"
	"context"
	"slices"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/authority"
)

// AddNodeIn is AddNode in a region.
func (p *Control) AddNodeIn(region, id string, room int64) {
	defer p.enter()()
	n := must(placement.NewNode(id, region, placement.Capacity{Tenants: room, Bytes: 1 << 40}, p.Clock.Now()))
	p.nodes[id] = &node{placement.Candidate{Node: n, Lease: placement.NewLease(id)}, identity.RestoreCredentials(id, nil)}
}

func (p *Control) spiffeID(of string) identity.SPIFFEID {
	return must(identity.RelayID(TrustDomain, p.nodes[of].Candidate.Node.Record().Region, of))
}

// AdmitCertificate admits a certificate of a node that somebody else signed, and returns its fingerprint.
func (p *Control) AdmitCertificate(node string, der []byte) string {
	defer p.enter()()
	c := must(identity.ReadNodeCertificate(der))
	must(p.nodes[node].credentials.Admit(identity.Admission{
		SPIFFEID: p.spiffeID(node), Fingerprint: c.Fingerprint, IssuedAt: c.NotBefore, ExpiresAt: c.NotAfter, AdmittedBy: "test",
	}, p.Clock.Now()))
	return c.Fingerprint
}

// RevokeCertificate revokes one certificate of a node.
func (p *Control) RevokeCertificate(node, fingerprint string) {
	defer p.enter()()
	must(p.nodes[node].credentials.Revoke(fingerprint, p.Clock.Now(), "test"))
}

// Peers answers the certificates in force of every node that is not retired, by fingerprint.
func (c *Client) Peers(ctx context.Context) ([]authority.Peer, error) {
	return request(ctx, c, "Peers", func(*node) ([]authority.Peer, error) {
		if err := authorization.Decide(authorization.OpPeers, placement.RoleStranger, placement.PhaseNone); err != nil {
			return nil, err
		}
		now := c.Control.Clock.Now()
		var out []authority.Peer
		for _, n := range c.Control.nodes {
			if n.Candidate.Node.Record().Status == placement.NodeRetired {
				continue
			}
			for _, r := range n.credentials.Records() {
				if n.credentials.Find(r.Fingerprint).InForce(now) {
					out = append(out, authority.Peer{Node: r.Node, SPIFFEID: r.SPIFFEID, Fingerprint: r.Fingerprint, ExpiresAt: r.ExpiresAt})
				}
			}
		}
		slices.SortFunc(out, func(a, b authority.Peer) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
		return out, nil
	})
}

// Route answers the node that holds a tenant's placement, to any node.
func (c *Client) Route(ctx context.Context, tenant string) (authority.Route, error) {
	return request(ctx, c, "Route", func(*node) (authority.Route, error) {
		t, err := c.allowed(authorization.OpRoute, tenant)
		if err != nil {
			return authority.Route{}, err
		}
		at := t.place.Record()
		return authority.Route{
			Tenant: tenant, Node: at.Node, Generation: at.Generation, Version: at.Version,
			Address: c.Control.nodes[at.Node].Lease.Record().Advertise, SPIFFEID: c.Control.spiffeID(at.Node).String(),
		}, nil
	})
}
