package lab_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"berth/e2e/lab"
)

// echo answers each line with the same, until the test ends, and tells of connections that ended.
func echo(t *testing.T) (address string, ended chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{}, 16)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
				ended <- struct{}{}
			}()
		}
	}()
	return l.Addr().String(), ended
}

type caller struct {
	net.Conn
	r *bufio.Reader
}

func call(t *testing.T, address string) *caller {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c, bufio.NewReader(c)}
}

// says sends a line and waits for the answer.
func (c *caller) says(t *testing.T, text string, bound time.Duration) error {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(text + "\n")); err != nil {
		return err
	}
	got, err := c.r.ReadString('\n')
	if err == nil && got != text+"\n" {
		t.Fatalf("said %q, heard %q", text, got)
	}
	return err
}

// Through a wire that is cut nothing arrives and nobody is told; once it is healed, connections that lost something are
// ended, those that lost nothing go on, and new ones work.
func TestWire(t *testing.T) {
	t.Parallel()
	address, ended := echo(t)
	w := lab.NewWire(t, address)
	losing, idle := call(t, w.Address()), call(t, w.Address())
	for _, c := range []*caller{losing, idle} {
		if err := c.says(t, "before", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	w.Cut()
	late := call(t, w.Address())
	for name, c := range map[string]*caller{"an old connection": losing, "a new connection": late} {
		if err := c.says(t, "lost", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s through a wire that is cut: %v, want silence", name, err)
		}
	}
	select {
	case <-ended:
		t.Error("the other side was told")
	default:
	}
	w.Heal()
	for name, c := range map[string]*caller{"the old connection": losing, "the new connection": late} {
		if err := c.says(t, "after", time.Minute); err == nil {
			t.Errorf("%s goes on, and it lost something", name)
		}
	}
	<-ended
	if err := idle.says(t, "after", time.Minute); err != nil {
		t.Errorf("a connection that lost nothing: %v", err)
	}
	if err := call(t, w.Address()).says(t, "after", time.Minute); err != nil {
		t.Errorf("a connection made later: %v", err)
	}
	w.Break()
	if err := idle.says(t, "broken", time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that was broken: %v", err)
	}
}

// A container that is cut off from another one loses every packet, and hears it again when it is healed.
func TestCut(t *testing.T) {
	t.Parallel()
	server := lab.Server(t, lab.Options{})
	client := lab.Server(t, lab.Options{})
	reaches := func() string {
		return client.Exec("sh", "-c", "pg_isready -q -t 1 -h "+server.Name+" && echo reached || echo $?")
	}
	if out := reaches(); out != "reached" {
		t.Fatalf("before: %s", out)
	}
	client.Cut(server.Container)
	const noAnswer = "2" // of pg_isready; 1 would be a refusal
	if out := reaches(); out != noAnswer {
		t.Errorf("cut off: %s, want %s", out, noAnswer)
	}
	if _, err := query(client.DSN(), "SELECT 'here'"); err != nil {
		t.Errorf("the test itself does not reach it any more: %v", err)
	}
	client.Heal(server.Container)
	if out := reaches(); out != "reached" {
		t.Errorf("healed: %s", out)
	}
}
