package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is berthd as a child of the test.
type process struct {
	tb     testing.TB
	cmd    *exec.Cmd
	errors safeBuffer
	out    safeBuffer
	ended  chan struct{}
	err    error
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const patience = time.Minute

// start starts berthd in a directory and waits for the line "ready".
func start(tb testing.TB, dir string, env []string, args ...string) *process {
	tb.Helper()
	p := launch(tb, dir, env, args...)
	p.await("ready")
	return p
}

func launch(tb testing.TB, dir string, env []string, args ...string) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: exec.Command("berthd", args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, append(os.Environ(), env...), &p.errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = p.out.Write([]byte(lines.Text() + "\n"))
		}
		p.err = p.cmd.Wait()
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// await waits for a line on standard output.
func (p *process) await(line string) {
	p.tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !strings.Contains("\n"+p.out.String(), "\n"+line+"\n") {
		select {
		case <-tick.C:
		case <-p.ended:
			p.tb.Fatalf("berthd ended: %v\n%s%s", p.err, p.out.String(), p.errors.String())
		case <-late:
			p.tb.Fatalf("berthd did not say %q\n%s%s", line, p.out.String(), p.errors.String())
		}
	}
}

// listening is where a listener said that it is.
func (p *process) listening(name string) string {
	p.tb.Helper()
	for line := range strings.SplitSeq(p.out.String(), "\n") {
		if url, ok := strings.CutPrefix(line, "listening "+name+" "); ok {
			return url
		}
	}
	p.tb.Fatalf("no listener is named %s:\n%s", name, p.out.String())
	return ""
}

// stop interrupts berthd, which ends well.
func (p *process) stop() {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.tb.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.tb.Fatalf("berthd does not stop\n%s", p.errors.String())
	}
	if p.err != nil {
		p.tb.Fatalf("berthd ended with %v\n%s", p.err, p.errors.String())
	}
}
