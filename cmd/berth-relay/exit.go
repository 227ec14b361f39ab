package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"berth/cmd/internal/settings"
	"berth/domain/fault"
)

// The exit codes.
const (
	exitFine       = 0
	exitFailed     = 1
	exitUsage      = 2 // the command line or the configuration is wrong
	exitSuperseded = 3 // another process is this node by now
	exitUnready    = 4 // the data directory, a key or a file can not be used
)

// usageError is a wrong command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int {
	if err == nil {
		return exitFine
	}
	fmt.Fprintln(w, "berth-relay: "+explain(err))
	var usage usageError
	var problems settings.Problems
	slug := fault.SlugOf(err)
	switch {
	case errors.As(err, &usage), errors.As(err, &problems):
		return exitUsage
	case slug == "node_superseded":
		return exitSuperseded
	case strings.HasPrefix(slug, "data_dir_"), strings.HasPrefix(slug, "engine_"), strings.HasPrefix(slug, "file_"),
		slug == "key_pair_malformed":
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
