package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root makes a command the root of a program that writes to out and err: what is wrong with it is said by Exit alone. It
// takes no arguments, and prints its help unless it says what else to do.
func Root(c *cobra.Command, out, err io.Writer) *cobra.Command {
	c.SilenceUsage, c.SilenceErrors, c.Args = true, true, None
	if c.RunE == nil {
		c.RunE = Help
	}
	c.SetOut(out)
	c.SetErr(err)
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Usage("%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	return c
}

// Help is a command that is there for those below it.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// None refuses arguments. Cobra's own would not count as a wrong command line.
func None(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usage("%s takes no argument %q; %s --help lists what there is", cmd.CommandPath(), args[0], cmd.CommandPath())
}

// Warn tells of what a person probably did not mean.
func Warn(w io.Writer, program string, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w, program+": "+text)
	}
}

// built is what a program was built from.
func built(version string) string {
	return fmt.Sprintf("%s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// VersionFlag gives a root the flag --version.
func VersionFlag(root *cobra.Command, version string) {
	root.Version = built(version)
	root.SetVersionTemplate(root.Name() + " {{.Version}}\n")
}

// Version is the command that prints what the program was built from.
func Version(out io.Writer, version string) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print what this program was built from", Args: None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(out, cmd.Root().Name(), built(version))
			return err
		},
	}
}

// Config is the command that looks at the configuration, as load finds it by the flags that are added.
func Config[L interface{ Show(w io.Writer) error }](out io.Writer, addFlags func(*pflag.FlagSet), load func(*cobra.Command) (L, error)) *cobra.Command {
	parent := &cobra.Command{Use: "config", Short: "Look at the configuration", Args: None, RunE: Help}
	check := &cobra.Command{
		Use: "check", Short: "Validate the configuration, and print it without secrets, with where each value came from",
		Args: None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := load(cmd)
			if err != nil {
				return err
			}
			return l.Show(out)
		},
	}
	addFlags(check.Flags())
	parent.AddCommand(check)
	return parent
}
