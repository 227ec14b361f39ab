package store

import (
	"context"
	"errors"

	"berth/domain/placement"
	port "berth/ports/store"
)

// Run runs fn in one transaction on the primary: a write transaction that commits when fn returns nil, or a view.
type Run func(ctx context.Context, fn func(ctx context.Context, t *Tx) error) error

// Enter runs fn as the port has it: within it nothing else begins.
func (run Run) Enter(ctx context.Context, fn func(context.Context, *port.Roles) error) error {
	ctx, err := port.Enter(ctx)
	if err != nil {
		return err
	}
	return run(ctx, func(ctx context.Context, t *Tx) error { return fn(ctx, t.Roles()) })
}

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
	unknown  bool // there is no such node
	panicked any  // what decide panicked with
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
	if c != nil && c.asked.panicked != nil {
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
	err := b.commit(claim, false)
	if errors.Is(err, errReplay) {
		return b.commit(claim, true)
	}
	return err
}

var (
	// errReplay is that a ticket was found spent only as it was to be spent.
	errReplay   = errors.New("a ticket was spent before")
	errPanicked = errors.New("the caller panicked")
)

// commit is one transaction. A round that is not careful does not look for spent tickets before it decides: they are
// rare, and their insertion tells.
func (b *Beats) commit(claim func() *beatRound, careful bool) error {
	return b.write(context.Background(), func(ctx context.Context, t *Tx) error {
		r := claim()
		err := decideAll(ctx, t, r, careful)
		if !errors.Is(err, errReplay) {
			r.settle()
		}
		return err
	})
}

func decideAll(ctx context.Context, t *Tx, r *beatRound, careful bool) error {
	at, err := readBeats(ctx, t, r, careful)
	if err != nil {
		return err
	}
	for _, c := range r.calls {
		c.answer, c.err = at.take(&c.asked)
	}
	if err := at.write(ctx, t); err != nil || careful {
		return err
	}
	return refuseSpent(ctx, t, r)
}

// refuseSpent tells those that were refused that their ticket was spent, where it was: that goes before what else is
// wrong.
func refuseSpent(ctx context.Context, t *Tx, r *beatRound) error {
	var tickets tuples
	for _, c := range r.calls {
		if k := c.asked.ticket; c.err != nil && k != (port.Ticket{}) {
			tickets = append(tickets, []any{k.Scope, k.Nonce})
		}
	}
	if len(tickets) == 0 {
		return nil
	}
	spent, err := spentOf(ctx, t, tickets)
	if err != nil {
		return err
	}
	for _, c := range r.calls {
		if c.err != nil && !c.asked.unknown && spent[keyOf(c.asked.ticket)] {
			c.err, c.asked.panicked = port.Replayed(), nil
		}
	}
	return nil
}

// beatState is what a round of beats works on, read once and written once.
type beatState struct {
	nodes   map[string]*beatNode
	changed []*beatNode
	spent   map[ticketKey]bool
	spend   []port.Ticket
}

// beatNode is a node and its lease, as the calls before left it.
type beatNode struct {
	node    nodeRow
	lease   leaseRow
	changed bool
}

type ticketKey struct{ scope, nonce string }

func keyOf(t port.Ticket) ticketKey { return ticketKey{t.Scope, t.Nonce} }

// take lets one caller decide, after what those before it in the round left.
func (s *beatState) take(b *beat) (placement.Candidate, error) {
	at, exists := s.nodes[b.node]
	if b.unknown = !exists; b.unknown {
		return placement.Candidate{}, port.Missing("node")
	}
	if s.spent[keyOf(b.ticket)] {
		return placement.Candidate{}, port.Replayed()
	}
	l := at.lease.value()
	if err := b.ask(at.node.value(), l); err != nil {
		return placement.Candidate{}, err
	}
	row := leaseRowOf(l.Record())
	row.Node = b.node
	if err := port.CheckText(row.BootID, row.StorageID, row.Version, row.Advertise); err != nil {
		return placement.Candidate{}, err
	}
	row.BeatAt, row.RegisteredAt = row.BeatAt.kept(), row.RegisteredAt.kept()
	s.keep(at, row)
	if b.ticket != (port.Ticket{}) {
		s.spent[keyOf(b.ticket)] = true
		s.spend = append(s.spend, b.ticket)
	}
	return placement.Candidate{Node: at.node.value(), Lease: row.value()}, nil
}

func (s *beatState) keep(at *beatNode, row leaseRow) {
	at.lease = row
	if !at.changed {
		at.changed = true
		s.changed = append(s.changed, at)
	}
}

// ask runs the caller's own code; its panic is kept for the caller.
func (b *beat) ask(n *placement.Node, l *placement.Lease) (err error) {
	b.panicked = nil
	defer func() {
		if b.panicked = recover(); b.panicked != nil {
			err = errPanicked
		}
	}()
	return b.decide(n, l)
}
