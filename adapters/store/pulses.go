package store

import (
	"context"
	"database/sql"

	port "berth/ports/store"
)

// Pulses is port.Pulses: one goroutine reads for the calls that wait together.
type Pulses struct {
	shared *shared[port.Pulse]
}

// NewPulses starts the goroutine that reads through view.
func NewPulses(view Run) *Pulses { return &Pulses{newShared(view, pulsesOf, nil)} }

// Close answers all that wait and ends the goroutine.
func (p *Pulses) Close() { p.shared.gather.close() }

// Pulse is as port.Pulses has it.
func (p *Pulses) Pulse(ctx context.Context, node string) (port.Pulse, error) {
	return p.shared.of(ctx, node)
}

var readPulses = newBatch(`SELECT node, pulse FROM relay_node_pulses WHERE node IN ({})`, "?") //nolint:gochecknoglobals // immutable

// pulsesOf reads the pulses of nodes. One that nothing ever concerned has no row.
func pulsesOf(ctx context.Context, t *Tx, nodes []string) (map[string]port.Pulse, error) {
	out := make(map[string]port.Pulse, len(nodes))
	for _, node := range nodes {
		out[node] = port.Pulse{Origin: t.session.Origin}
	}
	err := readKeys(ctx, t, readPulses, nodes, func(rows *sql.Rows) error {
		p, node := port.Pulse{Origin: t.session.Origin}, ""
		err := rows.Scan(&node, &p.Number)
		out[node] = p
		return err
	})
	return out, err
}

// stir raises the pulse of every node that the tenant's placement names as it is, and of those given. It goes before a
// write, so that nodes that the write takes out are among them. The rows are taken in one order by all.
func (t *Tx) stir(ctx context.Context, tenant string, nodes ...string) error {
	given := make(tuples, 0, 3)
	for i := range 3 {
		node := ""
		if i < len(nodes) {
			node = nodes[i]
		}
		given = append(given, []any{node})
	}
	_, err := t.change(ctx, `INSERT INTO relay_node_pulses (node, pulse)
		SELECT node, 1 FROM (
			SELECT relay_node AS node FROM tenant_placements WHERE tenant = ?0
			UNION SELECT source FROM tenant_placements WHERE tenant = ?0
			UNION SELECT target FROM tenant_placements WHERE tenant = ?0
			UNION SELECT * FROM (VALUES ?1) AS given) AS concerned
		WHERE node <> '' ORDER BY node
		ON CONFLICT (node) DO UPDATE SET pulse = relay_node_pulses.pulse + 1`, tenant, given)
	return err
}
