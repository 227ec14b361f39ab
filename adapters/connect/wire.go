package connect

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wire is a connection after its upgrade. The WebSocket library reads through it and has its control frames written; what
// the node says is written here, so that many frames leave in one TLS record. The library's frames each come as one Write,
// and are never put inside another.
type wire struct {
	net.Conn
	limits *Limits

	// Of the reader.
	early  []byte // came with the upgrade
	inside bool   // of a message
	timed  bool
	left   int // bytes that the message may still take off the connection

	hurried atomic.Int64 // a time, in Unix nanoseconds, by which all must be written; 0 for none

	mu     sync.Mutex
	out    []byte
	corked bool
	over   bool // nothing is written any more
}

func newWire(c net.Conn, early []byte, l *Limits) *wire {
	w := &wire{Conn: c, limits: l}
	w.early = append(w.early, early...)
	if tcp, ok := rawOf(c).(interface{ SetWriteBuffer(int) error }); ok {
		_ = tcp.SetWriteBuffer(kernelBuffer) // only the memory of a device that does not read depends on it
	}
	return w
}

const (
	kernelBuffer = 32 << 10 // of the kernel, for writing; Linux takes twice as much
	frameSlack   = 16 << 10 // for the headers of a message's fragments, and control frames between them
	flushAt      = 16 << 10 // a TLS record
	keepOut      = 64 << 10 // a larger buffer is not kept
)

// errFragmented is what reading a message ends with that is cut into too many pieces.
var errFragmented = errors.New("a message has too many fragments")

// rawOf finds the connection under TLS.
func rawOf(c net.Conn) net.Conn {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = over.NetConn()
	}
}

// begin says that a message has begun: from now on it must come in time, and in not too many pieces.
func (w *wire) begin() { w.inside, w.left = true, w.limits.Frame+frameSlack }

// done says that a message has ended.
func (w *wire) done() {
	w.inside = false
	if w.timed {
		w.timed = false
		_ = w.SetReadDeadline(time.Time{}) // a dead connection says so when it is read
	}
}

// Read reads what the device sends. The deadline is only set for a message that has not come whole.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.early) > 0 {
		n := copy(p, w.early)
		if w.early = w.early[n:]; len(w.early) == 0 {
			w.early = nil
		}
		return n, nil
	}
	if w.inside {
		if w.left <= 0 {
			return 0, errFragmented
		}
		if !w.timed {
			w.timed = true
			_ = w.SetReadDeadline(time.Now().Add(w.limits.FrameTime)) // as above
		}
	}
	n, err := w.Conn.Read(p)
	w.left -= n
	return n, err
}

// Close closes the connection under TLS, without a word: TLS's own would wait for what is being written.
func (w *wire) Close() error {
	if secured, ok := w.Conn.(*tls.Conn); ok {
		return secured.NetConn().Close()
	}
	return w.Conn.Close()
}

// Write writes a control frame of the WebSocket library.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return 0, errOver
	}
	last := p[0] == frameClose
	defer func() { w.over = w.over || last }()
	switch {
	case !w.corked:
		return len(p), w.push(p)
	case last:
		w.out = append(w.out, p...)
		return len(p), w.flush()
	}
	w.out = append(w.out, p...)
	return len(p), nil
}

// errOver is what writing ends with after a close frame.
var errOver = fmt.Errorf("the close frame was written: %w", net.ErrClosed)

// push writes within the time that a device has to take it.
func (w *wire) push(p []byte) error {
	_ = w.SetWriteDeadline(time.Now().Add(w.limits.WriteTimeout)) // a dead connection says so below
	if by := w.hurried.Load(); by != 0 {                          // after setting: hurry stores first, and sets then
		_ = w.SetWriteDeadline(time.Unix(0, by))
	}
	_, err := w.Conn.Write(p)
	if err != nil {
		w.over = true
	}
	return err
}

// hurry has whatever is being written, and will be, be done by a time.
func (w *wire) hurry(by time.Time) {
	w.hurried.Store(by.UnixNano())
	_ = w.SetWriteDeadline(by) // as above
}

// outs are the buffers of writers.
var outs = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool is shared by what it is for

// giveBack keeps a buffer for another writer, unless it has grown.
func giveBack(buffer *[]byte) {
	if cap(*buffer) <= keepOut {
		outs.Put(buffer)
	}
}

// cork keeps what is written until uncork, or until it fills a TLS record. One writer at a time corks.
func (w *wire) cork() *[]byte {
	buffer, _ := outs.Get().(*[]byte)
	w.mu.Lock()
	w.corked, w.out = true, (*buffer)[:0]
	w.mu.Unlock()
	return buffer
}

// uncork writes what was kept.
func (w *wire) uncork(buffer *[]byte) error {
	w.mu.Lock()
	err := w.flush()
	*buffer = w.out[:0]
	w.corked, w.out = false, nil
	w.mu.Unlock()
	giveBack(buffer)
	return err
}

func (w *wire) flush() error {
	if w.over {
		return errOver
	}
	if len(w.out) == 0 {
		return nil
	}
	err := w.push(w.out)
	w.out = w.out[:0]
	return err
}

// put writes the frames that add appends, while corked.
func (w *wire) put(add func([]byte) []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return errOver
	}
	w.out = add(w.out)
	if len(w.out) >= flushAt {
		return w.flush()
	}
	return nil
}

// farewell writes the last frames, while corked, and that nothing follows them.
func (w *wire) farewell(add func([]byte) []byte) error {
	w.mu.Lock()
	w.out = add(w.out)
	err := w.flush()
	w.over, w.out = true, w.out[:0]
	w.mu.Unlock()
	if err == nil {
		w.half()
	}
	return err
}

// half says below that nothing is written any more.
func (w *wire) half() {
	for _, c := range []net.Conn{w.Conn, rawOf(w.Conn)} {
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // who does not take it is cut soon
		}
	}
}

// The first byte of unfragmented frames (RFC 6455 §5.2), and what their lengths are written in.
const (
	frameText  = 0x81
	frameClose = 0x88
	framePing  = 0x89

	length16 = 126
	length64 = 127
)

// frame appends a frame as a server sends it, unmasked.
func frame(b []byte, first byte, payload []byte) []byte {
	return append(header(b, first, len(payload)), payload...)
}

func header(b []byte, first byte, n int) []byte {
	switch {
	case n < length16:
		return append(b, first, byte(n)) //nolint:gosec // compared above
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, first, length16), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(b, first, length64), uint64(n))
}

func closeFrame(b []byte, code int, reason string) []byte {
	b = header(b, frameClose, 2+len(reason))
	b = binary.BigEndian.AppendUint16(b, uint16(code)) //nolint:gosec // a code of RFC 6455
	return append(b, reason...)
}
