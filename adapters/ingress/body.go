package ingress

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"berth/domain/fault"
)

// memory bounds the bodies of requests that are in flight, in bytes: of all of them, and of each node's.
type memory struct {
	most int64
	used atomic.Int64
}

// take counts n bytes, and says whether there was room for them.
func (m *memory) take(n int64) bool {
	if m.used.Add(n) <= m.most {
		return true
	}
	m.used.Add(-n)
	return false
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// firstPiece is what a body may take before anything of it arrived. A client that declares much and sends little holds no
// more than twice what it sent.
const firstPiece = 16 << 10

// readBody reads a body whose length is declared and bounded. What it takes of the memory is given back by release.
func (x *exchange) readBody(r *http.Request) error {
	length := int(r.ContentLength)
	if length == 0 {
		return nil
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.g.o.Limits.BodyTimeout))
	for len(x.body) < length {
		if err := x.grow(length); err != nil {
			return err
		}
		n, err := io.ReadFull(r.Body, x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err != nil {
			return unreadable(err)
		}
	}
	// The end has to be seen: from there on net/http lifts the deadline, and notices when the client leaves.
	if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return unreadable(err)
	}
	x.bodyRead = true
	return nil
}

// grow makes room for the next piece. Faults: Exhausted node_body_memory_exhausted; Unavailable body_memory_exhausted.
func (x *exchange) grow(length int) error {
	size := min(length, max(firstPiece, 2*cap(x.body)))
	more := int64(size - cap(x.body))
	if !x.link.node.body.take(more) {
		return fault.New(fault.Exhausted, "node_body_memory_exhausted", "too many bodies of the node are in flight").After(time.Second)
	}
	if !x.g.memory.take(more) {
		x.link.node.body.give(more)
		return fault.New(fault.Unavailable, "body_memory_exhausted", "too many bodies are in flight").After(time.Second)
	}
	x.held += more
	grown := make([]byte, len(x.body), size)
	copy(grown, x.body)
	x.body = grown
	return nil
}

func (x *exchange) release() {
	x.g.memory.give(x.held)
	x.link.node.body.give(x.held)
	x.held = 0
}

func unreadable(err error) error {
	if isTimeout(err) {
		return form(http.StatusRequestTimeout, "body_too_slow", "the body did not arrive in time")
	}
	refused := form(http.StatusBadRequest, "body_unreadable", "the body could not be read to its end")
	refused.fault = refused.fault.Because(err)
	return refused
}
