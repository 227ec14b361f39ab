package store

import (
	"context"
	"maps"
	"slices"

	port "berth/ports/store"
)

type standings struct{ t *Tx }

func (s standings) Get(ctx context.Context, tenant string) (port.Standing, error) {
	found, err := s.of(ctx, []string{tenant})
	if err != nil {
		return port.Standing{}, err
	}
	at, ok := found[tenant]
	if !ok {
		return port.Standing{}, port.Missing("tenant")
	}
	return at, nil
}

// of reads the standings of tenants, those that exist.
func (s standings) of(ctx context.Context, tenants []string) (map[string]port.Standing, error) {
	heads, err := tenantsOf(ctx, s.t, tenants)
	if err != nil {
		return nil, err
	}
	placed, err := placementsOf(ctx, s.t, tenants)
	if err != nil {
		return nil, err
	}
	out := make(map[string]port.Standing, len(heads))
	for tenant, head := range heads {
		at := port.Standing{Tenant: head.value()}
		if p, ok := placed[tenant]; ok {
			at.Placement = p.value()
		}
		out[tenant] = at
	}
	return out, nil
}

// Differing runs once along the index of what the node holds, between the first and the last tenant it asks for, and
// drops what is as believed: nearly all, in nearly all polls. What is left is looked up by tenant.
func (s standings) Differing(ctx context.Context, node string, known []port.Known) ([]port.Standing, []string, error) {
	if err := s.t.reading(); err != nil {
		return nil, nil, err
	}
	believed := map[string][]port.Known{}
	for _, k := range known {
		believed[k.Tenant] = append(believed[k.Tenant], k)
	}
	open := slices.Sorted(maps.Keys(believed))
	if len(open) == 0 {
		return nil, nil, nil
	}
	open, err := s.unconfirmed(ctx, node, open, believed)
	if err != nil {
		return nil, nil, err
	}
	return s.judge(ctx, node, open, believed)
}

// slack is how many tenants beside those that are asked for a scan may come across before looking up is cheaper.
const slack = 200

// unconfirmed returns the tenants that a scan did not find exactly as believed.
func (s standings) unconfirmed(ctx context.Context, node string, tenants []string, believed map[string][]port.Known) ([]string, error) {
	rows, err := s.t.query(ctx, `SELECT p.tenant, p.generation, h.revision
		FROM tenant_placements AS p JOIN tenant_authorization_state AS h ON h.tenant = p.tenant
		WHERE p.relay_node = ? AND p.tenant >= ? AND p.tenant <= ? ORDER BY p.tenant LIMIT ?`,
		node, tenants[0], tenants[len(tenants)-1], 2*len(tenants)+slack)
	if err != nil {
		return nil, s.t.fault(err)
	}
	defer rows.Close()
	confirmed := make(map[string]bool, len(tenants))
	for rows.Next() {
		var at port.Known
		if err := rows.Scan(&at.Tenant, &at.Generation, &at.Revision); err != nil {
			return nil, s.t.fault(err)
		}
		beliefs := believed[at.Tenant]
		confirmed[at.Tenant] = len(beliefs) > 0 && !slices.ContainsFunc(beliefs, func(k port.Known) bool { return k != at })
	}
	open := slices.DeleteFunc(tenants, func(tenant string) bool { return confirmed[tenant] })
	return open, s.t.fault(rows.Err())
}

func (s standings) judge(ctx context.Context, node string, tenants []string, believed map[string][]port.Known) (out []port.Standing, absent []string, err error) {
	for part := range slices.Chunk(tenants, perStatement) {
		found, err := s.of(ctx, part)
		if err != nil {
			return nil, nil, err
		}
		for _, tenant := range part {
			at, exists := found[tenant]
			if !exists {
				absent = append(absent, tenant)
				continue
			}
			if slices.ContainsFunc(believed[tenant], func(k port.Known) bool { return !at.As(node, k) }) {
				out = append(out, at)
			}
		}
	}
	return out, absent, nil
}
