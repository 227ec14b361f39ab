package fleet

import (
	"context"
	"strconv"
	"time"

	"berth/domain/placement"
	"berth/ports/store"
)

// Place gives a new tenant its first place in the caller's transaction, or a place in the queue behind those that wait
// already (P12): the placement is then nil. After its commit the caller hints at tenant/<id> and, where there is a
// placement, at node/<its node>. Faults: NotFound region_not_found; AlreadyExists placement_exists, waiting_exists.
func (f *Fleet) Place(ctx context.Context, r *store.Roles, tenant, region string, now time.Time) (*placement.Placement, error) {
	if _, err := r.Regions.Get(ctx, region); err != nil {
		return nil, err
	}
	w := &work{Roles: r, actor: itself("place"), now: now}
	waiting, err := r.Queue.Oldest(ctx, region, 1)
	if err != nil {
		return nil, err
	}
	if len(waiting) == 0 {
		if p, err := w.place(ctx, tenant, region); p != nil || err != nil {
			return p, err
		}
	}
	if err := r.Queue.Add(ctx, placement.Enqueue(tenant, region, now)); err != nil {
		return nil, err
	}
	return nil, w.note(ctx, "tenant.queued", "tenant/"+tenant, map[string]string{"region": region})
}

// place puts a tenant on the best node of a region; nil where no node takes it.
func (w *work) place(ctx context.Context, tenant, region string) (*placement.Placement, error) {
	best, err := w.choose(ctx, region, "")
	if best == nil || err != nil {
		return nil, err
	}
	p := placement.First(tenant, best.Node, w.now)
	if err := w.Placements.Create(ctx, p); err != nil {
		return nil, err
	}
	if err := w.Nodes.Save(ctx, best.Node); err != nil {
		return nil, err
	}
	at := p.Record()
	w.hint(nodeTopic(at.Node), tenantTopic(tenant))
	return p, w.note(ctx, "tenant.placed", "tenant/"+tenant, map[string]string{
		"node": at.Node, "region": at.HomeRegion, "generation": strconv.FormatInt(at.Generation, 10),
	})
}

// choose picks a node for a tenant of a region, other than except; nil where no node takes it.
func (w *work) choose(ctx context.Context, region, except string) (*placement.Candidate, error) {
	var all []placement.Candidate
	err := store.EachPage(
		func(p store.Page) ([]placement.Candidate, error) { return w.Nodes.Candidates(ctx, region, p) }, candidateKey,
		func(cs []placement.Candidate) error {
			all = append(all, cs...)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return placement.Choose(region, all, except), nil
}
