package ingress

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is a client's connection below its TLS, with whose it is and what is going on over it.
type link struct {
	net.Conn
	peer *peer // nil until the handshake is through
	node *node

	gone func(*link) // called once, when the connection is closed
	once sync.Once

	end       atomic.Pointer[context.CancelCauseFunc] // ends the request that is being served
	tunnel    atomic.Bool
	condemned atomic.Bool  // no request may follow the one that is being served
	safe      atomic.Bool  // the request that is being served changes nothing
	epoch     time.Time    // that since counts from, the same for all
	since     atomic.Int64 // since when nothing is going on; 0 while a request is served
}

// Close closes the connection and forgets it.
func (l *link) Close() error {
	err := l.Conn.Close()
	l.once.Do(func() { l.gone(l) })
	return err
}

// cut ends the connection at once, without a word.
func (l *link) cut() { _ = l.Close() }

// rest notes that nothing is going on from now on, or that something moved in a tunnel.
func (l *link) rest() {
	l.since.Store(int64(time.Since(l.epoch)))
	if l.condemned.Load() {
		l.cut()
	}
}

// still is how long nothing has moved in a tunnel. One that is only about to begin still counts as a request that is
// served, and nothing says since when.
func (l *link) still() time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(l.epoch) - time.Duration(since)
}

// work notes that a request is served.
func (l *link) work() { l.since.Store(0) }

func (l *link) idle() (since int64, ok bool) {
	since = l.since.Load()
	return since, since != 0 && !l.tunnel.Load()
}

// dismiss ends what a connection is for: an idle one and a tunnel are cut, a request is told why and answers for itself.
func (l *link) dismiss(why error) {
	l.condemned.Store(true) // first, so that a request which ends at this very moment finds it
	if _, idle := l.idle(); idle || l.tunnel.Load() {
		l.cut()
		return
	}
	if end := l.end.Load(); end != nil {
		(*end)(why)
	}
}

type linkKey struct{}

func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}
