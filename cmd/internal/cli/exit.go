package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"berth/cmd/internal/settings"
	"berth/domain/fault"
)

// The exit codes that every program has. Those above are its own.
const (
	Fine    = 0
	Failed  = 1
	Misused = 2 // the command line or the configuration is wrong
)

// UsageError is a wrong command line.
type UsageError struct{ error }

func (u UsageError) Unwrap() error { return u.error }

// Usage says what is wrong with a command line.
func Usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Run has a program do its work until SIGINT or SIGTERM; a second signal ends the process at once. It returns the exit code.
func Run(work func(context.Context) error, code func(io.Writer, error) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return code(os.Stderr, work(ctx))
}

// Exit says what went wrong in a program, and what to do about it, and returns the code that scripts see: of what is no
// matter of usage, what the program says.
func Exit(w io.Writer, program string, err error, code func(error) int) int {
	if err == nil {
		return Fine
	}
	fmt.Fprintln(w, program+": "+Explain(err))
	var usage UsageError
	var problems settings.Problems
	if errors.As(err, &usage) || errors.As(err, &problems) {
		return Misused
	}
	return code(err)
}

// Explain is a refusal as a person reads it: what, why, and its cure.
func Explain(err error) string {
	f, ok := fault.As(err)
	if !ok {
		return err.Error()
	}
	out := f.Detail
	if f.Err != nil {
		out += ": " + Explain(f.Err)
	}
	if f.Cure != "" {
		out += "; " + f.Cure
	}
	// What wraps a refusal says where it happened.
	return strings.Replace(err.Error(), f.Error(), out, 1)
}
