package main

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"
)

// streams are what a command reads from, where it writes what was asked for, and what there is to say beside it.
type streams struct {
	in       *os.File
	out, err io.Writer
	lookup   func(string) (string, bool) // of the environment
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use: "berthctl", Short: "Operate Berth from a terminal", SilenceUsage: true, SilenceErrors: true, Args: none,
		Long: "Operate Berth from a terminal. BERTH_URL says where the control plane's API is, BERTH_TOKEN is an operator token.",
		RunE: help,
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())}
	})
	root.AddCommand(newIngress(s), newVersion(s))
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// none refuses arguments. Cobra's own would not count as a wrong command line.
func none(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no argument %q; %s --help lists what there is", cmd.CommandPath(), args[0], cmd.CommandPath())}
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print what this program was built from", Args: none,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "berthctl %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// environment is a variable, or a usage error that says what it is for.
func (s streams) environment(name, what string) (string, error) {
	if value, ok := s.lookup(name); ok && value != "" {
		return value, nil
	}
	return "", usage("%s is not set; give it %s", name, what)
}
