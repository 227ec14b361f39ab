package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/config"
	"berth/domain/fault"
)

// Scripts tell by the exit code what went wrong; people read what and its cure, wherever in a chain the refusal stands.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Unavailable, "schema_outdated", "the database is old").Curable("upgrade it")
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{errors.New("broken"), 1, "berthd: broken\n"},
		{fault.New(fault.Conflict, "x", "no").Because(errors.New("why")), 1, "berthd: no: why\n"},
		{cli.Usage("unknown flag"), 2, "berthd: unknown flag\n"},
		{fmt.Errorf("a: %w", config.Problems{{Key: "listen", Detail: "is bad"}}), 2,
			"berthd: a: one thing is wrong with the configuration:\n  listen: is bad\n"},
		{fmt.Errorf("start: %w", refused), 3, "berthd: start: the database is old; upgrade it\n"},
		{fault.New(fault.Invalid, "key_file_unsafe", "open"), 4, "berthd: open\n"},
		{fault.New(fault.Unavailable, "signer_unavailable", "away"), 4, "berthd: away\n"},
	} {
		var out bytes.Buffer
		if code := exitCode(&out, c.err); code != c.code || out.String() != c.says {
			t.Errorf("%v: exit code %d, said %q", c.err, code, out.String())
		}
	}
}
