package store

import (
	"context"
	"database/sql"
	"time"

	port "berth/ports/store"
)

// Polls is port.Polls: one goroutine reads for the calls that wait together.
type Polls struct {
	shared *shared[port.Polled]
}

// NewPolls starts the goroutine that reads through view.
func NewPolls(view Run) *Polls {
	return &Polls{newShared(view, polledOf, func() error { return port.Missing("agent") })}
}

// Close answers all that wait and ends the goroutine.
func (p *Polls) Close() { p.shared.gather.close() }

// Poll is as port.Polls has it.
func (p *Polls) Poll(ctx context.Context, agent string) (port.Polled, error) {
	found, err := p.shared.of(ctx, agent)
	found.PublicKey = append([]byte(nil), found.PublicKey...) // callers of one round share the row
	return found, err
}

// readPolls leaves out what is large: the apps and the token of the head.
//
//nolint:gochecknoglobals // immutable
var readPolls = newBatch(`SELECT a.id, a.install_id, a.public_key, a.instance, h.revision, h.digest, h.frozen, d.review_at
	FROM agents AS a JOIN desired_states AS h ON h.install_id = a.install_id
	JOIN deployments AS d ON d.install_id = a.install_id WHERE a.id IN ({})`, "?")

// polledOf reads where the deployments of agents are at, by agent, those that exist.
func polledOf(ctx context.Context, t *Tx, agents []string) (map[string]port.Polled, error) {
	out := make(map[string]port.Polled, len(agents))
	err := readKeys(ctx, t, readPolls, agents, func(rows *sql.Rows) error {
		var agent string
		var p port.Polled
		var review instant
		err := rows.Scan(&agent, &p.InstallID, &p.PublicKey, &p.Instance, &p.Revision, &p.Digest, &p.Frozen, &review)
		p.ReviewAt = time.Time(review)
		out[agent] = p
		return err
	})
	return out, err
}
