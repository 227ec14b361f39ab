package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"berth/adapters/apiclient"
	"berth/adapters/connectclient"
	"berth/cmd/internal/cli"
)

func newPair(s streams, f *connectFlags) *cobra.Command {
	var name, kind string
	cmd := &cobra.Command{
		Use: "pair [CODE]", Short: "Pair a device by a pairing code, read from standard input where it is no argument",
		Long: "Pair a device by a pairing code, which an operator makes and which works once. Standard input, where the code is no\n" +
			"argument, keeps it out of the list of processes. The device's principal is printed; its key and its route handles\n" +
			"are kept in the file that --device names, and are shown nowhere.",
		Args: upToOne("a pairing code"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := within(cmd.Context(), cmd)
			defer cancel()
			return s.pair(ctx, f, connectclient.Device{Name: name, Kind: kind}, args)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "a name by which people know the device")
	cmd.Flags().StringVar(&kind, "kind", "", "phone or desktop")
	return timed(cmd)
}

func (s streams) pair(ctx context.Context, f *connectFlags, d connectclient.Device, args []string) error {
	if d.Name == "" {
		return cli.Usage("--name is needed: a name by which people know the device")
	}
	if d.Kind != "phone" && d.Kind != "desktop" {
		return cli.Usage("--kind is needed: phone or desktop, and nothing else")
	}
	path, err := s.orEnvironment(f.device, "BERTH_DEVICE_FILE", "--device")
	if err != nil {
		return err
	}
	client, _, err := s.reach(f, "")
	if err != nil {
		return err
	}
	defer client.Close()
	code, err := s.argument(args, "a pairing code")
	if err != nil {
		return err
	}
	release, err := connectclient.Reserve(path)
	if err != nil {
		return err
	}
	d.API = client.Base()
	made, err := connectclient.Pair(ctx, apiclient.NewDevice(client), code, d)
	if err != nil {
		release()
		return err
	}
	if err := made.Save(path); err != nil {
		return err
	}
	fmt.Fprintln(s.out, made.Principal)
	fmt.Fprintf(s.err, "Paired with tenant %s; %s is the device. Next: berthctl connect subscribe --device %s\n", made.Tenant, path, path)
	return nil
}

// argument is the one on the command line, or the first line of standard input.
func (s streams) argument(args []string, what string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	text, _ := bufio.NewReader(s.in).ReadString('\n')
	if text = strings.TrimSpace(text); text == "" {
		return "", cli.Usage("%s is needed, as an argument or on standard input", what)
	}
	return text, nil
}

func newStatus(s streams, f *connectFlags) *cobra.Command {
	return timed(s.own(f, &cobra.Command{
		Use: "status", Short: "Say whether and where the device can connect", Args: cli.None,
	}, func(ctx context.Context, p *paired, _ []string) error {
		token, err := p.tokens.Token(ctx)
		if err != nil {
			return err
		}
		c, err := apiclient.NewDevice(p.client.With(apiclient.Bearer(token.AccessToken))).Connection(ctx, p.device.Principal)
		if err != nil {
			return err
		}
		return s.line(struct {
			Principal  string    `json:"principal"`
			Tenant     string    `json:"tenant"`
			State      string    `json:"connection_state"`
			URL        string    `json:"connect_url"`
			TokenUntil time.Time `json:"token_expires_at"`
		}{p.device.Principal, p.device.Tenant, c.ConnectionState, c.ConnectURL, token.ExpiresAt})
	}))
}
