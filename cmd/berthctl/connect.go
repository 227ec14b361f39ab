package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"berth/adapters/apiclient"
	"berth/adapters/connectclient"
	"berth/cmd/internal/cli"
)

// connectFlags are what the commands of a device have in common.
type connectFlags struct {
	api, ca, device string
	route           string
	verbose         bool
}

const connectLong = `Be a device: pair, exchange messages and attachments with the other devices of a tenant, and revoke one as an owner may.

A device is a file of mode 0600, which --device names: its key and its route handles. Whoever has the file is the device.
The exit code is 0 where it was done, 1 where it was refused, 2 for a wrong command line, 3 where it could not be carried
out in time, 4 where the device may not (or is revoked), 5 where there is no such thing, and 6 where the state of things
does not allow it.`

func newConnect(s streams) *cobra.Command {
	var f connectFlags
	parent := &cobra.Command{Use: "connect", Short: "Be a device", Long: connectLong, Args: cli.None, RunE: cli.Help}
	flags := parent.PersistentFlags()
	flags.StringVar(&f.api, "api", "", "API of the control plane, https://host:port; BERTH_URL when empty, or as the device was paired")
	flags.StringVar(&f.ca, "ca", "", "who signs the certificates of API and origin, PEM; BERTH_CA_FILE when empty, or the system's")
	flags.StringVar(&f.device, "device", "", "file of the device; BERTH_DEVICE_FILE when empty")
	flags.BoolVar(&f.verbose, "verbose", false, "say on standard error all that becomes of the connection, and not its troubles alone, each once")
	parent.AddCommand(newPair(s, &f), newPublish(s, &f), newSubscribe(s, &f), newRevoke(s, &f), newAttach(s, &f), newFetch(s, &f), newStatus(s, &f))
	return parent
}

// own is a command of a device that is paired: work gets the device, and a context that ends with its time.
func (s streams) own(f *connectFlags, c *cobra.Command, work func(context.Context, *paired, []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := s.openDevice(f)
		if err != nil {
			return err
		}
		defer p.client.Close()
		ctx, cancel := within(cmd.Context(), cmd)
		defer cancel()
		return work(ctx, p, args)
	}
	return c
}

const flagTimeout = "timeout" // each command has its own, since their defaults differ

// within is a context that ends with the time of a command, where that has one.
func within(ctx context.Context, cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if d, err := cmd.Flags().GetDuration(flagTimeout); err == nil && d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

func timed(c *cobra.Command) *cobra.Command {
	c.Flags().Duration(flagTimeout, time.Minute, "for all of it")
	return c
}

func (f *connectFlags) routed(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&f.route, "route", "main", "the tenant's route")
	return c
}

// paired is a device that is ready for use.
type paired struct {
	device  *connectclient.Device
	client  *apiclient.Client
	tokens  *connectclient.Tokens
	options connectclient.Options
}

func (s streams) openDevice(f *connectFlags) (*paired, error) {
	file, err := s.orEnvironment(f.device, "BERTH_DEVICE_FILE", "--device")
	if err != nil {
		return nil, err
	}
	d, err := connectclient.Load(file)
	if err != nil {
		return nil, err
	}
	client, roots, err := s.reach(f, d.API)
	if err != nil {
		return nil, err
	}
	p := &paired{device: d, client: client, tokens: connectclient.NewTokens(d, apiclient.NewDevice(client))}
	p.options = connectclient.Options{
		URL: d.Connect, Tokens: p.tokens, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Notify: s.tellOf(f),
	}
	return p, nil
}

// reach opens the API, which is at last where the device was paired.
func (s streams) reach(f *connectFlags, last string) (*apiclient.Client, *x509.CertPool, error) {
	url, file := f.api, f.ca
	if named, ok := s.lookup("BERTH_URL"); ok && url == "" {
		url = named
	}
	if url == "" {
		url = last
	}
	if url == "" {
		return nil, nil, cli.Usage("--api is needed, or BERTH_URL: the API of the control plane, https://host:port")
	}
	if named, ok := s.lookup("BERTH_CA_FILE"); ok && file == "" {
		file = named
	}
	roots, err := readRoots(file)
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(url, "https://") {
		return nil, nil, cli.Usage("the API reads https://host:port, and not %s", url)
	}
	client, err := apiclient.New(apiclient.Options{Base: url, CA: roots})
	return client, roots, err
}

func (s streams) orEnvironment(value, name, flag string) (string, error) {
	if named, ok := s.lookup(name); ok && value == "" {
		value = named
	}
	if value == "" {
		return "", cli.Usage("%s is needed, or %s: the file of the device", flag, name)
	}
	return value, nil
}

// tellOf says what becomes of the connection: all of it where that is wanted, else each trouble once, and its end. Nobody
// is to wait in silence for what does not come. What is final is the command's own error.
func (s streams) tellOf(f *connectFlags) func(connectclient.Event) {
	told := ""
	return func(e connectclient.Event) {
		switch {
		case e.Connected:
			if f.verbose || told != "" {
				fmt.Fprintln(s.err, "connected")
			}
			told = ""
		case e.Retry > 0:
			text := cli.Explain(e.Err)
			if f.verbose || text != told {
				fmt.Fprintf(s.err, "%s; again in %s\n", text, e.Retry.Round(time.Millisecond))
			}
			told = text
		}
	}
}

// line prints one line of JSON.
func (s streams) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, string(text))
	return err
}

// one takes exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return cli.Usage("%s takes one argument: %s", cmd.CommandPath(), what)
	}
}

// upToOne takes an argument, or finds it on standard input.
func upToOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return cli.Usage("%s takes one argument, %s, or reads it from standard input", cmd.CommandPath(), what)
	}
}
