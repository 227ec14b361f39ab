package main

import (
	"io"
	"strings"

	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

// The exit codes beside those of every program.
const (
	exitSuperseded = 3 // another process is this node by now
	exitUnready    = 4 // the data directory, a key or a file can not be used
)

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int { return cli.Exit(w, "berth-relay", err, codeOf) }

func codeOf(err error) int {
	slug := fault.SlugOf(err)
	switch {
	case slug == "node_superseded":
		return exitSuperseded
	case strings.HasPrefix(slug, "data_dir_"), strings.HasPrefix(slug, "engine_"), strings.HasPrefix(slug, "file_"),
		slug == "key_pair_malformed":
		return exitUnready
	}
	return cli.Failed
}
