package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/settings"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	root := cli.Root(&cobra.Command{
		Use: "berth-ingress", Short: "Terminate mutual TLS for relay nodes, in front of the control plane",
		Long: serveLong, RunE: s.serve,
	}, out, err)
	cli.VersionFlag(root, version)
	ingressd.AddFlags(root.Flags())
	root.AddCommand(newServe(s), cli.Config(out, ingressd.AddFlags, s.load))
	return root
}

// load reads the configuration, and tells of what a person probably did not mean.
func (s streams) load(cmd *cobra.Command) (*settings.Loaded[ingressd.Config], error) {
	l, err := ingressd.Load(settings.Sources{Environ: os.Environ(), Flags: cmd.Flags()})
	if err != nil {
		return nil, err
	}
	cli.Warn(s.err, "berth-ingress", l.Warnings)
	return l, nil
}
