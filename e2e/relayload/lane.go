package relayload

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Dialect is how one system has a message published, and how it says that the message is durable.
type Dialect interface {
	// Publish puts a publish in line.
	Publish(s *Socket, n int64)
	// Acks reads a frame, and calls acked for each publish that it says is durable. Whatever else it says is an error.
	Acks(frame []byte, acked func(n int64)) error
}

// Payload is what every message carries, in either system, where nothing else is said.
const Payload = `{"kind":"note","text":"` +
	`The quick brown fox jumps over the lazy dog, and the lazy dog does not so much as open an eye."` + `}`

// BerthLane speaks Berth's protocol, with the handle of one route.
type BerthLane struct {
	before, next []byte // of a frame: what stands before the number, and behind it
	b            []byte
}

// NewBerthLane has the messages' ids begin with a name, behind which their numbers stand. The payload is JSON text.
func NewBerthLane(name, handle, payload string) *BerthLane {
	return &BerthLane{
		before: fmt.Appendf(nil, `{"op":"publish","handle":%q,"id":"%s-`, handle, name),
		next:   []byte(`","body":` + payload + `}`),
	}
}

// Publish is Dialect's.
func (l *BerthLane) Publish(s *Socket, n int64) {
	l.b = strconv.AppendInt(append(l.b[:0], l.before...), n, 10)
	l.b = append(l.b, l.next...)
	s.Add(Text, l.b)
}

// Acks is Dialect's.
func (l *BerthLane) Acks(frame []byte, acked func(int64)) error {
	if !hasOp(frame, "ack") {
		return fmt.Errorf("this is no ack: %s", frame)
	}
	_, n, err := published(frame)
	if err == nil {
		acked(n)
	}
	return err
}

// published is the id in a frame: a lane's name, and the number.
func published(frame []byte) (lane []byte, n int64, err error) {
	_, rest, found := bytes.Cut(frame, []byte(`"id":"`))
	id, _, ends := bytes.Cut(rest, []byte(`"`))
	lane, number, cut := bytes.Cut(id, []byte("-"))
	if !found || !ends || !cut {
		return nil, 0, fmt.Errorf("there is no id in %s", frame)
	}
	n, err = strconv.ParseInt(string(number), 10, 64)
	return lane, n, err
}

// Phase is how far a measuring is.
type Phase struct{ now atomic.Int32 }

const (
	warming = iota
	measuring
	ended
)

// Lane is one connection that publishes.
type Lane struct {
	socket  *Socket
	dialect Dialect
	phase   *Phase
	next    int64                   // the number of the next message
	done    int64                   // how many are acknowledged
	counted int64                   // of those, while it was measured
	sent    []atomic.Int64          // when, by number; a ring
	took    *hdrhistogram.Histogram // microseconds to the acknowledgement
	err     error
}

const ring = 1 << 13 // more than one lane has in flight

// NewLane publishes over a connection.
func NewLane(s *Socket, d Dialect, p *Phase) *Lane {
	return &Lane{socket: s, dialect: d, phase: p, sent: make([]atomic.Int64, ring), took: histogram()}
}

func histogram() *hdrhistogram.Histogram {
	const aMinute, digits = 60_000_000, 3
	return hdrhistogram.New(1, aMinute, digits)
}

func record(h *hdrhistogram.Histogram, took time.Duration) {
	_ = h.RecordValue(max(1, took.Microseconds())) // longer than a minute counts for nothing
}

// publish puts a message in line that counts as sent at a time.
func (l *Lane) publish(at time.Time) {
	l.sent[l.next%ring].Store(at.UnixNano())
	l.dialect.Publish(l.socket, l.next)
	l.next++
}

func (l *Lane) acked(n int64) {
	l.done++
	if l.phase.now.Load() == measuring {
		l.counted++
		record(l.took, time.Since(time.Unix(0, l.sent[n%ring].Load())))
	}
}

// Keep has so many messages in flight until the measuring ends, and then waits for those that are.
func (l *Lane) Keep(inFlight int64) {
	for l.err == nil {
		if l.phase.now.Load() != ended {
			for now := time.Now(); l.next-l.done < inFlight; {
				l.publish(now)
			}
			if l.err = l.socket.Flush(); l.err != nil {
				return
			}
		}
		if l.next == l.done {
			return
		}
		l.err = l.read()
	}
}

// read takes what has come, and waits until something has.
func (l *Lane) read() error {
	for {
		frame, err := l.socket.Next()
		if err == nil {
			err = l.dialect.Acks(frame, l.acked)
		}
		if err != nil || !l.socket.Ready() {
			return err
		}
	}
}

// Pace publishes some messages at once, time and again, whatever becomes of those before, and waits for their
// acknowledgement. A message counts as sent when it was due.
func (l *Lane) Pace(first, every time.Duration, together int) {
	read := make(chan error, 1)
	var all atomic.Int64 // how many there will have been; 0 while that is not known
	go func() {
		var err error
		for err == nil && (all.Load() == 0 || l.done < all.Load()) {
			err = l.read()
		}
		if err != nil {
			l.socket.Close() // or whoever writes would wait for room
		}
		read <- err
	}()
	due := time.Now().Add(first)
	for last := false; !last; {
		pause(time.Until(due))
		if last = l.phase.now.Load() == ended; last { // one more, by which the reader sees that it is
			all.Store(l.next + 1)
			together = 1
		}
		for range together {
			l.publish(due)
		}
		if l.err = l.socket.Flush(); l.err != nil {
			break
		}
		due = due.Add(every)
	}
	if err := <-read; err != nil {
		l.err = err // what is wrong with writing then comes of that
	}
}
