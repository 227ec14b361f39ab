package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/config"
	"berth/cmd/internal/settings"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	root := cli.Root(&cobra.Command{Use: "berthd", Short: "Berth's control plane"}, out, err)
	root.AddCommand(newServe(s), newMigrate(s), cli.Config(out, config.AddFlags, s.forServing), newDev(s), newRenderChart(s), cli.Version(out, version))
	return root
}

func (s streams) forServing(cmd *cobra.Command) (*config.Loaded, error) {
	return s.load(cmd, config.ForServing)
}

// load reads the configuration, and tells of what a person probably did not mean.
func (s streams) load(cmd *cobra.Command, use config.Use) (*config.Loaded, error) {
	l, err := config.Load(config.Sources{Environ: os.Environ(), Flags: cmd.Flags()}, use)
	if err != nil {
		return nil, err
	}
	cli.Warn(s.err, "berthd", l.Warnings)
	return l, nil
}

// logger writes to the error stream as the configuration says.
func (s streams) logger(c config.Config) *slog.Logger {
	return settings.Logger(s.err, c.LogLevel, c.LogFormat)
}
