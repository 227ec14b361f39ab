package upstream

import (
	"errors"
	"io"
	"net"
	"syscall"
)

var errHead = errors.New("the head of the answer is too long")

// headLimit bounds how much is read before the head of an answer ends; it lets everything through while left is negative.
type headLimit struct {
	from io.Reader
	left int
}

func (l *headLimit) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, errHead
	}
	if l.left > 0 && len(p) > l.left {
		p = p[:l.left]
	}
	n, err := l.from.Read(p)
	if l.left > 0 {
		l.left -= n
	}
	return n, err
}

// ended tells whether the connection was at its end, in whatever way.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
