package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"berth/cmd/internal/settings"
	"berth/domain/fault"
)

// The exit codes, as berthd has them.
const (
	exitFine    = 0
	exitFailed  = 1
	exitUsage   = 2 // the command line or the configuration is wrong
	exitUnready = 4 // secrets or certificates can not be used
)

// usageError is a wrong command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	fmt.Fprintln(w, "berth-ingress: "+explain(err))
	var usage usageError
	var problems settings.Problems
	if errors.As(err, &usage) || errors.As(err, &problems) {
		return exitUsage
	}
	if _, ok := fault.As(err); ok { // of files, all of which were read before anything is served
		return exitUnready
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
