package store

import (
	"context"

	port "berth/ports/store"
)

// shared lets calls that wait at the same time share one query by key. A round claims its calls before it reads, so that
// each sees what was committed before it was called.
type shared[A any] struct {
	gather *gather[string, A]
}

// newShared starts the goroutine that reads through view. absent is the fault of a key that read does not find; nil
// where it is no fault.
func newShared[A any](
	view Run, read func(ctx context.Context, t *Tx, keys []string) (map[string]A, error), absent func() error,
) *shared[A] {
	serve := func(claim func() *round[string, A]) error {
		r := claim()
		r.settle()
		return view(context.Background(), func(ctx context.Context, t *Tx) error {
			keys := make([]string, 0, len(r.calls))
			for _, c := range r.calls {
				keys = append(keys, c.asked)
			}
			found, err := read(ctx, t, keys)
			if err != nil {
				return err
			}
			for _, c := range r.calls {
				answer, exists := found[c.asked]
				if c.answer, c.err = answer, nil; !exists {
					c.err = absent()
				}
			}
			return nil
		})
	}
	return &shared[A]{newGather(most, func(err error) error { return port.Ended(err) }, serve)}
}

func (s *shared[A]) of(ctx context.Context, key string) (answer A, err error) {
	if _, err := port.Enter(ctx); err != nil {
		return answer, err
	}
	if err := port.CheckText(key); err != nil {
		return answer, err
	}
	found, err := s.gather.do(ctx, key)
	if err != nil {
		return answer, err
	}
	return found.answer, nil
}
