package store

import (
	"context"

	"berth/domain/identity"
	"berth/domain/placement"
	port "berth/ports/store"
)

// Callers is port.Callers: one goroutine reads for the calls that wait together. A round claims its calls before it
// reads, so that each sees what was committed before it was called.
type Callers struct {
	gather *gather[string, callerRow]
}

// NewCallers starts the goroutine that reads through view.
func NewCallers(view Run) *Callers {
	serve := func(claim func() *round[string, callerRow]) error {
		r := claim()
		r.settle()
		return view(context.Background(), func(ctx context.Context, t *Tx) error { return readCallers(ctx, t, r) })
	}
	return &Callers{newGather(most, func(err error) error { return port.Ended(err) }, serve)}
}

// Close answers all that wait and ends the goroutine.
func (c *Callers) Close() { c.gather.close() }

// Caller is as port.Callers has it.
func (c *Callers) Caller(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error) {
	if _, err := port.Enter(ctx); err != nil {
		return nil, 0, err
	}
	if err := port.CheckText(fingerprint); err != nil {
		return nil, 0, err
	}
	found, err := c.gather.do(ctx, fingerprint)
	if err != nil {
		return nil, 0, err
	}
	return found.answer.value(), found.answer.NodeStatus.v, nil
}

func readCallers(ctx context.Context, t *Tx, r *round[string, callerRow]) error {
	asked := make([]string, 0, len(r.calls))
	for _, c := range r.calls {
		asked = append(asked, c.asked)
	}
	found, err := callersOf(ctx, t, asked)
	if err != nil {
		return err
	}
	for _, c := range r.calls {
		row, ok := found[c.asked]
		if c.answer = row; !ok {
			c.err = port.Missing("credential")
		}
	}
	return nil
}
