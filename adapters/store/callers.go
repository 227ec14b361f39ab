package store

import (
	"context"
	"database/sql"

	"berth/domain/identity"
	"berth/domain/placement"
	port "berth/ports/store"
)

// Callers is port.Callers: one goroutine reads for the calls that wait together.
type Callers struct {
	shared *shared[callerRow]
}

// NewCallers starts the goroutine that reads through view.
func NewCallers(view Run) *Callers {
	return &Callers{newShared(view, callersOf, func() error { return port.Missing("credential") })}
}

// Close answers all that wait and ends the goroutine.
func (c *Callers) Close() { c.shared.gather.close() }

// Caller is as port.Callers has it.
func (c *Callers) Caller(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error) {
	row, err := c.shared.of(ctx, fingerprint)
	if err != nil {
		return nil, 0, err
	}
	return row.value(), row.NodeStatus.v, nil
}

// callerRow is a credential with the status of its node.
type callerRow struct {
	credentialRow

	NodeStatus status[placement.NodeStatus]
}

//nolint:gochecknoglobals // immutable
var readCallers = newBatch(`SELECT c.fingerprint, c.node, c.spiffe_id, c.state, c.issued_at, c.expires_at, c.used_at,
	c.revoked_at, c.revoked_reason, c.admitted_by, n.status
	FROM relay_node_credentials AS c JOIN relay_nodes AS n ON n.id = c.node WHERE c.fingerprint IN ({})`, "?")

// callersOf reads callers by fingerprint, those that exist.
func callersOf(ctx context.Context, t *Tx, fingerprints []string) (map[string]callerRow, error) {
	out := make(map[string]callerRow, len(fingerprints))
	err := readKeys(ctx, t, readCallers, fingerprints, func(rows *sql.Rows) error {
		var c callerRow
		err := rows.Scan(&c.Fingerprint, &c.Node, &c.SPIFFEID, &c.State, &c.IssuedAt, &c.ExpiresAt, &c.UsedAt, &c.RevokedAt,
			&c.RevokedReason, &c.AdmittedBy, &c.NodeStatus)
		out[c.Fingerprint] = c
		return err
	})
	return out, err
}
