package store

import (
	"context"

	"berth/domain/placement"
	port "berth/ports/store"
)

// Run runs fn in one transaction on the primary: a write transaction that commits when fn returns nil, or a view.
type Run func(ctx context.Context, fn func(ctx context.Context, t *Tx) error) error

// Decision is what a heartbeat does to the lease of its node.
type Decision = func(*placement.Node, *placement.Lease) error

// most is how many calls share a round.
const most = 256

// Beats is port.Beats: one goroutine commits the heartbeats that wait together.
type Beats struct {
	gather *gather[beat, placement.Candidate]
	write  Run
}

type beat struct {
	node     string
	ticket   port.Ticket
	decide   Decision
	panicked any
	left     bool // decide ended its goroutine, or panicked
}

// NewBeats starts the goroutine that commits through write.
func NewBeats(write Run) *Beats {
	b := &Beats{write: write}
	b.gather = newGather(most, func(err error) error { return port.Unknown(err) }, b.serve)
	return b
}

// Close answers all that wait and ends the goroutine.
func (b *Beats) Close() { b.gather.close() }

// Beat is as port.Beats has it.
func (b *Beats) Beat(ctx context.Context, node string, ticket port.Ticket, decide Decision) (placement.Candidate, error) {
	if _, err := port.Enter(ctx); err != nil {
		return placement.Candidate{}, err
	}
	if err := port.CheckText(node); err != nil {
		return placement.Candidate{}, err
	}
	if err := checkTicket(ticket); err != nil {
		return placement.Candidate{}, err
	}
	c, err := b.gather.do(ctx, beat{node: node, ticket: ticket, decide: decide})
	if c != nil && c.asked.left {
		panic(c.asked.panicked)
	}
	if err != nil {
		return placement.Candidate{}, err
	}
	return c.answer, nil
}

type beatRound = round[beat, placement.Candidate]

// serve commits one round. A caller is refused only once the state that refused it is durable.
func (b *Beats) serve(claim func() *beatRound) error {
	return b.write(context.Background(), func(ctx context.Context, t *Tx) error {
		r := claim()
		err := settle(ctx, t, r)
		r.settle()
		return err
	})
}

func settle(ctx context.Context, t *Tx, r *beatRound) error {
	at, err := readBeats(ctx, t, r)
	if err != nil {
		return err
	}
	for _, c := range r.calls {
		c.answer, c.err = at.take(&c.asked)
	}
	return at.write(ctx, t)
}

// beatState is what a round of beats works on, read once and written once.
type beatState struct {
	nodes   map[string]nodeRow
	leases  map[string]leaseRow
	spent   map[ticketKey]bool
	changed map[string]bool
	spend   []nonceRow
}

type ticketKey struct{ scope, nonce string }

func keyOf(t port.Ticket) ticketKey { return ticketKey{t.Scope, t.Nonce} }

// take lets one caller decide, after what those before it in the round left.
func (s *beatState) take(b *beat) (placement.Candidate, error) {
	node, exists := s.nodes[b.node]
	lease, leased := s.leases[b.node]
	if !exists || !leased {
		return placement.Candidate{}, port.Missing("node")
	}
	if s.spent[keyOf(b.ticket)] {
		return placement.Candidate{}, port.Replayed()
	}
	l := lease.value()
	if err := b.ask(node.value(), l); err != nil {
		return placement.Candidate{}, err
	}
	row := leaseRowOf(l.Record())
	row.Node = b.node
	if err := port.CheckText(row.BootID, row.StorageID, row.Version, row.Advertise); err != nil {
		return placement.Candidate{}, err
	}
	row.BeatAt, row.RegisteredAt = row.BeatAt.kept(), row.RegisteredAt.kept()
	s.leases[b.node], s.changed[b.node] = row, true
	if b.ticket != (port.Ticket{}) {
		s.spent[keyOf(b.ticket)] = true
		s.spend = append(s.spend, nonceRowOf(b.ticket))
	}
	return placement.Candidate{Node: node.value(), Lease: row.value()}, nil
}

// ask runs the caller's own code; its panic is kept for the caller.
func (b *beat) ask(n *placement.Node, l *placement.Lease) (err error) {
	b.left = true
	defer func() {
		if b.left {
			b.panicked = recover()
			err = port.Ended(nil)
		}
	}()
	err = b.decide(n, l)
	b.left = false
	return err
}
