package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is berth-ingress too, for scripts and for tests that start it as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"berth-ingress": func() { os.Exit(run()) }})
}

// What each command prints and how it exits is written down in the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}
