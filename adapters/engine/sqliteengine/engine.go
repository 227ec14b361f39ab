package sqliteengine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"berth/ports/engine"
)

// Engine is one tenant's Engine. It has a connection that writes and, from the first time that somebody reads, one that
// reads beside it.
type Engine struct {
	disk   *Disk
	tenant string
	home   string
	file   *file

	mu      sync.Mutex
	closed  bool
	running bool
	queue   []waiting
	queued  int              // bytes of bodies
	parts   map[string]int64 // uploads of which a part is on its way, and how far that goes
	hands   sync.WaitGroup   // the one goroutine that commits, while there is something to

	files sync.RWMutex // held by whoever touches a file, and last by whoever closes the Engine
	rooms sync.Mutex   // held while room is looked for

	ends     sync.Once
	endError error

	reading reader
}

var _ engine.Engine = (*Engine)(nil)

// Open opens the Engine of a tenant of which there is a copy.
func (d *Disk) Open(ctx context.Context, tenant string) (engine.Engine, error) {
	unlock, err := d.lock(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e, err := d.opened(ctx, tenant)
	if err != nil {
		return nil, of(tenant, d.dir, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[tenant] = e
	return e, nil
}

func (d *Disk) opened(ctx context.Context, tenant string) (*Engine, error) {
	d.mu.Lock()
	before := d.open[tenant]
	d.mu.Unlock()
	if before != nil {
		return nil, engine.Away(errors.New("the tenant's Engine is open"))
	}
	is, err := d.present(tenant)
	if err != nil {
		return nil, err
	}
	if !is {
		mirrored, _, err := d.node.get(ctx, tenant)
		switch {
		case err != nil:
			return nil, err
		case mirrored.Copy.Present:
			return nil, garbled(tenant, errors.New("its directory is gone"))
		}
		return nil, engine.Missing(tenant)
	}
	e, err := d.engine(tenant)
	if err != nil {
		return nil, err
	}
	if err := e.tidy(); err != nil {
		return nil, errors.Join(err, e.file.close())
	}
	return e, nil
}

// usable says why the Engine can not be used.
func (e *Engine) usable() error {
	if e.isShut() {
		return engine.Closed()
	}
	return nil
}

func (e *Engine) isShut() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// shut lets nothing in any more.
func (e *Engine) shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// onFiles does something with the Engine's files beside engine.db, while it is open: what lies there later is of another.
func (e *Engine) onFiles(do func() error) error {
	e.files.RLock()
	defer e.files.RUnlock()
	if err := e.usable(); err != nil {
		return err
	}
	return do()
}

// fault is the fault behind an error of the Engine's files.
func (e *Engine) fault(err error) error { return of(e.tenant, e.home, err) }

// exclusive gives fn the copy's row in a transaction apart from every other.
func (e *Engine) exclusive(fn func(*row) error) error {
	e.file.mu.Lock()
	defer e.file.mu.Unlock()
	return e.file.within(fn)
}

// write is exclusive as long as the Engine is open.
func (e *Engine) write(ctx context.Context, fn func(*row) error) error {
	if ctx.Err() != nil {
		return engine.Ended(context.Cause(ctx))
	}
	e.file.mu.Lock()
	defer e.file.mu.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	return e.fault(e.file.within(fn))
}

// Usage is what the tenant takes.
func (e *Engine) Usage(ctx context.Context) (u engine.Usage, err error) {
	err = e.reading.within(ctx, e, func(s *reader) error {
		is, err := s.usage.one()
		if err == nil && is != nil {
			u = engine.Usage{Messages: number(is[0]), Attachments: number(is[1]), Bytes: number(is[2]), Sequence: number(is[3])}
		}
		return err
	})
	return u, err
}

// Bury remembers a revocation.
func (e *Engine) Bury(ctx context.Context, t engine.Tombstone) error {
	return e.write(ctx, func(r *row) error {
		r.beside = true
		_, err := e.file.addTombstone.exec(t.Principal, t.Revision)
		return err
	})
}

// Close ends what waits and lets go of every file; what is committed already is answered first.
func (e *Engine) Close() error {
	e.shut()
	unlock, err := e.disk.lock(context.Background(), e.tenant)
	if err != nil {
		return err
	}
	defer unlock()
	return e.finish()
}

// finish lets go of everything, once. The caller holds the tenant.
func (e *Engine) finish() error {
	e.ends.Do(func() {
		e.shut()
		e.hands.Wait()
		e.files.Lock()   // whoever is at a file is done with it, and nobody else comes
		e.files.Unlock() //nolint:staticcheck // that is all
		e.endError = errors.Join(e.reading.close(), e.file.close())
		e.disk.mu.Lock()
		defer e.disk.mu.Unlock()
		if e.disk.open[e.tenant] == e {
			delete(e.disk.open, e.tenant)
		}
	})
	return e.endError
}

// bound sets how large the file may become; for tests.
func (f *file) bound(pages int64) error {
	s, err := f.conn.prepare(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	if err != nil {
		return err
	}
	_, err = s.one()
	return err
}

func (e *Engine) path(names ...string) string {
	return filepath.Join(append([]string{e.home}, names...)...)
}
