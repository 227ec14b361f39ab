package store

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

// readBeats reads what the calls of a round decide on.
func readBeats(ctx context.Context, t *Tx, r *beatRound) (*beatState, error) {
	named := map[string]bool{}
	var tickets tuples
	for _, c := range r.calls {
		named[c.asked.node] = true
		if c.asked.ticket != (port.Ticket{}) {
			tickets = append(tickets, []any{c.asked.ticket.Scope, c.asked.ticket.Nonce})
		}
	}
	nodes := slices.Collect(maps.Keys(named))
	s := &beatState{changed: map[string]bool{}}
	var err error
	if s.nodes, err = nodesOf(ctx, t, nodes); err != nil {
		return nil, err
	}
	if s.leases, err = leasesOf(ctx, t, nodes); err != nil {
		return nil, err
	}
	s.spent, err = spentOf(ctx, t, tickets)
	return s, err
}

func (s *beatState) write(ctx context.Context, t *Tx) error {
	if _, err := insert(ctx, t, s.spend); err != nil {
		return err
	}
	leases := make([]leaseRow, 0, len(s.changed))
	for node := range s.changed {
		leases = append(leases, s.leases[node])
	}
	return upsert(ctx, t, "node", leases)
}

// spentOf says which tickets were spent before.
func spentOf(ctx context.Context, t *Tx, tickets tuples) (map[ticketKey]bool, error) {
	out := map[ticketKey]bool{}
	if len(tickets) == 0 {
		return out, nil
	}
	rows, err := many[nonceRow](ctx, t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("(scope, nonce) IN (VALUES ?)", tickets)
	})
	for _, row := range rows {
		out[ticketKey{row.Scope, row.Nonce}] = true
	}
	return out, err
}
