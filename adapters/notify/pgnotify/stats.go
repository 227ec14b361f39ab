package pgnotify

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats is how a relay does. Counts are since it was opened.
type Stats struct {
	Connected bool // both connections work
	Sending   bool
	Listening bool

	Connects uint64 // connections made, of both kinds: two, and one more for each that was lost
	Waiting  int    // topics that wait to be sent
	Sent     uint64 // topics that the server took
	Notifies uint64 // statements that it took, each of many topics
	Received uint64 // topics that came from other replicas
	Foreign  uint64 // payloads on the channel that were nobody's hints, ignored
	TooLong  uint64 // topics too long to send, dropped: they woke this process's waiters only
	Overruns uint64 // how often the queue ran over and became one hint for everybody
	Wakes    uint64 // how often everybody here was woken, which was done when it is counted

	Lag time.Duration // the last own message's way through the server and back; 0 before the first
}

// Stats returns what is so now.
func (r *Relay) Stats() Stats {
	c, q := &r.counts, r.queue.counted()
	s := Stats{
		Sending: c.sending.up.Load(), Listening: c.listening.up.Load(),
		Connects: c.sending.connects.Load() + c.listening.connects.Load(), Waiting: r.queue.waiting(),
		Sent: c.sent.Load(), Notifies: c.notifies.Load(), Received: c.received.Load(), Foreign: c.foreign.Load(),
		TooLong: q.tooLong, Overruns: q.overruns, Wakes: c.wakes.Load(), Lag: time.Duration(c.lag.Load()),
	}
	s.Connected = s.Sending && s.Listening
	return s
}

type counts struct {
	sending, listening                       connection
	sent, notifies, received, foreign, wakes atomic.Uint64
	lag                                      atomic.Int64
}

type connection struct {
	name     string
	up       atomic.Bool
	connects atomic.Uint64
}

// echo times one message at a time on its way through the server and back.
type echo struct {
	mu     sync.Mutex
	number uint64 // 0 where none is under way
	sent   time.Time
}

// leaves notes that the numbered message is about to be sent, unless another is under way that may still come.
func (e *echo) leaves(number uint64, patience time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.number == 0 || time.Since(e.sent) > patience {
		e.number, e.sent = number, time.Now()
	}
}

// returns says how long the numbered message took, if it is the one that is timed.
func (e *echo) returns(number uint64) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.number == 0 || number != e.number {
		return 0, false
	}
	e.number = 0
	return time.Since(e.sent), true
}
