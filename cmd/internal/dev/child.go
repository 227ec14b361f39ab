package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// child is a program beside this process, which is started again whenever it ends by itself.
type child struct {
	name    string // before each line that it logs
	path    string
	environ func(context.Context) ([]string, error) // asked before each start
	out     io.Writer
	log     *slog.Logger
}

const (
	firstPause   = 250 * time.Millisecond // before a child is started again; doubled each time
	longestPause = 10 * time.Second
	steady       = 30 * time.Second // a child that ran so long is started again as the first time
	stopGrace    = 20 * time.Second // how long a child may take to stop
	exitUsage    = 2                // of a program whose settings are wrong, which starting it again would not change
)

// keep runs the child until the context ends, and then stops it. The error is of a child that can not run.
func (c *child) keep(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() == exitUsage) {
			return fmt.Errorf("%s can not run: %w", c.name, err)
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		c.log.Warn("a program ended by itself, and is started again", "program", c.name, "ended", ending(err), "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

func ending(err error) string {
	if err == nil {
		return "well"
	}
	return err.Error()
}

// once runs the child until it ends.
func (c *child) once(ctx context.Context) error {
	environ, err := c.environ(ctx)
	if err != nil {
		return err
	}
	// A child's end by the end of this process hangs on the thread that started it, which therefore stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lines := &prefixed{prefix: c.name + " | ", out: c.out}
	defer lines.flush()
	cmd := exec.CommandContext(ctx, c.path) //nolint:gosec // it is where this program is, or where its user says
	cmd.Env, cmd.Stderr = environ, lines
	cmd.SysProcAttr = tied()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	if err := cmd.Start(); err != nil {
		return err
	}
	c.log.Info("a program runs", "program", c.name, "pid", cmd.Process.Pid)
	return cmd.Wait()
}

// keepAll runs children until the context ends, and then stops all at once. Where one can not run, stop is called.
func keepAll(ctx context.Context, stop func(), all ...*child) *errgroup.Group {
	g := &errgroup.Group{}
	for _, c := range all {
		g.Go(func() error {
			err := c.keep(ctx)
			if err != nil {
				stop()
			}
			return err
		})
	}
	return g
}

// prefixed writes whole lines, with a prefix before each.
type prefixed struct {
	prefix string
	out    io.Writer
	rest   []byte
}

// Write keeps what is no whole line yet.
func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		end := bytes.IndexByte(p.rest, '\n')
		if end < 0 {
			return len(b), nil
		}
		line := append([]byte(p.prefix), p.rest[:end+1]...)
		p.rest = p.rest[end+1:]
		if _, err := p.out.Write(line); err != nil {
			return 0, err
		}
	}
}

// flush writes what a program said without ending the line.
func (p *prefixed) flush() {
	if len(p.rest) > 0 {
		_, _ = p.Write([]byte("\n"))
	}
}
