package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"berth/adapters/store"
	port "berth/ports/store"
)

// How transactions begin, each in one round trip. To lock a table takes no snapshot, so that what is read is later than
// the lock.
const (
	beginView  = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	serialized = "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE; "
	lockRounds = "LOCK TABLE beat_rounds IN EXCLUSIVE MODE; "
	lockShared = "LOCK TABLE writers IN ROW SHARE MODE"
	lockAlone  = "LOCK TABLE writers IN EXCLUSIVE MODE"

	beginWrite, beginAlone      = serialized + lockShared, serialized + lockAlone
	beginRound, beginRoundAlone = serialized + lockRounds + lockShared, serialized + lockRounds + lockAlone
)

// attempts is how often a transaction is run. All but the first run alone, so that only strangers to this program can
// make one fail for them.
const attempts = 5

var errContended = errors.New("others came first each time")

// Atomically is as the port has it.
func (s *Store) Atomically(ctx context.Context, fn func(context.Context, *port.Roles) error) error {
	run := s.write(s.writers, beginWrite, beginAlone)
	return store.Run(func(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
		defer s.turn(ctx)()
		return run(ctx, fn)
	}).Enter(ctx, fn)
}

// courtesy is how long a write waits for the one before it in this process: several times what one takes that waits for
// nobody.
const courtesy = 50 * time.Millisecond

// turn lets the writes of this process follow one another, and returns what ends one. Nearly all write the head of the
// audit log, and of two at once the database would give one up. A write that waits for another process holds nobody up:
// its turn is over after a while.
func (s *Store) turn(ctx context.Context) (done func()) {
	done = func() { <-s.turns }
	select {
	case s.turns <- struct{}{}:
		return done
	default:
	}
	timer := time.NewTimer(courtesy)
	defer timer.Stop()
	select {
	case s.turns <- struct{}{}:
		return done
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// View is as the port has it.
func (s *Store) View(ctx context.Context, fn func(context.Context, *port.Roles) error) error {
	return store.Run(s.view).Enter(ctx, fn)
}

// write runs transactions on connections of p, again and alone where one was given up for the sake of another.
func (s *Store) write(p *store.Pool[*session], begin, beginAlone string) store.Run {
	return func(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
		again, err := s.attempt(ctx, p, begin, fn)
		for range attempts - 1 {
			if !again {
				return err
			}
			again, err = s.attempt(ctx, p, beginAlone, fn)
		}
		if again {
			return port.Away(errContended)
		}
		return err
	}
}

// attempt is one transaction; again says that it was given up for the sake of another, whatever fn made of that.
func (s *Store) attempt(ctx context.Context, p *store.Pool[*session], begin string, fn func(context.Context, *store.Tx) error,
) (again bool, err error) {
	began := false
	err = s.within(ctx, p, begin, func(on *session) error {
		began = true
		t := store.NewTx(on.session(false), on)
		err := t.Run(ctx, fn)
		if again = contended(t.Broken()); again || err != nil {
			return err
		}
		if err := on.current(ctx); err != nil {
			return err
		}
		err = on.commit()
		again = contended(err)
		return err
	})
	return again || !began && contended(err), err
}

// view runs fn on one state of the primary.
func (s *Store) view(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
	return s.within(ctx, s.readers, beginView, func(on *session) error {
		if err := store.NewTx(on.session(true), on).Run(ctx, fn); err != nil {
			return err
		}
		return on.passed()
	})
}

// single runs fn, which asks one question and may ask it again, without a transaction around it. It is asked again where
// the connection died, which it may have done while it was idle; so may each of the others.
func (s *Store) single(ctx context.Context, fn func(context.Context, *store.Tx) error) (err error) {
	for range s.options.Callers + 1 {
		var died bool
		err = s.within(ctx, s.callers, "", func(on *session) error {
			if err := store.NewTx(on.session(true), on).Run(ctx, fn); err != nil {
				died = on.raw.IsClosed()
				return err
			}
			return on.passed()
		})
		if !died || hung(err) {
			return err
		}
	}
	return err
}

// within runs fn in a transaction, which it may commit. Whatever else happens, a panic and the end of the goroutine
// too, rolls it back.
func (s *Store) within(ctx context.Context, p *store.Pool[*session], begin string, fn func(*session) error) error {
	on, err := s.begin(ctx, p, begin)
	if err != nil {
		return err
	}
	defer p.Give(on)
	defer on.rollback()
	return fn(on)
}

// begin begins a transaction. A connection that died while it was idle is no reason to fail: the next is tried.
func (s *Store) begin(ctx context.Context, p *store.Pool[*session], begin string) (*session, error) {
	for {
		on, err := p.Take(ctx)
		if err != nil {
			return nil, err
		}
		reused := on.used
		if err = on.begin(ctx, begin); err == nil {
			return on, nil
		}
		died := reused && on.raw.IsClosed()
		on.rollback()
		p.Give(on)
		if !died || hung(err) {
			return nil, classify(err)
		}
	}
}

// hung says whether a server did not answer in time; another connection to it would not either.
func hung(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) || timedOut(err)
}

// begin begins on a schema that was found to be one that can be worked with.
func (s *session) begin(ctx context.Context, statement string) error {
	if doubts := s.store.doubts.Load(); s.judged != doubts {
		if err := s.store.judge(ctx, s); err != nil {
			return err
		}
		s.judged = doubts
	}
	if statement == "" {
		return nil
	}
	_, err := s.control(statement)
	return err
}

// current refuses to commit what nobody waits for any more, and what another server would not know.
func (s *session) current(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return port.Ended(err)
	}
	return s.passed()
}

func (s *session) passed() error {
	if s.store.watch.passed(s.server) {
		return port.Away(errPassed)
	}
	return nil
}

var (
	errRolledBack = errors.New("the database rolled back instead")
	errWarned     = errors.New("the database warned of the commit")
)

// commit ends the transaction. A warning is how the server says that it waited no longer for its synchronous standby.
func (s *session) commit() error {
	s.warned() // of what came before
	tag, err := s.control("COMMIT")
	switch {
	case err != nil:
		return unsettled(err)
	case s.warned():
		return port.Unknown(errWarned)
	case tag != "COMMIT":
		return port.Away(errRolledBack)
	}
	return nil
}

// rollback ends what is still open.
func (s *session) rollback() {
	if s.raw.IsClosed() || s.raw.TxStatus() == 'I' {
		return
	}
	if _, err := s.control("ROLLBACK"); err != nil {
		s.failed = true
	}
}
