package harness

import (
	"bytes"
	"crypto/rand"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// child is a berthd that runs as a child of the test.
type child struct {
	s     *Server
	cmd   *exec.Cmd
	out   *output
	ended chan struct{} // closed when it has
	err   error         // with what
}

func (c *child) start() {
	s := c.s
	s.t.Helper()
	free := addresses(s.t, 3)
	api, metrics, enroll := free[0], free[1], free[2]
	s.API, s.Metrics, s.Enrolment = "http://"+api, "http://"+metrics, "http://"+enroll
	c.out, c.ended = &output{}, make(chan struct{})
	c.cmd = exec.Command(Binary(s.t), "serve", "--migrate")
	c.cmd.Env = append(os.Environ(),
		"BERTH_DATABASE_URL="+s.Database,
		"BERTH_LISTEN="+api, "BERTH_METRICS_LISTEN="+metrics, "BERTH_INTERNAL_LISTEN=unix:"+s.Socket,
		"BERTH_ENROLL_LISTEN="+enroll,
		"BERTH_KMS_URL=file:"+filepath.Join(s.Dir, "keys"),
		"BERTH_BOOTSTRAP_TOKEN_FILE="+filepath.Join(s.Dir, "bootstrap"),
		"BERTH_INGRESS_SECRETS_FILE="+filepath.Join(s.Dir, "ingress.json"))
	c.cmd.Env = append(append(c.cmd.Env, generous()...), s.Extra...)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	must(s.t, c.cmd.Start())
	go func(cmd *exec.Cmd, ended chan<- struct{}) {
		c.err = cmd.Wait()
		close(ended)
	}(c.cmd, c.ended)
}

func (c *child) signal(sig syscall.Signal) { c.s.t.Helper(); must(c.s.t, c.cmd.Process.Signal(sig)) }

func (c *child) wait(bound time.Duration) (ended bool, err error) {
	if bound == 0 {
		select {
		case <-c.ended:
			return true, c.err
		default:
			return false, nil
		}
	}
	select {
	case <-c.ended:
		return true, c.err
	case <-time.After(bound):
		return false, nil
	}
}

func (c *child) output() string { return c.out.String() }

// PID is the id of a berthd that is a process of this machine.
func (s *Server) PID() int { return s.process.(*child).cmd.Process.Pid }

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// freeAddresses are two at which nobody listens.
func freeAddresses(t testing.TB) (one, other string) {
	t.Helper()
	free := addresses(t, 2)
	return free[0], free[1]
}

// addresses are several at which nobody listens. They are held together, or the second might be the first. They lie below
// what Linux gives to connections by itself: between two starts of a program nobody's connection takes its port.
func addresses(t testing.TB, n int) (free []string) {
	t.Helper()
	const lowest, many = 12_000, 20_000
	for tries := 0; len(free) < n; tries++ {
		port, err := rand.Int(rand.Reader, big.NewInt(many))
		must(t, err)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.FormatInt(lowest+port.Int64(), 10))
		if err != nil {
			if tries > 100*n {
				t.Fatalf("no port is free: %v", err)
			}
			continue
		}
		defer func() { _ = l.Close() }()
		free = append(free, l.Addr().String())
	}
	return free
}
