package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
	port "berth/ports/store"
)

type nodeRow struct {
	bun.BaseModel `bun:"table:relay_nodes,alias:n"`

	ID              string                       `bun:"id,pk"`
	Region          string                       `bun:"region"`
	Status          status[placement.NodeStatus] `bun:"status"`
	Schedulable     bool                         `bun:"schedulable"`
	CapacityTenants int64                        `bun:"capacity_tenants"`
	CapacityBytes   int64                        `bun:"capacity_bytes"`
	Tenants         int64                        `bun:"tenants"`
	Inbound         int64                        `bun:"inbound"`
	Assignments     int64                        `bun:"assignments_version"`
	CreatedAt       instant                      `bun:"created_at"`
	ChangedAt       instant                      `bun:"changed_at"`
}

func nodeTable() table[*placement.Node, nodeRow] {
	return table[*placement.Node, nodeRow]{
		thing: "node", key: "id",
		row: always(func(v *placement.Node) nodeRow {
			r := v.Record()
			return nodeRow{
				ID: r.ID, Region: r.Region, Status: status[placement.NodeStatus]{r.Status}, Schedulable: r.Schedulable,
				CapacityTenants: r.Capacity.Tenants, CapacityBytes: r.Capacity.Bytes, Tenants: r.Tenants, Inbound: r.Inbound,
				Assignments: r.Assignments, CreatedAt: instant(r.CreatedAt), ChangedAt: instant(r.ChangedAt),
			}
		}),
		value: always(nodeRow.value),
	}
}

func (r nodeRow) value() *placement.Node {
	return placement.RestoreNode(placement.NodeRecord{
		ID: r.ID, Region: r.Region, Status: r.Status.v, Schedulable: r.Schedulable,
		Capacity: placement.Capacity{Tenants: r.CapacityTenants, Bytes: r.CapacityBytes},
		Tenants:  r.Tenants, Inbound: r.Inbound, Assignments: r.Assignments,
		CreatedAt: time.Time(r.CreatedAt), ChangedAt: time.Time(r.ChangedAt),
	})
}

type nodes struct {
	aggregate[*placement.Node, nodeRow]
}

func (n nodes) Candidates(ctx context.Context, region string, p port.Page) ([]placement.Candidate, error) {
	found, err := many[nodeRow](ctx, n.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		if region != "" {
			q = q.Where("region = ?", region)
		}
		return paged(q.Where("EXISTS (SELECT 1 FROM relay_node_leases AS l WHERE l.node = n.id)"), "id", p)
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ids := make([]string, 0, len(found))
	for _, row := range found {
		ids = append(ids, row.ID)
	}
	leases, err := leasesOf(ctx, n.t, ids)
	if err != nil {
		return nil, err
	}
	out := make([]placement.Candidate, 0, len(found))
	for _, row := range found {
		out = append(out, placement.Candidate{Node: row.value(), Lease: leases[row.ID].value()})
	}
	return out, nil
}
