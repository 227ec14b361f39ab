package lab

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Wire is a TCP line on loopback that a test can cut without either end being told: what is sent vanishes, connections
// stay open, and new ones are taken and hear nothing, as behind a firewall that drops packets. It needs no privileges.
type Wire struct {
	tb       testing.TB
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	to     string
	cut    bool
	closed bool
	lines  map[*line]bool
}

// line is one connection through a wire.
type line struct {
	near, far net.Conn // far is nil where it was taken while the wire was cut
	stained   bool     // something that was sent through it vanished, so that it can never be made good
}

// NewWire carries connections to an address, until the test ends.
func NewWire(tb testing.TB, to string) *Wire {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := &Wire{tb: tb, listener: l, to: to, lines: map[*line]bool{}}
	w.running.Go(w.accept)
	tb.Cleanup(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		_ = l.Close()
		w.Break()
		w.running.Wait()
	})
	return w
}

// Address is host:port of this end.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// To carries connections that are made from now on to another address.
func (w *Wire) To(address string) { w.mu.Lock(); defer w.mu.Unlock(); w.to = address }

// Cut lets everything that is sent vanish, in both directions.
func (w *Wire) Cut() { w.mu.Lock(); defer w.mu.Unlock(); w.cut = true }

// Heal carries what is sent again. A connection of which something vanished ends; its ends would not understand one
// another any more.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = false
	for l := range w.lines {
		if l.stained {
			l.close()
		}
	}
}

// Break ends every connection that there is, with a reset, as a restarted router does.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.lines {
		if tcp, ok := l.near.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		l.close()
	}
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				w.tb.Error(err)
			}
			return
		}
		w.running.Go(func() { w.carry(near) })
	}
}

const dialBound = 5 * time.Second

func (w *Wire) carry(near net.Conn) {
	defer near.Close()
	w.mu.Lock()
	l := &line{near: near, stained: w.cut}
	to := w.to
	w.mu.Unlock()
	if !l.stained {
		far, err := net.DialTimeout("tcp", to, dialBound)
		if err != nil {
			return // as where nobody listens
		}
		l.far = far
		defer far.Close()
	}
	w.mu.Lock()
	w.lines[l] = true
	if w.closed {
		l.close()
	}
	w.mu.Unlock()
	defer func() { w.mu.Lock(); delete(w.lines, l); w.mu.Unlock() }()
	if l.far == nil {
		_, _ = io.Copy(io.Discard, near)
		return
	}
	w.running.Go(func() { w.pump(l, l.far, l.near) })
	w.pump(l, l.near, l.far)
}

// pump carries one direction; when it ends so does the other.
func (w *Wire) pump(l *line, from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && w.passes(l) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err == nil {
			continue
		}
		// An end that is closed is told to the other one, which a cut wire does not do.
		w.hold()
		return
	}
}

// passes says whether what was sent arrives.
func (w *Wire) passes(l *line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		l.stained = true
	}
	return !l.stained
}

// hold returns when a line whose one end closed may end at the other.
func (w *Wire) hold() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		w.mu.Lock()
		cut := w.cut && !w.closed
		w.mu.Unlock()
		if !cut {
			return
		}
	}
}

func (l *line) close() {
	_ = l.near.Close()
	if l.far != nil {
		_ = l.far.Close()
	}
}
