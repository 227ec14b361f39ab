package main

import (
	"errors"
	"io"

	"berth/adapters/connectclient"
	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

// The exit codes beside those of every program. cli.Failed is that of what is refused, and of a check of which not all is
// as it must be.
const (
	exitUndone  = 3 // it could not be carried out: a server is away, or it was stopped
	exitToken   = 4 // the token is not good for it
	exitMissing = 5 // there is no such thing
	exitClash   = 6 // the state of things does not allow it, or no longer
)

// exits is the exit code of each kind of fault.
var exits = map[fault.Kind]int{ //nolint:gochecknoglobals // an immutable table
	fault.Internal: cli.Failed, fault.Invalid: cli.Failed,
	fault.Unauthenticated: exitToken, fault.Forbidden: exitToken, fault.NotFound: exitMissing,
	fault.AlreadyExists: exitClash, fault.Conflict: exitClash, fault.Gone: exitClash,
	fault.Exhausted: exitUndone, fault.Unavailable: exitUndone,
}

// undone is what could not be carried out, whatever kept it from that.
type undone struct{ error }

func (u undone) Unwrap() error { return u.error }

// errNotAsItMust is a check's own answer, which was printed before.
var errNotAsItMust = errors.New("not all is as it must be")

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int { return cli.Exit(w, "berthctl", err, codeOf) }

func codeOf(err error) int {
	if _, ok := errors.AsType[undone](err); ok {
		return exitUndone
	}
	if _, ok := errors.AsType[*connectclient.Goaway](err); ok { // after which there is no coming back
		return exitToken
	}
	if f, ok := fault.As(err); ok {
		if f.Slug == "invalid_url" {
			return cli.Misused
		}
		return exits[f.Kind]
	}
	return cli.Failed
}
