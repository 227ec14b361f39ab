package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// leaseCount is this replica's count of all leases (P9). It begins anew with the process.
type leaseCount struct {
	mu    sync.Mutex
	watch *placement.Watch
}

type counted struct {
	node string
	mark placement.Mark
	live bool
}

// observe notes the leases as read just before now, and returns the live ones that ran out. Lapsed ones are counted
// too: what rests on a lapse rests on this replica's own count of it.
func (l *leaseCount) observe(terms placement.LeaseTerms, leases []counted, now time.Duration) []counted {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil {
		l.watch = placement.NewWatch(terms)
	}
	var out []counted
	for _, c := range leases {
		l.watch.Observe(c.node, c.mark, now)
		if c.live && l.watch.RanOut(c.node, c.mark, now) {
			out = append(out, c)
		}
	}
	return out
}

func (l *leaseCount) forget(seen map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch != nil {
		l.watch.Forget(func(node string) bool { return seen[node] })
	}
}

// doubt makes a lapsed lease count as live unless this replica counted its row, as it now is, out (P9).
func (l *leaseCount) doubt(lease *placement.Lease, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil || !l.watch.RanOut(lease.Record().Node, lease.Mark(), now) {
		lease.Doubt()
	}
}

// SweepLeases counts every lease on this replica's monotonic clock, and records those that ran out (P9). It never
// compares wall clocks. It is to run several times within a lease's margin: a lease is seen to run out at the first
// sweep after its count.
func (f *Fleet) SweepLeases(ctx context.Context) error {
	seen := map[string]bool{}
	var errs []error
	err := store.EachPage(
		func(p store.Page) ([]placement.Candidate, error) { return f.candidates(ctx, p) }, candidateKey,
		func(page []placement.Candidate) error {
			var leases []counted
			for _, c := range page {
				leases = append(leases, counted{candidateKey(c), c.Lease.Mark(), c.Lease.Live()})
				seen[candidateKey(c)] = true
			}
			// The clock is read after the rows: a count that began before a beat it has not seen would be too short.
			for _, c := range f.leases.observe(f.Settings.Lease, leases, f.Clock.Elapsed()) {
				errs = append(errs, f.lapse(ctx, c))
			}
			return ctx.Err()
		})
	if err == nil {
		f.leases.forget(seen)
	}
	return errors.Join(append(errs, err)...)
}

func (f *Fleet) candidates(ctx context.Context, p store.Page) (page []placement.Candidate, err error) {
	err = f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		page, err = r.Nodes.Candidates(ctx, "", p)
		return err
	})
	return page, err
}

// lapse records that the lease counted at its mark ran out, unless the node was heard of since.
func (f *Fleet) lapse(ctx context.Context, c counted) error {
	err := f.commit(ctx, itself("leases"), store.Ticket{}, func(ctx context.Context, w *work) error {
		lease, err := w.Leases.Get(ctx, c.node)
		if err != nil {
			return err
		}
		if !lease.Live() {
			return nil
		}
		if err := lease.Lapse(c.mark); err != nil {
			return err
		}
		if err := w.Leases.Save(ctx, lease); err != nil {
			return err
		}
		w.hint(nodeTopic(c.node))
		return w.note(ctx, "node.lease_lapsed", "node/"+c.node, map[string]string{
			"generation": strconv.FormatInt(c.mark.Generation, 10), "sequence": strconv.FormatInt(c.mark.Sequence, 10),
			"epoch": strconv.FormatInt(lease.Record().Epoch, 10),
		})
	})
	if err == nil || fault.SlugOf(err) == "lease_renewed" {
		return nil
	}
	return fmt.Errorf("the lease of node %s: %w", c.node, err)
}
