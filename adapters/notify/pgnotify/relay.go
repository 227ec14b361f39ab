package pgnotify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"berth/domain/fault"
	"berth/ports/notify"
)

// channel is the same for every installation; the package's documentation says what that means.
const channel = "berth_hints"

// Local is who waits in this process.
type Local interface {
	notify.Publisher
	notify.Waker
}

// Options are a relay's.
type Options struct {
	Local Local        // required
	Log   *slog.Logger // slog.Default where nil
	// Password is asked for the password of each new connection; where it is nil, the DSN's counts, or what libpq's
	// environment and files say.
	Password func() (string, error)
	Limits   Limits
	Timing   Timing
}

// Limits bounds what waits to be sent. A field that is zero has its default.
type Limits struct {
	Topics int // 10,000
	Bytes  int // of topics, together: 1 MiB
}

// Timing is how patient the relay is. A field that is zero has its default.
type Timing struct {
	Gap        time.Duration // 2 ms, from the end of one sending to the next: what is published within goes together
	Answer     time.Duration // 3 s for the server to answer a statement, or an echo to come back
	Silence    time.Duration // 5 s without a word until the server is asked for one
	Connect    time.Duration // 3 s for each host to take a connection, the DSN's connect_timeout where that is less
	RetryLeast time.Duration // 100 ms, from a loss to the first attempt; doubled with each that fails
	RetryMost  time.Duration // 5 s
	WakeOver   time.Duration // 1 s, over which a wake of everybody is spread; no two begin within it
}

// Relay is a notify.Publisher that reaches the waiters of every replica. Use Open. Its methods are safe for concurrent use.
type Relay struct {
	options Options
	timing  Timing
	config  *pgconn.Config
	id      string // of this process among the channel's senders
	number  atomic.Uint64
	queue   *queue
	wakes   chan struct{} // holds one while a wake of everybody is due
	echo    echo
	counts  counts

	stop context.CancelFunc
	done sync.WaitGroup
}

var _ notify.Publisher = (*Relay)(nil)

// Open starts a relay on the database that the DSN names (a postgres:// URL or key=value pairs, as libpq reads them, with
// several hosts where there are standbys). It waits for no server, and none needs to be there: hints of this process reach
// its own waiters all the same. Invalid dsn_malformed where the DSN can not be read.
func Open(dsn string, o Options) (*Relay, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil || misplacedAt(cfg) { // the error's text may hold a password
		return nil, fault.New(fault.Invalid, "dsn_malformed", "the DSN of the database can not be read").
			Curable("use postgres://user:password@host:port/database?sslmode=verify-full, and %%XX for signs within a part")
	}
	o.Limits, o.Timing = o.Limits.orDefault(), o.Timing.orDefault()
	if o.Log == nil {
		o.Log = slog.Default()
	}
	session(cfg, o.Timing)
	ctx, stop := context.WithCancel(context.Background())
	r := &Relay{
		options: o, timing: o.Timing, config: cfg, id: newID(), queue: newQueue(o.Limits.Topics, o.Limits.Bytes),
		wakes: make(chan struct{}, 1), stop: stop,
	}
	r.counts.sending.name, r.counts.listening.name = "sending", "listening"
	r.done.Go(func() { r.keep(ctx, &r.counts.sending, r.send) })
	r.done.Go(func() { r.keep(ctx, &r.counts.listening, r.listen) })
	r.done.Go(func() { r.wakeEverybody(ctx) })
	return r, nil
}

// Publish wakes who waits here, and queues the topics for the other replicas, whatever the context says. It waits for
// nothing but the local publisher.
func (r *Relay) Publish(ctx context.Context, topics ...notify.Topic) {
	r.options.Local.Publish(ctx, topics...)
	r.queue.put(topics...)
}

// Close ends both connections. What is queued is sent if that takes no time to speak of. Later hints reach only who waits
// here. Closing twice is harmless.
func (r *Relay) Close() {
	r.stop()
	r.done.Wait()
}

// session sets what holds for both connections. Only a primary can notify or listen.
func session(cfg *pgconn.Config, t Timing) {
	cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	cfg.MaxProtocolMessageBodyLen = 1 << 20
	if cfg.ConnectTimeout <= 0 || cfg.ConnectTimeout > t.Connect {
		cfg.ConnectTimeout = t.Connect
	}
	for _, name := range []string{"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity"} {
		delete(cfg.RuntimeParams, name) // which a DSN tells the driver, and no server knows
	}
	// Not as the connection starts: a pooler may refuse what it does not know there.
	settings := fmt.Sprintf(settings, max(1, t.Answer.Milliseconds()))
	cfg.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if _, err := conn.Exec(ctx, settings).ReadAll(); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, unread).ReadAll()
		if conn.IsClosed() {
			return err
		}
		return nil // not every system that Postgres runs on has such a timeout
	}
}

const (
	// settings leave nothing to wait for while the cluster's lock is held. One that listens is silent for long, whatever
	// the role's own settings are.
	settings = "SET synchronous_commit = off; SET statement_timeout = %[1]d; SET lock_timeout = %[1]d; SET idle_session_timeout = 0"

	// unread is for a process that was stopped. It reads nothing, and the server keeps all notifications until every
	// listener read them: it must not wait for such a one without end.
	unread = "SET tcp_user_timeout = 30000"
)

// misplacedAt finds a host with an @ in it, which is the end of a password whose own @ was not escaped. The first sign
// may be one: an abstract Unix socket.
func misplacedAt(cfg *pgconn.Config) bool {
	hosts := []string{cfg.Host}
	for _, f := range cfg.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, h := range hosts {
		if strings.LastIndexByte(h, '@') > 0 {
			return true
		}
	}
	return false
}

func newID() string {
	var id [idDigits / 2]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func (l Limits) orDefault() Limits {
	l.Topics, l.Bytes = positive(l.Topics, 10_000), positive(l.Bytes, 1<<20)
	return l
}

func (t Timing) orDefault() Timing {
	t.Gap, t.Answer = positive(t.Gap, 2*time.Millisecond), positive(t.Answer, 3*time.Second)
	t.Silence, t.Connect = positive(t.Silence, 5*time.Second), positive(t.Connect, 3*time.Second)
	t.RetryLeast, t.RetryMost = positive(t.RetryLeast, 100*time.Millisecond), positive(t.RetryMost, 5*time.Second)
	t.WakeOver = positive(t.WakeOver, time.Second)
	return t
}

func positive[T int | time.Duration](v, or T) T {
	if v <= 0 {
		return or
	}
	return v
}
