package main

import (
	"io"

	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

// exitUnready is the exit code beside those of every program, as berthd has it: secrets or certificates can not be used.
const exitUnready = 4

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int { return cli.Exit(w, "berth-ingress", err, codeOf) }

func codeOf(err error) int {
	if _, ok := fault.As(err); ok { // of files, all of which were read before anything is served
		return exitUnready
	}
	return cli.Failed
}
