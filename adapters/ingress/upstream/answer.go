package upstream

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Answer is the answer to a request. Read gives its body, each time waiting no longer than the stall allows. Close ends it,
// and keeps the connection where the answer was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Length int64 // of the body; -1 where it is not known before its end

	c       *conn
	body    io.ReadCloser
	asked   string
	proto   string
	chunked bool
	whole   bool // the body was read to its end
	last    bool // the other side closes the connection after it
	detach  func() bool
	stall   time.Duration
}

// check refuses an answer that can not be passed on for what it is: of another protocol, without an end that could be told
// from a broken connection, or with a header that another program would read in another way.
func (a *Answer) check(q *Request) error {
	upgraded := a.Status == http.StatusSwitchingProtocols
	switch {
	case a.proto != "HTTP/1.1":
		return &Error{Fate: Malformed, Err: errors.New("the answer is not HTTP/1.1")}
	case a.Status > 599:
		return &Error{Fate: Malformed, Err: errors.New("the status is none")}
	case upgraded && q.Upgrade == "":
		return &Error{Fate: Malformed, Err: errors.New("another protocol was not asked for")}
	case !upgraded && a.Length < 0 && !a.chunked && q.Method != http.MethodHead:
		return &Error{Fate: Malformed, Err: errors.New("the answer has no length")}
	case !validNames(a.Header):
		return &Error{Fate: Malformed, Err: errors.New("the header of the answer is malformed")}
	}
	return nil
}

// Read reads of the body. What breaks off is an *Error, never the end.
func (a *Answer) Read(p []byte) (int, error) {
	if a.c.r.Buffered() == 0 {
		_ = a.c.net.SetReadDeadline(time.Now().Add(a.stall)) // a dead connection says so when it is read
	}
	n, err := a.body.Read(p)
	if errors.Is(err, io.EOF) {
		a.whole = true
		return n, io.EOF
	}
	if err != nil {
		return n, fateOf(err)
	}
	return n, nil
}

// Close ends the answer.
func (a *Answer) Close() {
	free := a.detach()
	if !free || !a.whole || a.last || a.c.r.Buffered() > 0 || a.Status == http.StatusSwitchingProtocols {
		a.c.cut()
		return
	}
	a.c.home.put(a.c)
}

// Take hands over the connection of an answer that switched protocols, and what was read of it beyond the answer. It no
// longer ends with the request's context; the caller closes it.
func (a *Answer) Take() (net.Conn, []byte, bool) {
	if !a.detach() {
		a.c.cut()
		return nil, nil, false
	}
	early, _ := a.c.r.Peek(a.c.r.Buffered())
	_ = a.c.net.SetDeadline(time.Time{}) // a dead connection says so when it is used
	return a.c.net, early, true
}
