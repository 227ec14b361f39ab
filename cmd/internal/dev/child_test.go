package dev

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buffer is written by several programs.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) { b.mu.Lock(); defer b.mu.Unlock(); return b.b.Write(p) }

func (b *buffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// await waits until something was written so often.
func (b *buffer) await(t *testing.T, part string, times int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for strings.Count(b.String(), part) < times {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%q was not written %d times:\n%s", part, times, b.String())
		}
	}
}

// scripted is a child that is a shell script.
func scripted(t *testing.T, script string) (*child, *buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	out := &buffer{}
	none := func(context.Context) ([]string, error) {
		return []string{"PATH=" + os.Getenv("PATH"), "GREETING=hello"}, nil
	}
	return &child{name: "n1", path: path, environ: none, out: out, log: slog.New(slog.NewTextHandler(out, nil))}, out
}

// A child that ends by itself is started again, which is said; what it logs has its name before each line, the last one
// that it did not end included.
func TestChildIsStartedAgain(t *testing.T) {
	t.Parallel()
	c, out := scripted(t, "echo $GREETING >&2\nprintf cut >&2\nexit 7\n")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.keep(ctx) }()
	out.await(t, "n1 | hello\n", 2)
	out.await(t, "n1 | cut\n", 2)
	out.await(t, `msg="a program ended by itself, and is started again" program=n1 ended="exit status 7" pause=250ms`, 1)
	out.await(t, "pause=500ms", 1)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A child is asked to stop, and is not started again after that.
func TestChildStops(t *testing.T) {
	t.Parallel()
	c, out := scripted(t, "trap 'echo parting >&2; exit 0' TERM\necho up >&2\nwhile :; do sleep 0.05; done\n")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.keep(ctx) }()
	out.await(t, "n1 | up\n", 1)
	stop()
	if err := <-done; err != nil || !strings.Contains(out.String(), "n1 | parting\n") || strings.Count(out.String(), "up\n") != 1 {
		t.Fatalf("it ended with %v, having said:\n%s", err, out)
	}
}

// A program that is not there or refuses its settings ends everything: trying again would not help.
func TestChildThatCanNotRun(t *testing.T) {
	t.Parallel()
	refusing, _ := scripted(t, "exit 2\n")
	absent, _ := scripted(t, "")
	absent.path += "-absent"
	for _, c := range []*child{refusing, absent} {
		ctx, stop := context.WithCancel(t.Context())
		if err := keepAll(ctx, stop, c).Wait(); err == nil || !strings.Contains(err.Error(), "n1 can not run") || ctx.Err() == nil {
			t.Errorf("%s: %v", c.path, err)
		}
		stop()
	}
}

// Programs are looked for where the variable says, and what is missing is named with what to do.
func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{"X=1", binVariable + "=" + dir}
	if err := os.WriteFile(filepath.Join(dir, "berth-ingress"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := programs(environ); err == nil || !strings.Contains(err.Error(), "runs berth-relay, and "+dir) ||
		!strings.Contains(err.Error(), "make build") {
		t.Errorf("one is missing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "berth-relay"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := programs(environ); err != nil || found["berth-relay"] != filepath.Join(dir, "berth-relay") {
		t.Errorf("found %v (%v)", found, err)
	}
}

// A child has the settings that are decided for it, and all others as they were.
func TestOverlay(t *testing.T) {
	t.Parallel()
	got := overlay([]string{"NODE=x", "BERTH_RELAY_NODE=other", "BERTH_RELAY_CAPACITY_TENANTS=3"}, "BERTH_RELAY_", map[string]string{"NODE": "n1"})
	slices.Sort(got)
	if want := []string{"BERTH_RELAY_CAPACITY_TENANTS=3", "BERTH_RELAY_NODE=n1", "NODE=x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
