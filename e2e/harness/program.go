package harness

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// program is one of Berth's binaries as a child of the test, with the environment that its command line gives it and
// nothing of Berth's from the test's own.
type program struct {
	tb    testing.TB
	name  string
	args  []string
	env   func() map[string]string // asked at each start
	cmd   *exec.Cmd
	out   *output
	ended chan struct{}
	err   error

	shipped bool // as it is shipped, without the race detector
}

func newProgram(tb testing.TB, name string, env func() map[string]string, args ...string) *program {
	return &program{tb: tb, name: name, args: args, env: env, out: &output{}}
}

// start starts it again after it has ended, too; what it prints follows what it printed before.
func (p *program) start() {
	p.tb.Helper()
	path := Program
	if p.shipped {
		path = Shipped
	}
	cmd := exec.Command(path(p.tb, p.name), p.args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range p.env() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	must(p.tb, cmd.Start())
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() {
		p.err = cmd.Wait()
		close(ended)
	}()
}

func (p *program) signal(sig syscall.Signal) {
	p.tb.Helper()
	must(p.tb, p.cmd.Process.Signal(sig))
}

func (p *program) wait(bound time.Duration) (ended bool, err error) {
	if bound == 0 {
		select {
		case <-p.ended:
			return true, p.err
		default:
			return false, nil
		}
	}
	select {
	case <-p.ended:
		return true, p.err
	case <-time.After(bound):
		return false, nil
	}
}

func (p *program) output() string { return p.out.String() }
