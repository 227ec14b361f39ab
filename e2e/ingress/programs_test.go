package ingress_test

import (
	"bytes"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth/e2e/harness"
	"berth/e2e/lab"
)

// program is a running binary, wherever it runs.
type program interface {
	signal(syscall.Signal)
	output() string
	revive() // after it was killed
}

// child is a binary as a process of this machine.
type child struct {
	tb      testing.TB
	name    string
	env     map[string]string
	cmd     *exec.Cmd
	said    said
	stopped bool
}

// said is what a program printed so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func spawn(tb testing.TB, name string, env map[string]string) *child {
	tb.Helper()
	c := &child{tb: tb, name: name, env: env}
	c.start()
	tb.Cleanup(c.stop)
	return c
}

func (c *child) start() {
	c.tb.Helper()
	args := []string{"serve"}
	if c.name == "berthd" {
		args = append(args, "--migrate")
	}
	c.cmd = exec.Command(harness.Program(c.tb, c.name), args...)
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range c.env {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	must(c.tb, c.cmd.Start())
	c.stopped = false
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }
func (c *child) output() string          { return c.said.String() }

func (c *child) stop() {
	c.tb.Helper()
	if c.stopped {
		return
	}
	c.stopped = true
	c.signal(syscall.SIGTERM)
	late := time.AfterFunc(30*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	if err := c.cmd.Wait(); err != nil {
		c.tb.Errorf("%s ended with %v; it said:\n%s", c.name, err, tail(c.output()))
	}
}

func (c *child) revive() {
	c.tb.Helper()
	_ = c.cmd.Wait() // it was killed, and says so
	c.start()
}

// contained is a binary in a container of the image that is shipped.
type contained struct {
	tb        testing.TB
	container *lab.Container
}

var images = struct{ berthd, ingress func() (string, error) }{
	sync.OnceValues(func() (string, error) { return lab.Image("berthd") }),
	sync.OnceValues(func() (string, error) { return lab.Image("berth-ingress") }),
}

func contain(tb testing.TB, image func() (string, error), spec lab.Spec) *contained {
	tb.Helper()
	id, err := image()
	must(tb, err)
	spec.Image = id
	return &contained{tb, lab.Launch(tb, spec)}
}

func (c *contained) signal(s syscall.Signal) { c.container.Signal(strconv.Itoa(int(s))) }
func (c *contained) output() string          { return c.container.Logs() }

func (c *contained) revive() {
	c.tb.Helper()
	within(c.tb, "it has ended", c, func() bool { state, _ := c.container.State(); return state == "exited" })
	c.container.Start()
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// free are addresses at which nobody listens, held together, or the second might be the first.
func free(tb testing.TB, n int) []string {
	tb.Helper()
	var found []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(tb, err)
		defer func() { _ = l.Close() }()
		found = append(found, l.Addr().String())
	}
	return found
}

// within waits until something is so.
func within(tb testing.TB, what string, p program, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("after 30 s it is not so that %s; it said:\n%s", what, tail(p.output()))
		}
	}
}

// with is an environment with more in it, each name=value.
func with(env map[string]string, more ...string) map[string]string {
	out := maps.Clone(env)
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		out[name] = value
	}
	return out
}
