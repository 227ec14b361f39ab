package sqliteengine

import (
	"context"
	"errors"
	"path/filepath"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
)

// Change changes one tenant: its copy where that is, in a transaction of the writer that an open Engine has, so that a
// fence is ordered against every write; and then node.db's mirror of it.
func (d *Disk) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	unlock, err := d.lock(ctx, tenant)
	if err != nil {
		return engine.Kept{}, err
	}
	defer unlock()
	mirrored, known, err := d.node.get(ctx, tenant)
	if err != nil {
		return engine.Kept{}, err
	}
	c := changing{disk: d, mirrored: mirrored, change: change}
	switch err := c.apply(); {
	case c.own != nil:
		return engine.Kept{}, c.own
	case err != nil:
		return engine.Kept{}, settled(of(tenant, d.dir, err))
	}
	if known && c.after == mirrored && c.then == nil {
		return c.after, nil
	}
	// From here on the truth is what it is, and whoever ends the call learns of it by asking again.
	kept, err := d.node.put(ctx, c.after)
	if err == nil && c.then != nil {
		kept, err = c.then(ctx)
	}
	if err != nil {
		return engine.Kept{}, settled(of(tenant, d.dir, err))
	}
	return kept, nil
}

// settled is a fault of Tenants, which knows a full disk as one that does not let it now.
func settled(err error) error {
	if fault.SlugOf(err) == "disk_full" {
		return engine.Away(err)
	}
	return err
}

// changing is one change of a tenant.
type changing struct {
	disk     *Disk
	mirrored engine.Kept
	change   func(*engine.Kept) error

	after engine.Kept                                    // what node.db is to say next
	then  func(ctx context.Context) (engine.Kept, error) // what is to be done once it does
	own   error                                          // of change
}

// apply changes the truth, but for what takes a copy away, which node.db is to know first: after a crash in between there
// is the copy that was to be removed, and never one that is missed.
func (c *changing) apply() error {
	tenant := c.mirrored.Tenant
	is, err := c.disk.present(tenant)
	switch {
	case err != nil:
		return err
	case !is && c.mirrored.Copy.Present:
		return garbled(tenant, errors.New("its directory is gone"))
	case is:
		return c.there()
	}
	after, err := c.judge(c.mirrored)
	if err != nil {
		return err
	}
	c.after = after
	if after.Copy.Present {
		return c.disk.create(after)
	}
	return nil
}

// present says whether there is a copy. A tenant whose id names no directory has none.
func (d *Disk) present(tenant string) (bool, error) {
	home, err := d.home(tenant)
	if err != nil {
		return false, err
	}
	return exists(home)
}

// judge lets the change have its say. Lowering what was seen is not in it: node.db only raises that.
func (c *changing) judge(before engine.Kept) (engine.Kept, error) {
	after := before
	if c.own = c.change(&after); c.own != nil {
		return engine.Kept{}, c.own
	}
	after.Tenant = before.Tenant
	return after, nil
}

// there changes a copy that there is.
func (c *changing) there() error {
	e, release, err := c.disk.writer(c.mirrored.Tenant)
	if err != nil {
		return err
	}
	defer release()
	away := false
	err = e.exclusive(func(r *row) error {
		before := c.mirrored
		before.Copy, before.Sequence = r.Copy, r.sequence
		after, err := c.judge(before)
		if err != nil {
			return err
		}
		if c.after = after; !after.Copy.Present || after.Remade(before) {
			away = true
			e.shut() // no write gets into what is about to go
			return nil
		}
		r.Copy, r.sequence = after.Copy, after.Sequence
		return nil
	})
	if err != nil || !away {
		return err
	}
	made := c.after
	c.after.Copy, c.after.Sequence = placement.Copy{}, 0
	if !made.Copy.Present {
		c.after = made
	}
	c.then = func(ctx context.Context) (engine.Kept, error) { return c.disk.replace(ctx, made) }
	return nil
}

// replace removes a copy, and makes the one that is to be in its place, if there is one.
func (d *Disk) replace(ctx context.Context, made engine.Kept) (engine.Kept, error) {
	if err := d.remove(made.Tenant); err != nil {
		return engine.Kept{}, err
	}
	if made.Copy.Present {
		if err := d.create(made); err != nil {
			return engine.Kept{}, err
		}
	}
	return d.node.put(ctx, made)
}

// writer is the tenant's open Engine, or one that is opened for the moment. The caller holds the tenant.
func (d *Disk) writer(tenant string) (e *Engine, release func(), err error) {
	d.mu.Lock()
	e = d.open[tenant]
	d.mu.Unlock()
	if e != nil {
		return e, func() {
			if e.isShut() {
				_ = e.finish()
			}
		}, nil
	}
	if e, err = d.engine(tenant); err != nil {
		return nil, nil, err
	}
	return e, func() { _ = e.finish() }, nil
}

// engine makes an Engine of what is in a tenant's directory.
func (d *Disk) engine(tenant string) (*Engine, error) {
	home, err := d.home(tenant)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(home, engineFile)
	f, err := openFile(path, tenant)
	if err != nil {
		return nil, lost(tenant, path, err)
	}
	if d.maxPages > 0 {
		if err := f.bound(d.maxPages); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return &Engine{disk: d, tenant: tenant, home: home, file: f, parts: map[string]int64{}}, nil
}
