package harness

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is an ingress or a node, wherever it runs.
type running struct {
	tb      testing.TB
	name    string
	process process
	started bool
	down    bool // as the test wants it
}

// Start starts it, again after it has ended; the test's end stops it.
func (r *running) Start() {
	r.tb.Helper()
	r.process.start()
	r.down = false
	if !r.started {
		r.started = true
		r.tb.Cleanup(r.Stop)
	}
}

// Stop ends it as an operator would, unless it was stopped or killed before, and checks that it ended well.
func (r *running) Stop() {
	r.tb.Helper()
	if r.down {
		return
	}
	r.down = true
	r.signal(syscall.SIGCONT) // where the test left it stopped
	r.signal(syscall.SIGTERM)
	switch ended, err := r.process.wait(stopBound); {
	case !ended:
		r.signal(syscall.SIGKILL)
		r.tb.Errorf("%s did not stop within %s; it said:\n%s", r.name, stopBound, r.Output())
	case err != nil:
		r.tb.Errorf("%s ended with %v; it said:\n%s", r.name, err, r.Output())
	}
}

// Kill ends it as a power cut would.
func (r *running) Kill() {
	r.tb.Helper()
	r.down = true
	r.signal(syscall.SIGKILL)
	if ended, _ := r.process.wait(stopBound); !ended {
		r.tb.Fatalf("%s lives on after SIGKILL", r.name)
	}
}

// Ends waits until it has ended by itself, and returns its exit code.
func (r *running) Ends(bound time.Duration) int {
	r.tb.Helper()
	ended, err := r.process.wait(bound)
	if !ended {
		r.tb.Fatalf("%s still runs after %s; it said:\n%s", r.name, bound, r.Output())
	}
	r.down = true
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		r.tb.Fatalf("%s: %v", r.name, err)
	}
	return 0
}

// Lives says whether it has not ended.
func (r *running) Lives() bool { ended, _ := r.process.wait(0); return !ended }

// Pause stops it in the middle of whatever it does, its connections open (SIGSTOP).
func (r *running) Pause() { r.tb.Helper(); r.signal(syscall.SIGSTOP) }

// Unpause lets it go on as if no time had passed.
func (r *running) Unpause() { r.tb.Helper(); r.signal(syscall.SIGCONT) }

func (r *running) signal(sig syscall.Signal) { r.tb.Helper(); r.process.signal(sig) }

// Output is what it printed so far.
func (r *running) Output() string { return r.process.output() }

// Within waits until something is so while it runs.
func (r *running) Within(bound time.Duration, what string, ok func() bool) {
	r.tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			r.tb.Fatalf("%s: after %s it is not so that %s; it said:\n%s", r.name, bound, what, tail(r.Output()))
		}
		if !r.down && !r.Lives() {
			r.tb.Fatalf("%s ended while it was waited until %s; it said:\n%s", r.name, what, tail(r.Output()))
		}
	}
}

// tail is the end of a long text.
func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return text
}
