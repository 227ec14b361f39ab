package main

import (
	"github.com/spf13/cobra"

	"berth/adapters/render/helmrender/child"
	"berth/cmd/internal/cli"
	"berth/cmd/internal/wiring/berthd"
)

// newRenderChart is what berthd starts itself as, to render a chart in a process of its own. It is nobody else's.
func newRenderChart(s streams) *cobra.Command {
	return &cobra.Command{
		Use: berthd.RenderChart, Short: "Render a chart for berthd itself", Args: cli.None, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return child.Main(cmd.InOrStdin(), s.out) },
	}
}
