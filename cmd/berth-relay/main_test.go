package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/settings"
	"berth/domain/fault"
)

// The test binary is berth-relay too, for scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"berth-relay": func() { os.Exit(run()) }})
}

// What each command prints and how it exits is written down in the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}

// Whoever starts nodes tells by the exit code what went wrong: that another process is the node is none that starting again
// cures.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{errors.New("broken"), 1, "berth-relay: broken\n"},
		{cli.Usage("unknown flag"), 2, "berth-relay: unknown flag\n"},
		{settings.Problems{{Key: "node", Detail: "is missing"}}, 2, "berth-relay: one thing is wrong with the configuration:\n  node: is missing\n"},
		{fmt.Errorf("run: %w", fault.New(fault.Conflict, "node_superseded", "another").Curable("look")), 3, "berth-relay: run: another; look\n"},
		{fault.New(fault.Unavailable, "data_dir_locked", "taken").Because(errors.New("why")), 4, "berth-relay: taken: why\n"},
		{fault.New(fault.Internal, "engine_damaged", "damaged"), 4, "berth-relay: damaged\n"},
		{fault.New(fault.Invalid, "file_unsafe", "open"), 4, "berth-relay: open\n"},
	} {
		var out bytes.Buffer
		if code := exitCode(&out, c.err); code != c.code || out.String() != c.says {
			t.Errorf("%v: exit code %d, said %q", c.err, code, out.String())
		}
	}
}
