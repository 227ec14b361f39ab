package helmrender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"berth/adapters/render/helmrender/exchange"
	"berth/domain/fault"
)

// overCode is what Go's runtime ends a process with that has no more memory, or no end of recursion.
const overCode = 2

var errTooMuch = errors.New("the child's answer is too long")

// run has a child do a job.
func (r *Renderer) run(ctx context.Context, job exchange.Job) ([]exchange.File, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, unavailable("the job can not be written").Because(err)
	}
	limited, cancel := context.WithTimeout(ctx, r.config.Within)
	defer cancel()
	var complaint bytes.Buffer
	said := &capped{Buffer: &bytes.Buffer{}, left: exchange.MaxAnswer, full: cancel}
	cmd, err := r.isolation.start(func() *exec.Cmd {
		cmd := exec.CommandContext(limited, r.config.Program, r.config.Args...) //nolint:gosec // wiring says what this program is
		cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "TZ=UTC"}        // and none of this process's own
		cmd.Dir = "/"
		cmd.Stdin = bytes.NewReader(text)
		cmd.Stdout = said
		cmd.Stderr = &capped{Buffer: &complaint, left: 4 << 10}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		return cmd
	})
	if err != nil {
		return nil, unavailable("its process could not be started").Because(err)
	}
	err = cmd.Wait()
	switch {
	case err == nil:
		return answered(said.Bytes())
	case ctx.Err() != nil:
		return nil, unavailable("it was given up").Because(ctx.Err())
	case said.over: // and not by err, which rather says that the child was killed for it
		return nil, fault.New(fault.Invalid, "manifest_too_large", "what the chart renders is too large")
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, r.tooSlow()
	}
	return nil, r.died(cmd, err, complaint.String())
}

// died says why a child gave no answer, by how it ended.
func (r *Renderer) died(cmd *exec.Cmd, err error, complaint string) error {
	state := cmd.ProcessState
	if state != nil {
		status, _ := state.Sys().(syscall.WaitStatus)
		used := state.UserTime() + state.SystemTime()
		switch {
		case status.Signaled() && status.Signal() == syscall.SIGKILL && used >= r.config.Within-time.Second/2:
			return r.tooSlow()
		case status.Exited() && status.ExitStatus() == overCode:
			return fault.New(fault.Invalid, "manifest_too_large", "rendering the chart takes more than %d MiB of memory, or recurs without end",
				r.config.Memory>>20)
		}
	}
	return unavailable("its process ended without an answer").Because(errors.Join(err, errors.New(complaint)))
}

func (r *Renderer) tooSlow() error {
	return fault.New(fault.Invalid, "chart_too_slow", "rendering the chart takes longer than %v", r.config.Within)
}

// refusals are what a child may say of a chart.
//
//nolint:gochecknoglobals // an immutable table
var refusals = []string{"chart_invalid", "chart_impure", "chart_dependency_missing", "manifest_too_large"}

func answered(text []byte) ([]exchange.File, error) {
	var a exchange.Answer
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, unavailable("its process gave no answer").Because(err)
	}
	switch {
	case a.Slug == "":
		return a.Files, nil
	case slices.Contains(refusals, a.Slug):
		f := fault.New(fault.Invalid, a.Slug, "%s", a.Detail)
		f.Cure = a.Cure
		return nil, f
	}
	return nil, unavailable("its process gave no answer that is known")
}

// capped takes so much and no more. Where full is there, too much is an error and calls it; else the rest is dropped.
type capped struct {
	*bytes.Buffer
	left int
	full func()
	over bool // for whoever waited until nothing is written any more
}

// ReadFrom would go round the bound, were it the buffer's.
func (c *capped) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{c}, r)
}

func (c *capped) Write(p []byte) (int, error) {
	take := min(len(p), c.left)
	c.left -= take
	_, _ = c.Buffer.Write(p[:take]) // it never fails
	if take < len(p) && c.full != nil {
		c.over = true
		c.full()
		return take, errTooMuch
	}
	return len(p), nil
}
