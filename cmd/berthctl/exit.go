package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"berth/domain/fault"
)

// The exit codes.
const (
	exitFine    = 0
	exitFailed  = 1 // what was asked for is refused; of a check: not all is as it must be
	exitUsage   = 2 // the command line or the environment is wrong
	exitUndone  = 3 // it could not be carried out: a server is away, or it was stopped
	exitToken   = 4 // the token is not good for it
	exitMissing = 5 // there is no such thing
	exitClash   = 6 // the state of things does not allow it, or no longer
)

// exits is the exit code of each kind of fault.
var exits = map[fault.Kind]int{ //nolint:gochecknoglobals // an immutable table
	fault.Internal: exitFailed, fault.Invalid: exitFailed,
	fault.Unauthenticated: exitToken, fault.Forbidden: exitToken, fault.NotFound: exitMissing,
	fault.AlreadyExists: exitClash, fault.Conflict: exitClash, fault.Gone: exitClash,
	fault.Exhausted: exitUndone, fault.Unavailable: exitUndone,
}

// usageError is a wrong command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// undone is what could not be carried out, whatever kept it from that.
type undone struct{ error }

func (u undone) Unwrap() error { return u.error }

// errNotAsItMust is a check's own answer, which was printed before.
var errNotAsItMust = errors.New("not all is as it must be")

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	fmt.Fprintln(w, "berthctl: "+explain(err))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[undone](err); ok {
		return exitUndone
	}
	if f, ok := fault.As(err); ok {
		if f.Slug == "invalid_url" {
			return exitUsage
		}
		return exits[f.Kind]
	}
	return exitFailed
}

// explain is a refusal as a person reads it: what, and its cure.
func explain(err error) string {
	f, ok := fault.As(err)
	if !ok {
		return err.Error()
	}
	out := f.Detail
	if f.Err != nil {
		out += ": " + f.Err.Error()
	}
	if f.Cure != "" {
		out += "; " + f.Cure
	}
	// What wraps a refusal says where it happened.
	return strings.Replace(err.Error(), f.Error(), out, 1)
}
