// Command berthd is Berth's control plane.
package main

import (
	"context"
	"os"

	"berth/cmd/internal/cli"
)

// version is set by the linker.
var version = "devel"

func main() { os.Exit(run()) }

// run is main, with the exit code returned.
func run() int {
	return cli.Run(func(ctx context.Context) error { return newRoot(os.Stdout, os.Stderr).ExecuteContext(ctx) }, exitCode)
}
