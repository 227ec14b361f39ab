package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
)

// streams are what a command reads from, where it writes what was asked for, and what there is to say beside it.
type streams struct {
	in       *os.File
	out, err io.Writer
	lookup   func(string) (string, bool) // of the environment
}

func newRoot(s streams) *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use: "berthctl", Short: "Operate Berth from a terminal",
		Long: "Operate Berth from a terminal. BERTH_URL says where the control plane's API is, BERTH_TOKEN is an operator token, which\n" +
			"the commands of a device, connect, take none of.",
	}, s.out, s.err)
	root.AddCommand(newConnect(s), newIngress(s), newPackage(s), cli.Version(s.out, version))
	return root
}

// environment is a variable, or a usage error that says what it is for.
func (s streams) environment(name, what string) (string, error) {
	if value, ok := s.lookup(name); ok && value != "" {
		return value, nil
	}
	return "", cli.Usage("%s is not set; give it %s", name, what)
}
