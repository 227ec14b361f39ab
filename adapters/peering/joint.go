package peering

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"berth/adapters/contract"
)

// joint is a device's WebSocket and the connection to the peer that it is passed on to.
type joint struct {
	f      *Forwarder
	device net.Conn
	peer   *tls.Conn
	frames frames // of what went to the device; of the goroutine that writes to it

	moved   atomic.Int64 // when something came last
	stopped atomic.Bool  // this node ends it

	mu     sync.Mutex
	over   bool
	timers []*time.Timer
}

// run passes on what comes on either side, until both have ended. A side that ends its direction has it ended on the other; the
// other direction goes on, for a while. A device that is lost ends both; one that has lost its peer is told.
func (j *joint) run(ctx context.Context, sent []byte) {
	j.moved.Store(time.Now().UnixNano())
	j.after(j.f.o.Limits.Silence, j.watch)
	defer context.AfterFunc(ctx, j.stop)()
	var down sync.WaitGroup
	down.Go(j.down)
	switch err := j.carry(j.peer, j.device, sent, nil); {
	case err == nil:
		closeWrite(j.peer)
		j.linger()
	case errors.Is(err, errNotTaken):
		_ = j.peer.NetConn().Close()         // the direction to the device finds out
		_, _ = io.Copy(io.Discard, j.device) // what is not read when it is closed has the last frame lost to a reset
	default:
		j.close()
	}
	down.Wait()
	j.close()
}

// down is the direction to the device. Where the peer is lost, or this node stops, the device is told.
func (j *joint) down() {
	err := j.carry(j.device, j.peer, nil, j.frames.follow)
	for j.stopped.Load() && timedOut(err) && !j.frames.between() { // a frame that has begun is completed first
		_ = j.peer.SetReadDeadline(time.Time{}) // a dead connection says so below
		err = j.carry(j.device, j.peer, nil, j.frames.follow)
	}
	if err == nil && !truncated(j.peer) {
		closeWrite(j.device)
		j.linger()
		return
	}
	_ = j.peer.NetConn().Close()
	if !j.farewell() {
		j.close()
		return
	}
	j.linger()
}

// farewell is the last frame, if there is room for one, and says whether the device took it.
func (j *joint) farewell() bool {
	reason, code := contract.GoawayUnavailable, closeTryAgain
	if j.stopped.Load() {
		reason, code = contract.GoawayShutdown, closeGoingAway
	}
	j.mu.Lock()
	over := j.over
	j.mu.Unlock()
	if over || !j.frames.between() {
		return false
	}
	_ = j.device.SetWriteDeadline(time.Now().Add(j.f.o.Limits.Farewell)) // a dead connection says so below
	if _, err := j.device.Write(farewell(j.f.goaway(reason), code)); err != nil {
		return false
	}
	closeWrite(j.device)
	return true
}

// stop ends the connection because this node does: the direction to the device finds out between two frames, or soon.
func (j *joint) stop() {
	j.stopped.Store(true)
	_ = j.peer.SetReadDeadline(time.Unix(1, 0)) // what it interrupts is whoever waits for the peer
	j.after(j.f.o.Limits.Farewell, func() { _ = j.peer.NetConn().Close() })
	j.after(3*j.f.o.Limits.Farewell, j.close)
}

// linger bounds what one side may still send after the other has ended.
func (j *joint) linger() { j.after(j.f.o.Limits.Linger, j.close) }

// watch ends a connection on which nothing moves.
func (j *joint) watch() {
	left := j.f.o.Limits.Silence - time.Since(time.Unix(0, j.moved.Load()))
	if left <= 0 {
		j.close()
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.over {
		j.timers[0].Reset(left) // the first one is its own
	}
}

// after has something happen unless both sides are closed before.
func (j *joint) after(d time.Duration, do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.over {
		j.timers = append(j.timers, time.AfterFunc(d, do))
	}
}

// close ends both sides at once, and what was to happen to them.
func (j *joint) close() {
	j.mu.Lock()
	j.over = true
	for _, t := range j.timers {
		t.Stop()
	}
	j.timers = nil
	j.mu.Unlock()
	_ = j.peer.NetConn().Close()
	_ = cut(j.device)
}

// cut closes a connection without a word: TLS's would wait for a reader that may not come.
func cut(c net.Conn) error {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn().Close()
	}
	return c.Close()
}

const (
	restSize  = 512      // of what a connection holds while nothing comes
	pieceSize = 16 << 10 // of what is passed on at a time: a TLS record
)

type piece [pieceSize]byte

var pieces = sync.Pool{New: func() any { return new(piece) }} //nolint:gochecknoglobals // memory that is used again

// carry passes on what comes on one side until it ends; nil where it ended in good form. Nothing is read that was not written: who does not
// read is not written to. While nothing comes only a few bytes are held for it.
func (j *joint) carry(to, from net.Conn, first []byte, seen func([]byte)) error {
	if len(first) > 0 {
		if err := j.write(to, first, seen); err != nil {
			return err
		}
	}
	var rest [restSize]byte
	for {
		if seen != nil && j.stopped.Load() && j.frames.between() {
			return errStopped
		}
		n, err := from.Read(rest[:])
		switch {
		case n == len(rest) && err == nil:
			err = j.carryMore(to, from, rest[:], seen)
		case n > 0:
			if werr := j.write(to, rest[:n], seen); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// carryMore passes on a beginning together with what is there of its TLS record, and then, where much comes, that, until nothing has come
// for a moment.
func (j *joint) carryMore(to, from net.Conn, begun []byte, seen func([]byte)) error {
	p, _ := pieces.Get().(*piece)
	defer pieces.Put(p)
	defer func() { _ = from.SetReadDeadline(time.Time{}) }()
	n := copy(p[:], begun)
	more, err := ready(from, p[n:], time.Unix(1, 0)) // what would have to be waited for does not hold up the beginning
	for n += more; ; {
		if werr := j.write(to, p[:n], seen); werr != nil || err != nil {
			return cmp.Or(werr, err)
		}
		if more > 0 && n < pieceSize {
			return nil // it was a record, and there is no more of it
		}
		if n, err = ready(from, p[:], time.Now().Add(moment)); n == 0 {
			return err
		}
		more = 0
	}
}

// moment is how long a connection on which much came keeps the memory for more.
const moment = 20 * time.Millisecond

// ready reads what comes until an instant. That nothing does is no error.
func ready(from net.Conn, b []byte, until time.Time) (int, error) {
	_ = from.SetReadDeadline(until) // a dead connection says so below
	n, err := from.Read(b)
	if timedOut(err) {
		err = nil
	}
	return n, err
}

// What ends a direction that does not end by itself.
var ( //nolint:gochecknoglobals // immutable values
	errStopped  = errors.New("this node stops")
	errNotTaken = errors.New("the other side takes no more")
)

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() && !errors.Is(err, errNotTaken)
}

func (j *joint) write(to net.Conn, b []byte, seen func([]byte)) error {
	j.moved.Store(time.Now().UnixNano())
	_ = to.SetWriteDeadline(time.Now().Add(j.f.o.Limits.StallTimeout)) // a dead connection says so below
	if seen != nil {
		seen(b)
	}
	_, err := to.Write(b)
	switch {
	case err == nil:
		return nil
	case seen != nil:
		j.frames.closed = true // nobody knows how far it came
	}
	return fmt.Errorf("%w: %w", errNotTaken, err)
}

// jitter is when a device is to come back, so that not all do at once.
func (f *Forwarder) jitter() time.Duration {
	return rand.N(max(f.o.Limits.ReconnectWithin, 1)) //nolint:gosec // it only has to spread
}
