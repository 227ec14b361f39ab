package pgnotify

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// link is one connection to the primary, used by one goroutine.
type link struct {
	*pgconn.PgConn

	// The message that its own echo is awaited of, and whether it came back.
	probed uint64
	echoed bool

	life context.Context // ends with shut
	end  context.CancelFunc

	mu     sync.Mutex
	dialed []net.Conn // closed by shut
}

// dial connects to the first host of the DSN that is a primary. The name shows in pg_stat_activity.
func (r *Relay) dial(ctx context.Context, name string) (*link, error) {
	cfg := r.config.Copy()
	if r.options.Password != nil {
		password, err := r.options.Password()
		if err != nil {
			return nil, errNoPassword
		}
		cfg.Password = password
	}
	l := &link{}
	l.life, l.end = context.WithCancel(context.Background())
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "berth hints, " + name
	}
	cfg.DialFunc = l.dialer(cfg.DialFunc)
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if n.Channel == channel {
			r.heard(l, n.Payload)
		}
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		l.shut()
		return nil, err
	}
	l.PgConn = conn
	return l, nil
}

// dialer remembers what was dialed and dials nothing after shut.
func (l *link) dialer(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(l.life, cancel)()
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.life.Err() != nil {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		l.dialed = append(l.dialed, conn)
		return conn, nil
	}
}

// goodbye is how long the server may take to be told that the connection ends.
const goodbye = 100 * time.Millisecond

// close ends the connection, quickly even where the server does not answer. The driver ends a connection that failed in
// a goroutine of its own, which asks the server to cancel and waits for it up to 15 s, unless its sockets are closed.
func (l *link) close() {
	if !l.IsClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		_ = l.Close(ctx)
	}
	l.shut()
	<-l.CleanupDone()
}

func (l *link) shut() {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.dialed {
		_ = conn.Close()
	}
}
