package upstream

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"berth/adapters/contract"
)

const (
	readBuffer = 16 << 10
	smallBody  = 32 << 10 // bodies up to this go out together with their head
	keptBuffer = 64 << 10
	mostInterm = 8 // 1xx answers before the one that counts
)

// conn is a connection to one replica, used by one request at a time.
type conn struct {
	home  *endpoint
	raw   net.Conn
	net   net.Conn // raw, or the TLS over it
	head  headLimit
	r     *bufio.Reader
	out   []byte
	since time.Time
}

func newConn(home *endpoint, raw, over net.Conn) *conn {
	c := &conn{home: home, raw: raw, net: over, head: headLimit{from: over}}
	c.r = bufio.NewReaderSize(&c.head, readBuffer)
	return c
}

// cut ends the connection at once, whatever is going on over it.
func (c *conn) cut() { _ = c.raw.Close() }

// quiet tells whether an idle connection can be used: the other side neither closed it nor said anything unasked.
func (c *conn) quiet() bool {
	if c.r.Buffered() > 0 || time.Since(c.since) > c.home.o.Idle {
		return false
	}
	s, ok := c.raw.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && quiet
}

// exchange writes a request and reads the head of its answer.
func (c *conn) exchange(q *Request, timeout time.Duration) (*Answer, error) {
	if err := c.net.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, &Error{Fate: NotSent, Err: err}
	}
	unsent := c.send(q)
	if failed, ok := errors.AsType[*Error](unsent); ok && failed.Fate != Broken {
		return nil, unsent
	}
	// Who refuses a long body may close before all of it was written, and has answered.
	for range mostInterm {
		a, err := c.receive(q)
		if err != nil {
			return nil, err
		}
		if a.Status >= http.StatusOK || a.Status == http.StatusSwitchingProtocols {
			a.last = a.last || unsent != nil
			return a, a.check(q)
		}
	}
	return nil, &Error{Fate: Malformed, Err: errors.New("interim answers without end")}
}

// send writes a request. Of one that failed at its first byte nothing can have been done; of any other the other side may
// have seen enough.
func (c *conn) send(q *Request) error {
	b := q.appendHead(c.out[:0])
	rest := q.Body
	if len(rest) <= smallBody {
		b, rest = append(b, rest...), nil
	}
	if cap(b) <= keptBuffer {
		c.out = b
	}
	if n, err := c.net.Write(b); err != nil {
		if n == 0 {
			return &Error{Fate: NotSent, Err: err}
		}
		return fateOf(err)
	}
	if rest == nil {
		return nil
	}
	if _, err := c.net.Write(rest); err != nil {
		return fateOf(err)
	}
	return nil
}

// The two ways in which the method of a request changes how its answer is read.
//
//nolint:gochecknoglobals // immutable
var askedHead, askedOther = &http.Request{Method: http.MethodHead}, &http.Request{Method: http.MethodGet}

// receive reads one head.
func (c *conn) receive(q *Request) (*Answer, error) {
	c.head.left = contract.MaxHeader
	asked := askedOther
	if q.Method == http.MethodHead {
		asked = askedHead
	}
	resp, err := http.ReadResponse(c.r, asked) //nolint:bodyclose // closed with the answer
	c.head.left = -1
	if err != nil {
		if _, ok := errors.AsType[net.Error](err); ok || ended(err) {
			return nil, fateOf(err)
		}
		return nil, &Error{Fate: Malformed, Err: err}
	}
	return &Answer{
		Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength, body: resp.Body, c: c,
		whole: resp.ContentLength == 0 || q.Method == http.MethodHead, last: resp.Close, proto: resp.Proto,
		chunked: len(resp.TransferEncoding) > 0, asked: q.Method,
	}, nil
}

// validNames refuses the names that net/http lets pass in an answer, those with a space; it refuses all others, and values
// with control characters, by itself.
func validNames(h http.Header) bool {
	for name := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
	}
	return true
}
