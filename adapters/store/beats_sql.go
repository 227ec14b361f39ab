package store

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

//nolint:gochecknoglobals // immutable
var (
	readNodes = newBatch(`SELECT n.id, n.region, n.status, n.schedulable, n.capacity_tenants, n.capacity_bytes, n.tenants,
		n.inbound, n.assignments_version, n.created_at, n.changed_at, l.boot_id, l.storage_id, l.version, l.advertise,
		l.heartbeat_generation, l.heartbeat_sequence, l.lease_epoch, l.lapsed, l.reported_tenants, l.reported_bytes,
		l.usage_tenants, l.usage_bytes, l.beat_at, l.registered_at, l.lease_granted
		FROM relay_nodes AS n JOIN relay_node_leases AS l ON l.node = n.id WHERE n.id IN ({})`, "?")

	writeLeases = newBatch(`INSERT INTO relay_node_leases (node, boot_id, storage_id, version, advertise,
		heartbeat_generation, heartbeat_sequence, lease_epoch, lapsed, reported_tenants, reported_bytes, usage_tenants,
		usage_bytes, beat_at, registered_at, lease_granted) VALUES {} ON CONFLICT (node) DO UPDATE SET
		boot_id = excluded.boot_id, storage_id = excluded.storage_id, version = excluded.version,
		advertise = excluded.advertise, heartbeat_generation = excluded.heartbeat_generation,
		heartbeat_sequence = excluded.heartbeat_sequence, lease_epoch = excluded.lease_epoch, lapsed = excluded.lapsed,
		reported_tenants = excluded.reported_tenants, reported_bytes = excluded.reported_bytes,
		usage_tenants = excluded.usage_tenants, usage_bytes = excluded.usage_bytes, beat_at = excluded.beat_at,
		registered_at = excluded.registered_at, lease_granted = excluded.lease_granted`, "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")

	spendNonces = newBatch(`INSERT INTO spent_nonces (scope, nonce, expires_at) VALUES {} ON CONFLICT DO NOTHING`, "(?,?,?)")
)

// readBeats reads what the calls of a round decide on, which tickets were spent only where it is to be careful.
func readBeats(ctx context.Context, t *Tx, r *beatRound, careful bool) (*beatState, error) {
	s := &beatState{nodes: make(map[string]*beatNode, len(r.calls)), spent: map[ticketKey]bool{}}
	ids := make([]string, 0, len(r.calls))
	var tickets tuples
	for _, c := range r.calls {
		if _, named := s.nodes[c.asked.node]; !named {
			s.nodes[c.asked.node] = nil
			ids = append(ids, c.asked.node)
		}
		if careful && c.asked.ticket != (port.Ticket{}) {
			tickets = append(tickets, []any{c.asked.ticket.Scope, c.asked.ticket.Nonce})
		}
	}
	clear(s.nodes)
	err := readKeys(ctx, t, readNodes, ids, func(rows *sql.Rows) error {
		at := &beatNode{}
		err := at.scan(rows)
		s.nodes[at.node.ID] = at
		return err
	})
	if err != nil || len(tickets) == 0 {
		return s, err
	}
	s.spent, err = spentOf(ctx, t, tickets)
	return s, err
}

func (b *beatNode) scan(rows *sql.Rows) error {
	n, l := &b.node, &b.lease
	err := rows.Scan(&n.ID, &n.Region, &n.Status, &n.Schedulable, &n.CapacityTenants, &n.CapacityBytes, &n.Tenants,
		&n.Inbound, &n.Assignments, &n.CreatedAt, &n.ChangedAt, &l.BootID, &l.StorageID, &l.Version, &l.Advertise,
		&l.Generation, &l.Sequence, &l.Epoch, &l.Lapsed, &l.ReportedTenants, &l.ReportedBytes, &l.UsageTenants,
		&l.UsageBytes, &l.BeatAt, &l.RegisteredAt, &l.Granted)
	l.Node = n.ID
	return err
}

// write spends the tickets and keeps the leases.
func (s *beatState) write(ctx context.Context, t *Tx) error {
	n, err := writeRows(ctx, t, spendNonces, s.spend, func(args []any, k port.Ticket) []any {
		return append(args, k.Scope, k.Nonce, micros(k.ExpiresAt))
	})
	if err != nil {
		return err
	}
	if n < len(s.spend) {
		return errReplay
	}
	n, err = writeRows(ctx, t, writeLeases, s.changed, func(args []any, at *beatNode) []any {
		l := &at.lease
		return append(args, l.Node, l.BootID, l.StorageID, l.Version, l.Advertise, l.Generation, l.Sequence, l.Epoch,
			l.Lapsed, l.ReportedTenants, l.ReportedBytes, l.UsageTenants, l.UsageBytes, l.BeatAt.column(),
			l.RegisteredAt.column(), l.Granted)
	})
	return t.wrote(n, len(s.changed), err)
}

// column is the time as an argument of a statement.
func (i instant) column() driver.Value {
	v, _ := i.Value() // it never fails
	return v
}

// spentOf says which tickets were spent before.
func spentOf(ctx context.Context, t *Tx, tickets tuples) (map[ticketKey]bool, error) {
	rows, err := many[nonceRow](ctx, t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("(scope, nonce) IN (VALUES ?)", tickets)
	})
	out := make(map[ticketKey]bool, len(rows))
	for _, row := range rows {
		out[ticketKey{row.Scope, row.Nonce}] = true
	}
	return out, err
}
