package sqliteengine

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"berth/domain/stream"
	"berth/ports/engine"
)

// reader is the connection that reads beside the writer. It is opened when it is first needed.
type reader struct {
	mu     sync.Mutex
	conn   *conn
	closed bool

	route, head, messages, usage, attachment, tombstones *statement
}

// within gives fn the connection, for what it reads of one moment in a statement each.
func (s *reader) within(ctx context.Context, e *Engine, fn func(*reader) error) error {
	if ctx.Err() != nil {
		return engine.Ended(context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || e.isShut() {
		return engine.Closed()
	}
	if err := s.ready(e.path(engineFile)); err != nil {
		return e.fault(err)
	}
	return e.fault(fn(s))
}

func (s *reader) ready(path string) error {
	if s.conn != nil {
		return nil
	}
	c, err := dial(path, readerCache, "query_only(1)")
	if err != nil {
		return err
	}
	if err := c.prepared(map[string]**statement{
		selectRoute: &s.route, selectHead: &s.head, selectMessages: &s.messages, selectUsage: &s.usage,
		selectAttachment: &s.attachment, selectTombstones: &s.tombstones,
	}); err != nil {
		return errors.Join(err, c.close())
	}
	s.conn = c
	return nil
}

func (s *reader) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn == nil {
		return nil
	}
	return s.conn.close()
}

// Read returns messages of a route.
func (e *Engine) Read(ctx context.Context, r engine.Range) (out []engine.Message, err error) {
	first, last := max(r.After, 0), min(r.UpTo, stream.MaxSequence)
	if first >= last {
		return nil, e.ask(ctx)
	}
	err = e.reading.within(ctx, e, func(s *reader) error {
		is, err := s.route.one(r.Route)
		if err != nil || is == nil {
			return err
		}
		route, bytes := number(is[0])<<sequenceBits, 0
		return s.messages.each(func(row []driver.Value) bool {
			m := engine.Message{
				Route: r.Route, Seq: number(row[0]) &^ route, ID: text(row[1]), From: text(row[2]), At: instant(row[3]), Body: blob(row[4]),
			}
			if bytes += m.Size(); bytes > r.Bytes && len(out) > 0 {
				return false
			}
			out = append(out, m)
			return true
		}, route|first, route|last)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ask says whether there is an Engine to ask.
func (e *Engine) ask(ctx context.Context) error {
	if ctx.Err() != nil {
		return engine.Ended(context.Cause(ctx))
	}
	return e.usable()
}

// Head is the last sequence of a route.
func (e *Engine) Head(ctx context.Context, route string) (head int64, err error) {
	err = e.reading.within(ctx, e, func(s *reader) error {
		is, err := s.head.one(route)
		if err == nil && is != nil {
			head = number(is[0])
		}
		return err
	})
	return head, err
}

// Buried are the revocations.
func (e *Engine) Buried(ctx context.Context) (out []engine.Tombstone, err error) {
	err = e.reading.within(ctx, e, func(s *reader) error {
		return s.tombstones.each(func(row []driver.Value) bool {
			out = append(out, engine.Tombstone{Principal: text(row[0]), Revision: number(row[1])})
			return true
		})
	})
	return out, err
}
