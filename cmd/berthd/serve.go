package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/config"
	"berth/cmd/internal/server"
	"berth/cmd/internal/wiring/berthd"
	"berth/domain/fault"
)

func newServe(s streams) *cobra.Command {
	var migrate bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the control plane", Args: cli.None,
		Long: "Serve the control plane until SIGINT or SIGTERM; then what was accepted is finished. SIGHUP reads secrets and\n" +
			"certificates anew. One line on standard output names each listener, and the line \"ready\" says that all serve.",
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serve(cmd, migrate) },
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&migrate, "migrate", false, "bring the database's schema up to date first")
	return cmd
}

func (s streams) serve(cmd *cobra.Command, migrate bool) error {
	l, err := s.load(cmd, config.ForServing)
	if err != nil {
		return err
	}
	ctx, log := cmd.Context(), s.logger(l.Config)
	p, release, err := berthd.Build(l.Config, log, berthd.Version(version))
	if err != nil {
		return err
	}
	defer release()
	if err := p.Ground.KMS.Ping(ctx); err != nil {
		return err
	}
	if migrate {
		if _, err := p.Ground.Schema.Up(ctx); err != nil && !later(err) {
			return err
		}
	}
	if err := server.CheckSchema(ctx, p.Ground.Store, log); err != nil {
		return err
	}
	tellOfLater(log, l.Config)
	log.Info("starting", "version", version, "env", l.Env)
	defer log.Info("stopped")
	return (&server.Server{Process: p, Out: s.out}).Run(ctx)
}

// tellOfLater names settings that this build takes and does nothing with yet.
func tellOfLater(log *slog.Logger, c config.Config) {
	if c.BackupURL != "" {
		log.Warn("backup_url is set, and the backup store is not used yet")
	}
}

// later says whether the schema can be brought up to date once the database answers, which is then done by itself.
func later(err error) bool {
	slug := fault.SlugOf(err)
	return slug == "store_unavailable" || slug == "store_busy"
}
