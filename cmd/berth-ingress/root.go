package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"berth/cmd/internal/ingressd"
	"berth/cmd/internal/settings"
)

// streams are where a command writes: what was asked for, and what there is to say beside it.
type streams struct{ out, err io.Writer }

func newRoot(out, err io.Writer) *cobra.Command {
	s := streams{out, err}
	root := &cobra.Command{
		Use: "berth-ingress", Short: "Terminate mutual TLS for relay nodes, in front of the control plane",
		Long: serveLong, SilenceUsage: true, SilenceErrors: true, Args: none, RunE: s.serve,
		Version: fmt.Sprintf("%s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
	root.SetVersionTemplate("berth-ingress {{.Version}}\n")
	root.SetOut(out)
	root.SetErr(err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
	})
	ingressd.AddFlags(root.Flags())
	root.AddCommand(newServe(s), newConfig(s))
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
func (s streams) load(cmd *cobra.Command) (*settings.Loaded[ingressd.Config], error) {
	l, err := ingressd.Load(settings.Sources{Environ: os.Environ(), Flags: cmd.Flags()})
	if err != nil {
		return nil, err
	}
	for _, w := range l.Warnings {
		fmt.Fprintln(s.err, "berth-ingress: "+w)
	}
	return l, nil
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
			l, err := s.load(cmd)
			if err != nil {
				return err
			}
			return l.Show(s.out)
		},
	}
	ingressd.AddFlags(check.Flags())
	parent.AddCommand(check)
	return parent
}
