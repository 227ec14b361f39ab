package watch

import (
	"context"
	"errors"

	"berth/domain/fault"
	"berth/domain/leadership"
	"berth/ports/store"
)

// look renews the leadership where that is due, or claims one that is to be had.
func (l *Leadership) look(ctx context.Context) error {
	now := l.clock.Elapsed()
	if own := l.tenure(); own.Leads(now) {
		if !l.timing.RenewalDue(own, now) {
			return nil
		}
		return l.renew(ctx, own.Number)
	}
	_ = l.end(ctx)
	if free, err := l.free(ctx); err != nil || !free {
		return err
	}
	return l.claim(ctx)
}

var errLate = errors.New("the leadership ended before it was renewed")

// renew says that this replica leads on, or finds that it does not. Where the answer is lost, the next look asks again.
func (l *Leadership) renew(ctx context.Context, number int64) error {
	sent := l.clock.Elapsed()
	err := l.store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		// An attempt that comes after the leadership ended may find the row of a history from which another's claim is lost.
		if !l.Leads() {
			return errLate
		}
		return store.UpdateIn(ctx, store.Aggregate[*leadership.Term](r.Leaders), sweeps, func(t *leadership.Term) error {
			return t.Renew(l.holder, number)
		})
	})
	switch slug := fault.SlugOf(err); {
	case err == nil:
		l.begin(ctx, l.timing.Since(sent, number))
	case slug == "not_leader", slug == "leader_not_found":
		l.lose(ctx, "the database knows another leader, or none")
	case !errors.Is(err, errLate):
		return err
	}
	return nil
}

// free says whether this replica may claim the leadership, and counts it. It writes nothing, so that those who wait cost
// little.
func (l *Leadership) free(ctx context.Context) (free bool, err error) {
	err = l.store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		_, free, err = l.read(ctx, r)
		return err
	})
	return free, err
}

// read returns the term as it is, and whether this replica may claim it. The clock is read after the row: a count that
// began before a renewal it has not seen would be too short.
func (l *Leadership) read(ctx context.Context, r *store.Roles) (*leadership.Term, bool, error) {
	t, err := r.Leaders.Get(ctx, sweeps)
	if fault.SlugOf(err) == "leader_not_found" {
		t, err = leadership.New(sweeps), nil
	}
	if err != nil {
		return nil, false, err
	}
	now := l.clock.Elapsed()
	l.watch.In(r.Origin, now)
	l.watch.Observe(sweeps, t.Mark(), now)
	return t, l.watch.MayClaim(sweeps, l.holder, t.Mark(), now), nil
}

// claim takes the leadership if it is still to be had.
func (l *Leadership) claim(ctx context.Context) error {
	sent, number := l.clock.Elapsed(), int64(0)
	err := l.store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		number = 0
		t, free, err := l.read(ctx, r)
		if err != nil || !free {
			return err
		}
		write := r.Leaders.Save
		if t.Mark() == (leadership.Mark{}) {
			write = r.Leaders.Create
		}
		if err := t.Claim(l.holder, t.Mark()); err != nil {
			return err
		}
		number = t.Record().Number
		return write(ctx, t)
	})
	if fault.SlugOf(err) == "leader_exists" { // another was first
		return nil
	}
	if err != nil || number == 0 {
		return err
	}
	l.begin(ctx, l.timing.Since(sent, number))
	return nil
}

// Resign ends the leadership here first, and then for all. Where the database does not take it, the others find out by
// their count.
func (l *Leadership) Resign(ctx context.Context) {
	own, ok := l.quitted()
	if !ok {
		return
	}
	err := l.store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn(ctx, store.Aggregate[*leadership.Term](r.Leaders), sweeps, func(t *leadership.Term) error {
			return t.Resign(l.holder, own.Number)
		})
	})
	if err != nil {
		l.log.WarnContext(ctx, "the leadership was not handed over; another replica takes it in some seconds", "error", err)
		return
	}
	l.log.InfoContext(ctx, "this replica leads the sweeps no more", "replica", l.holder, "term", own.Number, "why", "it stops")
}
