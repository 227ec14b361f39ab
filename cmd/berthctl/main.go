// Command berthctl is the operator's terminal.
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
	return cli.Run(func(ctx context.Context) error {
		return newRoot(streams{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv}).ExecuteContext(ctx)
	}, exitCode)
}
