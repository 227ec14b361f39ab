package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
)

type leaseRow struct {
	bun.BaseModel `bun:"table:relay_node_leases,alias:l"`

	Node            string  `bun:"node,pk"`
	BootID          string  `bun:"boot_id"`
	StorageID       string  `bun:"storage_id"`
	Version         string  `bun:"version"`
	Advertise       string  `bun:"advertise"`
	Generation      int64   `bun:"heartbeat_generation"`
	Sequence        int64   `bun:"heartbeat_sequence"`
	Epoch           int64   `bun:"lease_epoch"`
	Lapsed          bool    `bun:"lapsed"`
	Granted         int64   `bun:"lease_granted"` // nanoseconds
	ReportedTenants int64   `bun:"reported_tenants"`
	ReportedBytes   int64   `bun:"reported_bytes"`
	UsageTenants    int64   `bun:"usage_tenants"`
	UsageBytes      int64   `bun:"usage_bytes"`
	BeatAt          instant `bun:"beat_at"`
	RegisteredAt    instant `bun:"registered_at"`
}

func leaseTable() table[*placement.Lease, leaseRow] {
	return table[*placement.Lease, leaseRow]{
		thing: "lease", key: "node",
		row:   always(func(v *placement.Lease) leaseRow { return leaseRowOf(v.Record()) }),
		value: always(leaseRow.value),
	}
}

func leaseRowOf(r placement.LeaseRecord) leaseRow {
	return leaseRow{
		Node: r.Node, BootID: r.BootID, StorageID: r.StorageID, Version: r.Version, Advertise: r.Advertise,
		Generation: r.Generation, Sequence: r.Sequence, Epoch: r.Epoch, Lapsed: r.Lapsed, Granted: int64(r.Granted),
		ReportedTenants: r.Reported.Tenants, ReportedBytes: r.Reported.Bytes,
		UsageTenants: r.Usage.Tenants, UsageBytes: r.Usage.Bytes,
		BeatAt: instant(r.BeatAt), RegisteredAt: instant(r.RegisteredAt),
	}
}

func (r leaseRow) value() *placement.Lease {
	return placement.RestoreLease(placement.LeaseRecord{
		Node: r.Node, BootID: r.BootID, StorageID: r.StorageID, Version: r.Version, Advertise: r.Advertise,
		Generation: r.Generation, Sequence: r.Sequence, Epoch: r.Epoch, Lapsed: r.Lapsed, Granted: time.Duration(r.Granted),
		Reported: placement.Capacity{Tenants: r.ReportedTenants, Bytes: r.ReportedBytes},
		Usage:    placement.Capacity{Tenants: r.UsageTenants, Bytes: r.UsageBytes},
		BeatAt:   time.Time(r.BeatAt), RegisteredAt: time.Time(r.RegisteredAt),
	})
}

// leasesOf reads leases by node, those that exist.
func leasesOf(ctx context.Context, t *Tx, nodes []string) (map[string]leaseRow, error) {
	rows, err := many[leaseRow](ctx, t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("node IN (?)", bun.List(nodes))
	})
	out := make(map[string]leaseRow, len(rows))
	for _, row := range rows {
		out[row.Node] = row
	}
	return out, err
}
