package store

import (
	"context"
)

func readBeats(ctx context.Context, t *Tx, r *beatRound) (*beatState, error) {
	s := &beatState{changed: map[string]bool{}, spent: map[ticketKey]bool{}}
	return s, nil
}

func (s *beatState) write(ctx context.Context, t *Tx) error { return nil }
