package sqlitestore

import (
	"context"

	codes "modernc.org/sqlite/lib"

	"berth/adapters/store"
	port "berth/ports/store"
)

// Atomically is as the port has it. fn is called once.
func (s *Store) Atomically(ctx context.Context, fn func(context.Context, *port.Roles) error) error {
	return s.whole(writeTo).Enter(ctx, fn)
}

// View is as the port has it.
func (s *Store) View(ctx context.Context, fn func(context.Context, *port.Roles) error) error {
	return s.whole(readFrom).Enter(ctx, fn)
}

// writeTo runs fn while it holds the database's one writer.
func writeTo(ctx context.Context, c *connections, fn func(context.Context, *store.Tx) error) error {
	return within(ctx, c.writer, "BEGIN IMMEDIATE", func(on *session) (err error) {
		if err := store.NewTx(c.session(false), on).Run(ctx, fn); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return port.Ended(err)
		}
		return on.commit()
	})
}

// readFrom runs fn on the state of the last commit.
func readFrom(ctx context.Context, c *connections, fn func(context.Context, *store.Tx) error) error {
	return within(ctx, c.readers, "BEGIN", func(on *session) error {
		return store.NewTx(c.session(true), on).Run(ctx, fn)
	})
}

// within runs fn in a transaction, which it may commit. Whatever else happens, a panic and the end of the goroutine
// too, rolls it back.
func within(ctx context.Context, p *store.Pool[*session], begin string, fn func(*session) error) error {
	s, err := p.Take(ctx)
	if err != nil {
		return err
	}
	defer p.Give(s)
	defer s.rollback()
	s.open = true // from here on: where the context ends meanwhile, the driver says so, though it may have begun
	if err := s.control(ctx, begin); err != nil {
		return classify(err)
	}
	return fn(s)
}

// commit does not watch the context: a commit that was begun is seen to its end.
func (s *session) commit() error {
	if err := s.control(context.Background(), "COMMIT"); err != nil {
		return unsettled(err)
	}
	s.open = false
	return nil
}

// rollback ends what is still open. SQLite rolls back by itself after some faults and then has nothing to end.
func (s *session) rollback() {
	if !s.open {
		return
	}
	s.open = false
	if err := s.control(context.Background(), "ROLLBACK"); err != nil {
		if code, found := codeOf(err); !found || code != codes.SQLITE_ERROR {
			s.failed = true
		}
	}
}
