package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"berth/cmd/internal/relayd"
	"berth/cmd/internal/settings"
	wired "berth/cmd/internal/wiring/relay"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	root := &cobra.Command{
		Use: "berth-relay", Short: "A relay node of Berth", SilenceUsage: true, SilenceErrors: true, Args: none,
		Version: fmt.Sprintf("%s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
	root.SetVersionTemplate("berth-relay {{.Version}}\n")
	root.SetOut(out)
	root.SetErr(err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
	})
	run := &cobra.Command{
		Use: "run", Short: "Run the node; what berth-relay without a command does", Args: none,
		Long: "Run the node until SIGINT or SIGTERM. From then on it serves nothing; a second signal ends it at once. A line on\n" +
			"standard output names the listener of metrics and of the page /debug/tenants, and the line \"ready\" says that\n" +
			"the node is enrolled and registered and has a lease.\n\n" +
			"Exit codes: 0 it was stopped, 1 it failed, 2 the command line or the configuration is wrong, 3 another process is\n" +
			"this node by now, 4 the data directory, a key or a file can not be used.",
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	relayd.Program().AddFlags(run.Flags())
	relayd.Program().AddFlags(root.Flags())
	root.RunE = run.RunE
	root.AddCommand(run, s.config())
	return root
}

// none refuses arguments. Cobra's own would not count as a wrong command line.
func none(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no argument %q; %s --help lists what there is", cmd.CommandPath(), args[0], cmd.CommandPath())}
}

// load reads the configuration, and tells of what a person probably did not mean.
func (s streams) load(cmd *cobra.Command) (*settings.Loaded[relayd.Config], error) {
	from := settings.Sources{Environ: os.Environ(), Flags: cmd.Flags()}
	l, err := relayd.Program().Load(from, relayd.Judge(from.Production()))
	if err != nil {
		return nil, err
	}
	for _, w := range l.Warnings {
		fmt.Fprintln(s.err, "berth-relay: "+w)
	}
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

func (s streams) config() *cobra.Command {
	parent := &cobra.Command{
		Use: "config", Short: "Look at the configuration", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use: "check", Short: "Validate the configuration, and print it without secrets, with where each value came from",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := s.load(cmd)
			if err != nil {
				return err
			}
			return l.Show(s.out)
		},
	}
	relayd.Program().AddFlags(check.Flags())
	parent.AddCommand(check)
	return parent
}
