package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/relayd"
	"berth/cmd/internal/settings"
	wired "berth/cmd/internal/wiring/relay"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	run := &cobra.Command{
		Use: "run", Short: "Run the node; what berth-relay without a command does", Args: cli.None,
		Long: "Run the node until SIGINT or SIGTERM. From then on it serves nothing; a second signal ends it at once. A line on\n" +
			"standard output names the listener of metrics and of the page /debug/tenants, and the line \"ready\" says that\n" +
			"the node is enrolled and registered and has a lease.\n\n" +
			"Exit codes: 0 it was stopped, 1 it failed, 2 the command line or the configuration is wrong, 3 another process is\n" +
			"this node by now, 4 the data directory, a key or a file can not be used.",
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	relayd.Program().AddFlags(run.Flags())
	root := cli.Root(&cobra.Command{Use: "berth-relay", Short: "A relay node of Berth", RunE: run.RunE}, out, err)
	cli.VersionFlag(root, version)
	relayd.Program().AddFlags(root.Flags())
	root.AddCommand(run, cli.Config(out, relayd.Program().AddFlags, s.load))
	return root
}

// load reads the configuration, and tells of what a person probably did not mean.
func (s streams) load(cmd *cobra.Command) (*settings.Loaded[relayd.Config], error) {
	from := settings.Sources{Environ: os.Environ(), Flags: cmd.Flags()}
	l, err := relayd.Program().Load(from, relayd.Judge(from.Production()))
	if err != nil {
		return nil, err
	}
	cli.Warn(s.err, "berth-relay", l.Warnings)
	return l, nil
}

func (s streams) run(cmd *cobra.Command) error {
	l, err := s.load(cmd)
	if err != nil {
		return err
	}
	c := l.Values
	log := settings.Logger(s.err, c.LogLevel, c.LogFormat)
	p, release, err := wired.Build(c, log, wired.Version(version))
	if err != nil {
		return err
	}
	defer release()
	log.Info("starting", "version", version, "node", c.Node, "region", c.Region)
	defer log.Info("stopped")
	return p.Run(cmd.Context(), s.out)
}
