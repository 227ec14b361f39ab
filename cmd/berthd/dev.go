package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/dev"
)

func newDev(s streams) *cobra.Command {
	o := dev.Options{Version: version, Out: s.out, Err: s.err, Logger: s.logger}
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything on loopback, for development", Args: cli.None,
		Long: "Run the control plane, an ingress and two nodes on loopback, with a CA, keys and a database of their own in one\n" +
			"directory, and something to look at in it. The directory's dev.json says where everything is. The ingress and the\n" +
			"nodes are processes of their own; one that ends is started again.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Environ = os.Environ()
			// A terminal that closes takes what runs in it along.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
			defer stop()
			return dev.Run(ctx, o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", ".berth", "`directory` that keeps the state")
	cmd.Flags().IntVar(&o.Port, "port", 8440, "of the API; another one where it is taken")
	cmd.Flags().IntVar(&o.MetricsPort, "metrics-port", 8449, "of metrics; likewise")
	cmd.Flags().DurationVar(&o.Pace, "pace", time.Second, "a pause before each step of a migration, to watch it")
	return cmd
}
