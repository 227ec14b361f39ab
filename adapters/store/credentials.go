package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/identity"
	"berth/domain/placement"
	port "berth/ports/store"
)

type credentialRow struct {
	bun.BaseModel `bun:"table:relay_node_credentials,alias:c"`

	Fingerprint   string  `bun:"fingerprint,pk"`
	Node          string  `bun:"node"`
	SPIFFEID      string  `bun:"spiffe_id"`
	State         string  `bun:"state"`
	IssuedAt      instant `bun:"issued_at"`
	ExpiresAt     instant `bun:"expires_at"`
	UsedAt        instant `bun:"used_at"`
	RevokedAt     instant `bun:"revoked_at"`
	RevokedReason string  `bun:"revoked_reason"`
	AdmittedBy    string  `bun:"admitted_by"`
}

func credentialTable() table[*identity.Credential, credentialRow] {
	return table[*identity.Credential, credentialRow]{
		thing: "credential", key: "fingerprint",
		row: always(func(v *identity.Credential) credentialRow {
			r := v.Record()
			return credentialRow{
				Fingerprint: r.Fingerprint, Node: r.Node, SPIFFEID: r.SPIFFEID, State: string(r.State),
				IssuedAt: instant(r.IssuedAt), ExpiresAt: instant(r.ExpiresAt), UsedAt: instant(r.UsedAt),
				RevokedAt: instant(r.RevokedAt), RevokedReason: r.RevokedReason, AdmittedBy: r.AdmittedBy,
			}
		}),
		value: always(credentialRow.value),
	}
}

func (r credentialRow) value() *identity.Credential {
	return identity.RestoreCredential(identity.CredentialRecord{
		Node: r.Node, SPIFFEID: r.SPIFFEID, Fingerprint: r.Fingerprint, IssuedAt: time.Time(r.IssuedAt),
		ExpiresAt: time.Time(r.ExpiresAt), State: identity.CredentialState(r.State), UsedAt: time.Time(r.UsedAt),
		RevokedAt: time.Time(r.RevokedAt), RevokedReason: r.RevokedReason, AdmittedBy: r.AdmittedBy,
	})
}

type credentials struct {
	aggregate[*identity.Credential, credentialRow]
}

func (c credentials) OfNode(ctx context.Context, node string) ([]*identity.Credential, error) {
	return c.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("node = ?", node).OrderExpr("issued_at NULLS FIRST, fingerprint")
	})
}

// InForce writes the states as text and not as arguments, so that the index over them is used.
func (c credentials) InForce(ctx context.Context, now time.Time, p port.Page) ([]*identity.Credential, error) {
	return c.page(ctx, p, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("state IN ('prepared', 'current')").
			Where("issued_at <= ?", micros(now)).Where("expires_at > ?", micros(now)).
			Where("EXISTS (SELECT 1 FROM relay_nodes AS n WHERE n.id = c.node AND n.status <> ?)",
				status[placement.NodeStatus]{placement.NodeRetired})
	})
}
