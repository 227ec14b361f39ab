package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"berth/adapters/connectclient"
	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

func newPublish(s streams, f *connectFlags) *cobra.Command {
	var id string
	cmd := s.own(f, &cobra.Command{
		Use: "publish [BODY]", Short: "Publish a JSON value, or each line of standard input",
		Long: "Publish a JSON value, or each line of standard input, which is one. What became durable is printed: one line of JSON\n" +
			"with id and seq each. By --id the same publish can be tried again, and happens once.",
		Args: upToOne("a JSON value"),
	}, func(ctx context.Context, p *paired, args []string) error {
		if id != "" && len(args) == 0 {
			return cli.Usage("--id names one publish, whose body is an argument")
		}
		return s.publish(ctx, p, f.route, id, args)
	})
	cmd.Flags().StringVar(&id, "id", "", "of the publish; drawn when empty")
	return timed(f.routed(cmd))
}

const longestBody = 1 << 20

func (s streams) publish(ctx context.Context, p *paired, route, id string, args []string) error {
	handle, err := p.device.Handle(route)
	if err != nil {
		return err
	}
	for _, body := range args {
		if !jsontext.Value(body).IsValid() {
			return cli.Usage("what is published is a JSON value; a text is one in quotes: '\"hello\"'")
		}
	}
	c := connectclient.Dial(ctx, p.options)
	defer func() { _ = c.Close() }()
	send := func(id, body string) error {
		if id == "" {
			id = rand.Text()
		}
		seq, err := c.Publish(ctx, handle, id, []byte(body))
		if err != nil {
			return err
		}
		return s.line(struct {
			ID  string `json:"id"`
			Seq int64  `json:"seq"`
		}{id, seq})
	}
	if len(args) == 1 {
		return send(id, args[0])
	}
	lines := bufio.NewScanner(s.in)
	lines.Buffer(nil, longestBody)
	for n := 1; lines.Scan(); n++ {
		if !jsontext.Value(lines.Bytes()).IsValid() {
			return cli.Usage("line %d of standard input is no JSON value; the lines before it are published", n)
		}
		if err := send("", lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func newSubscribe(s streams, f *connectFlags) *cobra.Command {
	var after int64
	var count int
	cmd := s.own(f, &cobra.Command{
		Use: "subscribe", Short: "Print the messages of a route, one line of JSON each",
		Long: "Print the messages of a route, those that there are and those that come, one line of JSON each, until --count of them,\n" +
			"until --timeout, or until it is stopped. A connection that is lost is made anew, and goes on after the last message. Where\n" +
			"--count are not there in time, or no connection is, the exit code is 3.",
		Args: cli.None,
	}, func(ctx context.Context, p *paired, _ []string) error {
		return s.subscribe(ctx, p, f.route, after, count)
	})
	cmd.Flags().Int64Var(&after, "after", 0, "the sequence after which to begin")
	cmd.Flags().IntVar(&count, "count", 0, "end after so many messages; 0 for no end")
	cmd.Flags().Duration(flagTimeout, 0, "for all of it; 0 for no end")
	return f.routed(cmd)
}

// message is a message as it is printed.
type message struct {
	Route string         `json:"route"`
	Seq   int64          `json:"seq"`
	ID    string         `json:"id"`
	From  string         `json:"from"`
	At    *time.Time     `json:"at"`
	Body  jsontext.Value `json:"body"`
}

func (s streams) subscribe(ctx context.Context, p *paired, route string, after int64, count int) error {
	handle, err := p.device.Handle(route)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	seen := 0
	c := connectclient.Dial(ctx, p.options)
	defer func() { _ = c.Close() }()
	_, _, missed := c.Subscribe(ctx, handle, after, func(m connectclient.Message) {
		if count > 0 && seen == count {
			return
		}
		seen++
		err := s.line(message{m.Route, m.Seq, m.ID, m.From, m.At, m.Body})
		if err != nil || seen == count {
			select {
			case done <- err:
			default:
			}
		}
	})
	if missed == nil {
		select {
		case err = <-done:
			return err
		case <-c.Done():
			return c.Err()
		case <-ctx.Done():
		}
	}
	return ending(ctx, missed, count)
}

// ending is what becomes of a subscribe that came to no end of its own. One that was stopped is well, and so is one whose time
// was over, unless messages that were counted did not come; missed says why there was no subscription.
func ending(ctx context.Context, missed error, count int) error {
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case missed != nil && (late || ctx.Err() == nil):
		return missed
	case count > 0 && late:
		return undone{fault.New(fault.Unavailable, "messages_missing", "%d messages did not come in time", count)}
	}
	return nil
}

func newRevoke(s streams, f *connectFlags) *cobra.Command {
	return timed(s.own(f, &cobra.Command{
		Use: "revoke PRINCIPAL", Short: "Revoke a device of the tenant, as an owner may; when it returns the device is out",
		Args: one("a principal"),
	}, func(ctx context.Context, p *paired, args []string) error {
		c := connectclient.Dial(ctx, p.options)
		defer func() { _ = c.Close() }()
		revision, err := c.Revoke(ctx, args[0])
		if err != nil {
			return err
		}
		return s.line(struct {
			Principal string `json:"principal"`
			Revision  int64  `json:"revision"`
		}{args[0], revision})
	}))
}
