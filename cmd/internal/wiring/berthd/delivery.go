package berthd

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/wire"

	"berth/adapters/keywrap/filekeywrap"
	"berth/adapters/pack/tarpack"
	"berth/adapters/registry/ociregistry"
	"berth/adapters/render/helmrender"
	"berth/adapters/render/yamlrender"
	"berth/adapters/sealing/agesealer"
	"berth/adapters/token"
	"berth/application/catalog"
	"berth/application/desired"
	"berth/application/licensing"
	"berth/application/market"
	"berth/cmd/internal/config"
	"berth/domain/delivery"
	"berth/ports/clock"
	"berth/ports/keywrap"
	"berth/ports/pack"
	"berth/ports/registry"
	"berth/ports/render"
	"berth/ports/signer"
)

// DeliverySet is the half of the control plane that customers' clusters belong to: its use cases, and what they need
// from outside.
var DeliverySet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideKeywrap, wire.Bind(new(keywrap.Wrapper), new(*filekeywrap.Wrapper)),
	provideRegistries, wire.Bind(new(registry.Charts), new(*ociregistry.Client)), wire.Bind(new(registry.Images), new(*ociregistry.Client)),
	provideRenderers, providePepper, provideArchiver, provideCrypto,
	wire.Struct(new(licensing.Licensing), "Store", "Clock", "IDs", "Hints", "Wrapper"),
	wire.Struct(new(catalog.Catalog), "*"),
	wire.Struct(new(desired.Rendering), "*"), provideDesiredSettings, wire.Struct(new(desired.Desired), "*"),
	wire.Bind(new(market.Publisher), new(*desired.Desired)), provideMarketSettings, wire.Struct(new(market.Market), "*"),
)

// provideKeywrap keeps the wrapping key beside the signing keys.
func provideKeywrap(c config.Config, log *slog.Logger) (*filekeywrap.Wrapper, func(), error) {
	dir, _ := strings.CutPrefix(c.KMSURL, "file:")
	w, err := filekeywrap.Open(filekeywrap.Options{
		Dir: filepath.Join(dir, "wrapping"), Production: c.Env == config.Production, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	return w, func() { _ = w.Close() }, nil
}

func provideRegistries(now clock.Clock, v Version) (*ociregistry.Client, func()) {
	client := ociregistry.New(ociregistry.Config{Clock: now, UserAgent: "berth/" + string(v)})
	return client, client.Close
}

// provideRenderers renders charts in processes of this same program.
func provideRenderers() (render.Renderers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return render.Renderers{
		delivery.SourceManifests: yamlrender.Renderer{},
		delivery.SourceHelm:      helmrender.New(helmrender.Config{Program: program, Args: []string{RenderChart}}),
	}, nil
}

// RenderChart is the command that makes this program render a chart.
const RenderChart = "render-chart"

func providePepper(l *licensing.Licensing) func(context.Context) ([]byte, error) { return l.Pepper }

func provideArchiver() pack.Archiver { return tarpack.Archiver{} }

func provideCrypto(kms signer.Signer, w keywrap.Wrapper) desired.Crypto {
	return desired.Crypto{
		Documents: token.NewDocumentSigner(kms), Verifier: token.DocumentVerifier{}, Agents: token.AgentVerifier{},
		Wrapper: w, Sealer: agesealer.Sealer{},
	}
}

func provideDesiredSettings(c config.Config) desired.Settings { return c.Desired() }

func provideMarketSettings(c config.Config) market.Settings { return c.Market() }
