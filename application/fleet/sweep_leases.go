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

// leaseCount is this replica's count of all leases (P9). It begins anew with the process, and with each history of the
// database: the row of a copy that lagged behind may be one that was counted out before the node got a newer lease.
type leaseCount struct {
	mu    sync.Mutex
	watch *placement.Watch
}

// counted is the row of a lease as it was read.
type counted struct {
	origin string // the history that it was read from
	node   string
	mark   placement.Mark
	live   bool
}

func countedOf(origin string, l *placement.Lease) counted {
	return counted{origin, l.Record().Node, l.Mark(), l.Live()}
}

func (c counted) key() string { return c.node }

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
		l.watch.In(c.origin)
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

// ranOut says whether this replica counted the row out, in the history that it was read from (P9).
func (l *leaseCount) ranOut(c counted, now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil {
		return false
	}
	l.watch.In(c.origin)
	return l.watch.RanOut(c.node, c.mark, now)
}

// doubt makes a lapsed lease count as live unless this replica counted its row, as it now is, out (P9). It is asked in
// the transaction that read the lease and rests on its end.
func (f *Fleet) doubt(w *work, l *placement.Lease) {
	if !f.leases.ranOut(countedOf(w.Origin, l), f.Clock.Elapsed()) {
		l.Doubt()
	}
}

// SweepLeases counts every lease on this replica's monotonic clock, and records those that ran out (P9). It never
// compares wall clocks. It is to run several times within a lease's margin: a lease is seen to run out at the first
// sweep after its count.
func (f *Fleet) SweepLeases(ctx context.Context) error {
	seen := map[string]bool{}
	var errs []error
	err := store.EachPage(
		func(p store.Page) ([]counted, error) { return f.rows(ctx, p) }, counted.key,
		func(page []counted) error {
			for _, c := range page {
				seen[c.node] = true
			}
			// The clock is read after the rows: a count that began before a beat it has not seen would be too short.
			for _, c := range f.leases.observe(f.Settings.Lease, page, f.Clock.Elapsed()) {
				errs = append(errs, f.lapse(ctx, c))
			}
			return ctx.Err()
		})
	if err == nil {
		f.leases.forget(seen)
	}
	return errors.Join(append(errs, err)...)
}

// rows reads a page of leases, by node.
func (f *Fleet) rows(ctx context.Context, p store.Page) (rows []counted, err error) {
	err = f.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		page, err := r.Nodes.Candidates(ctx, "", p)
		rows = make([]counted, 0, len(page))
		for _, c := range page {
			rows = append(rows, countedOf(r.Origin, c.Lease))
		}
		return err
	})
	return rows, err
}

func (f *Fleet) candidates(ctx context.Context, p store.Page) (page []placement.Candidate, err error) {
	err = f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		page, err = r.Nodes.Candidates(ctx, "", p)
		return err
	})
	return page, err
}

// lapse records that the lease counted at its mark ran out, unless the node was heard of since, or may have been, in the
// history that this one came after.
func (f *Fleet) lapse(ctx context.Context, c counted) error {
	err := f.commit(ctx, itself("leases"), store.Ticket{}, func(ctx context.Context, w *work) error {
		lease, err := w.Leases.Get(ctx, c.node)
		if err != nil {
			return err
		}
		if !lease.Live() || c.origin != w.Origin {
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
