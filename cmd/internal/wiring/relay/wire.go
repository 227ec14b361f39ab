//go:build wireinject

package relay

import (
	"log/slog"

	"github.com/google/wire"

	"berth/cmd/internal/relayd"
)

// Build builds a node. The function returned lets go of what it opened.
func Build(c relayd.Config, log *slog.Logger, v Version) (*relayd.Process, func(), error) {
	panic(wire.Build(Set))
}
