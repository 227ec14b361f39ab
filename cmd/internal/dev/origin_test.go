package dev

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// speaker is a node that says its name and then what it hears, until that ends.
func speaker(t *testing.T, name string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			heard, _ := io.ReadAll(c)
			_, _ = io.WriteString(c, name+" "+string(heard))
			_ = c.Close()
		}
	}()
	return l
}

// hears sends a text, ends its own side, and returns what it hears until the other side ends.
func hears(t *testing.T, at, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	heard, _ := io.ReadAll(c)
	return string(heard)
}

// A device that never ends its side does not keep a connection that its node has ended.
func TestOriginEndsWhatANodeEnded(t *testing.T) {
	t.Parallel()
	node, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	go func() {
		if c, err := node.Accept(); err == nil {
			_, _ = io.WriteString(c, "bye")
			_ = c.Close()
		}
	}()
	device, far := net.Pipe()
	defer device.Close()
	o := &origin{to: []string{node.Addr().String()}, linger: 50 * time.Millisecond}
	done := make(chan struct{})
	go func() { o.carry(t.Context(), far); close(done) }()
	said := make([]byte, 3)
	if _, err := io.ReadFull(device, said); err != nil || string(said) != "bye" {
		t.Fatalf("%q, %v", said, err)
	}
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it is kept")
	}
}

// The origin gives connections to the nodes in turn, and to the one that is left where another is down; an end that is closed
// on one side is closed on the other, and not before; when it is stopped, what is open ends.
func TestOrigin(t *testing.T) {
	t.Parallel()
	one, other := speaker(t, "n1"), speaker(t, "n2")
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{listener: front, to: []string{one.Addr().String(), other.Addr().String()}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.balance(ctx) }()
	at := front.Addr().String()
	if both := hears(t, at, "a") + "," + hears(t, at, "b"); !strings.Contains(both, "n1 ") || !strings.Contains(both, "n2 ") || !strings.Contains(both, " b") {
		t.Errorf("it was answered %q", both)
	}
	_ = one.Close()
	for range 4 {
		if got := hears(t, at, "c"); got != "n2 c" {
			t.Errorf("with n1 down it was answered %q", got)
		}
	}
	_ = other.Close()
	if got := hears(t, at, "d"); got != "" {
		t.Errorf("with both down it was answered %q", got)
	}
	idle, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if heard, _ := io.ReadAll(idle); len(heard) > 0 {
		t.Errorf("it was told %q", heard)
	}
}
