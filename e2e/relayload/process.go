package relayload

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program under measure, as the machine sees it.
type Process struct {
	tb    testing.TB
	name  string
	cmd   *exec.Cmd
	out   *output
	ended chan struct{}
}

const stopBound = 30 * time.Second

// run starts a program with that environment and nothing else of ours; the benchmark's end stops it.
func run(tb testing.TB, path string, env map[string]string, args ...string) *Process {
	tb.Helper()
	p := &Process{tb: tb, name: path, cmd: exec.Command(path, args...), out: &output{}, ended: make(chan struct{})}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // no benchmark that was killed leaves it behind
	must(tb, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended is of no interest: stop says whether it had to be killed
		close(p.ended)
	}()
	tb.Cleanup(p.stop)
	return p
}

func (p *Process) stop() {
	p.tb.Helper()
	select {
	case <-p.ended:
		p.tb.Errorf("%s ended by itself; it said:\n%s", p.name, p.out)
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
	select {
	case <-p.ended:
	case <-time.After(stopBound):
		_ = p.cmd.Process.Kill()
		p.tb.Errorf("%s did not stop within %s; it said:\n%s", p.name, stopBound, p.out)
	}
}

// CPU is the processor time that it used so far.
func (p *Process) CPU() time.Duration {
	p.tb.Helper()
	_, rest, _ := strings.Cut(p.proc("stat"), ") ")
	var ticks int64
	for _, field := range strings.Fields(rest)[11:13] { // in user mode and in the kernel's, proc(5)
		n, err := strconv.ParseInt(field, 10, 64)
		must(p.tb, err)
		ticks += n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go supports
	return time.Duration(ticks) * tick
}

// Resident is the memory in use, in bytes.
func (p *Process) Resident() int64 {
	p.tb.Helper()
	_, rest, _ := strings.Cut(p.proc("status"), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	must(p.tb, err)
	return kib << 10
}

// Written is how many bytes it had written to the disk so far.
func (p *Process) Written() int64 {
	p.tb.Helper()
	_, rest, _ := strings.Cut(p.proc("io"), "\nwrite_bytes:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	must(p.tb, err)
	return n
}

// Files is how many files and connections it has open.
func (p *Process) Files() int {
	p.tb.Helper()
	all, err := os.ReadDir("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/fd")
	must(p.tb, err)
	return len(all)
}

func (p *Process) proc(file string) string {
	p.tb.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/" + file)
	must(p.tb, err)
	return string(text)
}

// within waits until something is so while the program runs.
func (p *Process) within(bound time.Duration, what string, ok func() bool) {
	p.tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-p.ended:
			p.tb.Fatalf("%s ended while it was waited until %s; it said:\n%s", p.name, what, p.out)
		case <-late:
			p.tb.Fatalf("%s: after %s it is not so that %s; it said:\n%s", p.name, bound, what, p.out)
		}
	}
}

// output is what a program printed.
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
