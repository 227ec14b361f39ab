package scale

import (
	"fmt"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
)

// table is what a table is given: so many rows, in the order of its key.
type table struct {
	name    string
	columns []string
	rows    int
	row     func(i int) []any
}

// tables are all that a plan makes. The statuses are those that the domain's own rules lead to: a tenant that was made,
// placed, and paired with its owner; now and then a migration of it that was begun and aborted.
func (p Plan) tables(chain *chain) []table {
	now := micros(p.At)
	return append(p.ofNodes(now), p.ofTenants(now, chain)...)
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func (p Plan) ofNodes(now int64) []table {
	active := placement.NodeActive.String()
	bound := boundless()
	return []table{
		{"relay_regions", []string{"id", "origin", "created_at"}, p.Regions, func(i int) []any {
			return []any{p.Region(i), "https://" + p.Region(i) + ".relay.test", now}
		}},
		{"relay_nodes", []string{
			"id", "region", "status", "schedulable", "capacity_tenants", "capacity_bytes", "tenants", "inbound",
			"assignments_version", "created_at", "changed_at",
		}, p.Nodes, func(i int) []any {
			id, region := p.Node(i)
			_, held := p.Holds(i)
			return []any{id, region, active, true, int64(roomy), int64(1) << 50, int64(held), int64(0), int64(1 + held), now, now}
		}},
		{"relay_node_leases", []string{
			"node", "boot_id", "storage_id", "version", "advertise", "heartbeat_generation", "heartbeat_sequence", "lease_epoch",
			"lapsed", "reported_tenants", "reported_bytes", "usage_tenants", "usage_bytes", "beat_at", "registered_at",
		}, p.Nodes, func(i int) []any {
			id, _ := p.Node(i)
			return []any{
				id, "boot-1", "disk-" + id, "1.0.0", id + ".relay.test:8443", int64(1), int64(1), int64(1),
				false, bound.Tenants, bound.Bytes, int64(0), int64(0), now, now,
			}
		}},
		{"relay_node_pulses", []string{"node", "pulse"}, p.Nodes, func(i int) []any {
			id, _ := p.Node(i)
			_, held := p.Holds(i)
			return []any{id, int64(1 + held)}
		}},
		{"relay_node_credentials", []string{
			"fingerprint", "node", "spiffe_id", "state", "issued_at", "expires_at", "used_at", "revoked_at", "revoked_reason", "admitted_by",
		}, p.Nodes, func(i int) []any {
			id, _ := p.Node(i)
			const minute, day = int64(time.Minute / time.Microsecond), int64(24 * time.Hour / time.Microsecond)
			return []any{
				p.Fingerprint(i), id, p.spiffe(i), string(identity.CredentialCurrent), now - minute, now + day, now, nil, "", "operator/seed",
			}
		}},
	}
}

func (p Plan) ofTenants(now int64, chain *chain) []table {
	return []table{
		{"tenant_placements", []string{
			"tenant", "home_region", "relay_node", "generation", "version", "state", "migration", "source", "target",
			"manifest_root", "last_sequence", "changed_at",
		}, p.Tenants, func(i int) []any {
			node, region := p.Node(p.Holder(i))
			return []any{
				p.Tenant(i), region, node, int64(1), p.version(i), placement.Active.String(), "", "", "", "", int64(0), now,
			}
		}},
		{"tenant_authorization_state", []string{
			"tenant", "status", "revision", "floor", "owners", "principals", "handles", "routes", "created_at", "changed_at",
		}, p.Tenants, func(i int) []any {
			return []any{
				p.Tenant(i), string(authorization.TenantActive), int64(2), int64(1), int64(1), int64(1), int64(1), int64(1), now, now,
			}
		}},
		{"tenant_routes", []string{"tenant", "id", "created_at", "created_by"}, p.Tenants, func(i int) []any {
			return []any{p.Tenant(i), mainRoute, now, ""}
		}},
		{"tenant_principals", []string{
			"id", "tenant", "kind", "role", "status", "name", "public_key", "handles", "created_at", "revoked_at", "revoked_by",
			"revoked_revision",
		}, p.Tenants, func(i int) []any {
			key := digest("key", i)
			return []any{
				p.Principal(i), p.Tenant(i), string(authorization.Phone), string(authorization.Owner), string(authorization.Active),
				"phone", key[:], int64(1), now, nil, "", int64(0),
			}
		}},
		{"tenant_route_handles", []string{
			"tenant", "digest", "principal", "route", "status", "created_at", "revoked_at", "revoked_revision",
		}, p.Tenants, func(i int) []any {
			handle := digest("handle", i)
			return []any{p.Tenant(i), handle[:], p.Principal(i), mainRoute, string(authorization.Active), now, nil, int64(0)}
		}},
		{"tenant_authorization_changes", []string{
			"tenant", "revision", "part", "parts", "kind", "status", "principal", "principal_kind", "principal_role",
			"principal_status", "route", "handle_digest", "handle_principal", "handle_route", "handle_status",
		}, 2 * p.Tenants, p.change},
		p.migrations(now),
		{"audit_log", []string{
			"sequence", "at", "actor_kind", "actor_id", "actor_source", "action", "subject", "detail", "previous", "hash",
		}, p.Tenants, func(i int) []any { return chain.next(p, i) }},
	}
}

// change is one of the two parts of the revision that admitted a tenant's owner.
func (p Plan) change(i int) []any {
	tenant, part := i/2, i%2
	var none [32]byte
	handle := digest("handle", tenant)
	if part == 0 {
		return []any{
			p.Tenant(tenant), int64(2), int64(1), int64(2), string(authorization.ChangePrincipal), "", p.Principal(tenant),
			string(authorization.Phone), string(authorization.Owner), string(authorization.Active), "", none[:], "", "", "",
		}
	}
	return []any{
		p.Tenant(tenant), int64(2), int64(2), int64(2), string(authorization.ChangeHandle), "", "", "", "", "", "",
		handle[:], p.Principal(tenant), mainRoute, string(authorization.Active),
	}
}

func (p Plan) migrations(now int64) table {
	return table{"placement_migrations", []string{
		"id", "tenant", "recovery", "source", "target", "rehome", "state", "ended", "generation", "source_prepared",
		"target_prepared", "base_sequence", "manifest_root", "last_sequence", "started_at", "changed_at", "ended_at", "deadline", "notes",
	}, (p.Tenants + each - 1) / each, func(i int) []any {
		tenant := i * each
		source, _ := p.Node(p.Holder(tenant))
		target, _ := p.Node(p.target(tenant))
		notes := fmt.Sprintf(`{"steps":[{"name":"prepare","at":%d,"detail":"to %s"},{"name":"abort","at":%d,"detail":"asked for by operator seed"}]}`,
			now, target, now)
		return []any{
			fmt.Sprintf("mig_%026d", tenant), p.Tenant(tenant), false, source, target, "", placement.PhaseAborted.String(), true, int64(1),
			false, false, int64(0), "", int64(0), now, now, now, nil, notes,
		}
	}}
}

// chain is the audit log as it grows.
type chain struct{ head audit.Head }

// next is the entry of the tenant that was made next.
func (c *chain) next(p Plan, tenant int) []any {
	_, region := p.Node(p.Holder(tenant))
	e := audit.Seal(c.head, audit.Draft{
		At: p.At, Actor: audit.Actor{Kind: audit.ActorOperator, ID: "seed"}, Action: "tenant.created",
		Subject: "tenant/" + p.Tenant(tenant), Detail: map[string]string{"home_region": region, "revision": "1"},
	})
	c.head = e.Head()
	return []any{
		e.Sequence, micros(e.At), string(e.Actor.Kind), e.Actor.ID, e.Actor.Source, e.Action, e.Subject,
		`{"home_region":"` + region + `","revision":"1"}`, e.Previous[:], e.Hash[:],
	}
}
