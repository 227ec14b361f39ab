package fleet

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// NodesRequest asks for nodes.
type NodesRequest struct {
	Region string // empty for all
	Page   store.Page
}

// Nodes lists nodes with their leases, by id.
func (f *Fleet) Nodes(ctx context.Context, in NodesRequest) (store.List[placement.Candidate], error) {
	var out store.List[placement.Candidate]
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = store.Listed(in.Page, func(p store.Page) ([]placement.Candidate, error) {
			return r.Nodes.Candidates(ctx, in.Region, p)
		}, candidateKey)
		return err
	})
	return out, err
}

func candidateKey(c placement.Candidate) string { return c.Node.Record().ID }
