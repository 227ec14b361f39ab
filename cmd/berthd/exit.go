package main

import (
	"io"
	"strings"

	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

// The exit codes beside those of every program.
const (
	exitSchema  = 3 // the database's schema is not the one of this program
	exitUnready = 4 // keys, secrets or certificates can not be used
)

// exitCode says what went wrong, and what to do about it, and returns the code that scripts see.
func exitCode(w io.Writer, err error) int { return cli.Exit(w, "berthd", err, codeOf) }

func codeOf(err error) int {
	slug := fault.SlugOf(err)
	switch {
	case strings.HasPrefix(slug, "schema_"):
		return exitSchema
	case strings.HasPrefix(slug, "key_file_"), slug == "file_signer_in_production", strings.HasPrefix(slug, "signer_"):
		return exitUnready
	}
	return cli.Failed
}
