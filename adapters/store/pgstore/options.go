package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"berth/domain/fault"
	port "berth/ports/store"
)

// Options are what may be chosen. The zero Options are good.
type Options struct {
	Writers int // connections for write transactions; 4 where it is 0
	Readers int // connections for views; 8 where it is 0
	Callers int // connections for Caller, Pulse and Poll; 2 where it is 0. Heartbeats have one more.

	// StatementTimeout is what one statement may take; 5 s where it is 0.
	StatementTimeout time.Duration
	// LockTimeout is how long a statement waits for another transaction's lock, and a call for a free connection; 2.5 s
	// where it is 0.
	LockTimeout time.Duration
	// Password is asked for the password of each new connection, so that it can be changed while the store is open. Where
	// it is nil, the DSN's counts, or what libpq's environment and files say.
	Password func() (string, error)
	// ConnectTimeout is what connecting to one host may take; where it is 0, what the DSN says, or else 5 s.
	ConnectTimeout time.Duration
}

func (o Options) orDefaults() Options {
	o.Writers, o.Readers, o.Callers = atLeast(o.Writers, 4), atLeast(o.Readers, 8), atLeast(o.Callers, 2)
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 5 * time.Second
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 2500 * time.Millisecond
	}
	return o
}

func atLeast(size, otherwise int) int {
	if size < 1 {
		return otherwise
	}
	return size
}

// authenticate gives a connection that is to be made the password of this moment. Whatever keeps it from being read, to
// the caller the database is away; the cause is for the log.
func (o Options) authenticate(_ context.Context, c *pgx.ConnConfig) error {
	if o.Password == nil {
		return nil
	}
	password, err := o.Password()
	if err != nil {
		return fault.New(fault.Unavailable, "database_password_unreadable", "the password of the database can not be read").
			After(port.RefusedAfter).Because(err)
	}
	c.Password = password
	return nil
}

// mostIdle is how long a transaction may stand still: a process that was stopped in the midst of one holds up others,
// heartbeats among them, which must not take as long as a lease.
const mostIdle = 5 * time.Second

// grace is how much later than the server the client gives a statement up.
const grace = 2 * time.Second

func (o Options) deadline() time.Duration { return max(o.StatementTimeout, o.LockTimeout) + grace }
