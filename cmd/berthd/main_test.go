package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is berthd too, for scripts and for tests that start it as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){"berthd": func() { os.Exit(run()) }})
}

// tidy removes what the tests share after all of them.
type tidy struct{ *testing.M }

func (t tidy) Run() int {
	defer func() { _ = os.RemoveAll(siblings.dir) }()
	return t.M.Run()
}

// siblings are the programs that berthd dev runs beside itself, built where first needed.
var siblings struct {
	once sync.Once
	dir  string
	err  error
}

func buildSiblings(tb testing.TB) (dir string) {
	tb.Helper()
	siblings.once.Do(func() {
		if siblings.dir, siblings.err = os.MkdirTemp("", "berth-dev-"); siblings.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", siblings.dir+string(filepath.Separator),
			"berth/cmd/berth-ingress", "berth/cmd/berth-relay", "berth/cmd/berthctl").CombinedOutput()
		if err != nil {
			siblings.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if siblings.err != nil {
		tb.Fatal(siblings.err)
	}
	return siblings.dir
}

// What each command prints and how it exits is written down in the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}
