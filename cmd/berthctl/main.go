// Command berthctl is the operator's terminal.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "devel"

func main() { os.Exit(run()) }

// run is main, with the exit code returned.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := newRoot(streams{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv}).ExecuteContext(ctx)
	return exitCode(os.Stderr, err)
}
