package berthd

import (
	"github.com/google/wire"

	"berth/application/access"
	"berth/application/fleet"
	"berth/application/trust"
	"berth/application/watch"
	"berth/cmd/internal/config"
	"berth/domain/identity"
)

// UseCaseSet are the areas of the application over their ports.
var UseCaseSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	wire.Bind(new(access.Placer), new(*fleet.Fleet)),
	provideFleetSettings, provideAccessSettings, provideTrustSettings, provideSecretsNow, provideExternalRootsNow,
	wire.Struct(new(fleet.Fleet), "Store", "Clock", "IDs", "Hints", "Settings"),
	wire.Struct(new(access.Access), "Store", "Clock", "IDs", "Hints", "Placer", "Tokens", "Settings"),
	wire.Struct(new(trust.Trust), "*"),
	wire.Struct(new(watch.Watch), "*"),
	provideDuties, wire.Struct(new(sweeps), "*"),
)

func provideFleetSettings(c config.Config) fleet.Settings { return c.Fleet() }

func provideAccessSettings(c config.Config) access.Settings { return c.Access() }

func provideTrustSettings(c config.Config) trust.Settings { return c.Trust() }

func provideSecretsNow(s *IngressSecrets) func() identity.IngressSecrets { return s.Current }

func provideExternalRootsNow(r *ExternalRoots) func() []identity.ExternalRoot { return r.Current }
