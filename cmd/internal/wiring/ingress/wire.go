//go:build wireinject

package ingress

import (
	"log/slog"

	"github.com/google/wire"

	"berth/cmd/internal/ingressd"
)

// Alone builds an ingress that is a process of its own.
func Alone(c ingressd.Config, log *slog.Logger, v Version) (*Process, error) {
	panic(wire.Build(GroundSet, Set, provideMetricsPage, wire.Struct(new(Process), "*")))
}

// Within builds an ingress within another process, on that one's ground.
func Within(c ingressd.Config, g ingressd.Ground) (*ingressd.Process, error) {
	panic(wire.Build(Set))
}
