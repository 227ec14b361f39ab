package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is berthctl too, for scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"berthctl": func() { os.Exit(run()) }})
}

// What each command prints and how it exits is written down in the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Setup: besides})
}
