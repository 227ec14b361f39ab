// Command berth-relay is one relay node.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"berth/cmd/internal/cli"
)

// version is set by the linker.
var version = "devel"

func main() { os.Exit(run()) }

// idle is GOGC where nobody says another: most of what a node's connections hold lives long, so that collecting it a little more
// often costs less than a heap of twice its size (docs/connect.md).
const idle = 50

func tune() {
	if _, said := os.LookupEnv("GOGC"); !said {
		debug.SetGCPercent(idle)
	}
}

// run is main, with the exit code returned.
func run() int {
	tune()
	return cli.Run(func(ctx context.Context) error { return newRoot(os.Stdout, os.Stderr).ExecuteContext(ctx) }, exitCode)
}
