package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/config"
	"berth/cmd/internal/wiring/berthd"
	"berth/domain/fault"
)

func newMigrate(s streams) *cobra.Command {
	parent := &cobra.Command{
		Use: "migrate", Short: "Look after the database's schema", Args: cli.None,
		RunE: cli.Help,
	}
	up := &cobra.Command{
		Use: "up", Short: "Bring the schema up to date; safe where several do so at once", Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.withSchema(cmd, true, s.migrateUp) },
	}
	status := &cobra.Command{
		Use: "status", Short: "List the steps of the schema, and fail where one is not taken (exit code 3)", Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.withSchema(cmd, false, s.migrateStatus) },
	}
	config.AddFlags(up.Flags())
	config.AddFlags(status.Flags())
	parent.AddCommand(up, status)
	return parent
}

func (s streams) withSchema(cmd *cobra.Command, make bool, do func(*cobra.Command, berthd.Schema) error) error {
	l, err := s.load(cmd, config.ForDatabase)
	if err != nil {
		return err
	}
	schema, release, err := berthd.OpenSchema(cmd.Context(), l.Config, make)
	if err != nil {
		return err
	}
	defer release()
	return do(cmd, schema)
}

func (s streams) migrateUp(cmd *cobra.Command, schema berthd.Schema) error {
	taken, err := schema.Up(cmd.Context())
	for _, step := range taken {
		fmt.Fprintln(s.out, "took "+step)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "the schema is up to date")
	return err
}

func (s streams) migrateStatus(cmd *cobra.Command, schema berthd.Schema) error {
	steps, err := schema.Status(cmd.Context())
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	left := 0
	for _, step := range steps {
		at := "not taken"
		if step.At.IsZero() {
			left++
		} else {
			at = step.At.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\n", step.Name, at)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if left > 0 {
		return fault.New(fault.Unavailable, "schema_outdated", "steps that are not taken: %d", left).Curable("run berthd migrate up")
	}
	return nil
}
