package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"berth/cmd/internal/config"
	"berth/cmd/internal/settings"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	root := &cobra.Command{
		Use: "berthd", Short: "Berth's control plane", SilenceUsage: true, SilenceErrors: true,
		Args: none, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
	})
	root.AddCommand(newServe(s), newMigrate(s), newConfig(s), newDev(s), newVersion(s))
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
func (s streams) load(cmd *cobra.Command, use config.Use) (*config.Loaded, error) {
	l, err := config.Load(config.Sources{Environ: os.Environ(), Flags: cmd.Flags()}, use)
	if err != nil {
		return nil, err
	}
	for _, w := range l.Warnings {
		fmt.Fprintln(s.err, "berthd: "+w)
	}
	return l, nil
}

// logger writes to the error stream as the configuration says.
func (s streams) logger(c config.Config) *slog.Logger {
	return settings.Logger(s.err, c.LogLevel, c.LogFormat)
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print what this program was built from", Args: none,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "berthd %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func newConfig(s streams) *cobra.Command {
	parent := &cobra.Command{
		Use: "config", Short: "Look at the configuration", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use: "check", Short: "Validate the configuration, and print it without secrets, with where each value came from",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := s.load(cmd, config.ForServing)
			if err != nil {
				return err
			}
			return l.Show(s.out)
		},
	}
	config.AddFlags(check.Flags())
	parent.AddCommand(check)
	return parent
}
