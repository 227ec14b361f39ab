package store

import (
	"context"

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
