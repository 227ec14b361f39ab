package berthd

import (
	"log/slog"
	"strings"

	"github.com/google/wire"

	"berth/adapters/ca/builtinca"
	"berth/adapters/clock/systemclock"
	"berth/adapters/httpapi"
	"berth/adapters/ids/ulidids"
	"berth/adapters/metrics"
	"berth/adapters/signer/filesigner"
	"berth/adapters/token"
	"berth/application/access"
	"berth/application/trust"
	"berth/cmd/internal/config"
	"berth/cmd/internal/secretfile"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/signer"
)

// GroundSet is what depends on no database.
var GroundSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideClock, wire.Bind(new(clock.Clock), new(*systemclock.Clock)),
	ulidids.New, wire.Bind(new(ids.Source), new(*ulidids.Source)),
	provideMetrics, wire.Bind(new(httpapi.Observer), new(*metrics.Metrics)), provideRefusals, wire.Bind(new(trust.Observer), new(*refusals)),
	provideKMS, wire.Bind(new(signer.Keys), new(signer.KMS)), wire.Bind(new(signer.Signer), new(signer.KMS)),
	provideCA, provideTokens, provideSecrets, provideExternalRoots, provideBootstrap,
	wire.Struct(new(Ground), "*"),
)

func provideClock(c config.Config) (*systemclock.Clock, error) {
	return systemclock.Shifted(c.ClockOffset)
}

func provideMetrics(v Version) *metrics.Metrics { return metrics.New(string(v)) }

// provideKMS opens the keys and finds what is wrong with them before anything is served.
func provideKMS(c config.Config, log *slog.Logger) (signer.KMS, func(), error) {
	dir, _ := strings.CutPrefix(c.KMSURL, "file:")
	kms, err := filesigner.Open(filesigner.Options{Dir: dir, Production: c.Env == config.Production, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	return kms, func() { _ = kms.Close() }, nil
}

// provideCA is none where every certificate comes from outside.
func provideCA(c config.Config, kms signer.KMS) ca.BuiltIn {
	if c.CA == config.CANone {
		return nil
	}
	return builtinca.New(kms)
}

func provideTokens(c config.Config, kms signer.KMS) access.TokenPorts {
	return access.TokenPorts{
		Issuer: token.NewIssuer(kms, c.TrustDomain), Verifier: token.NewDeviceVerifier(c.TrustDomain),
		Assertions: token.AssertionVerifier{},
	}
}

func provideSecrets(c config.Config) (*IngressSecrets, error) {
	path := c.IngressSecretsFile
	return secretfile.Watch(func() (identity.IngressSecrets, error) { return secretfile.IngressSecrets(path) }, path)
}

// provideExternalRoots are none, which no file changes, where none is named.
func provideExternalRoots(c config.Config, now clock.Clock) (*ExternalRoots, error) {
	path := c.ExternalRootsFile
	if path == "" {
		return secretfile.Watch(func() ([]identity.ExternalRoot, error) { return nil, nil })
	}
	return secretfile.Watch(func() ([]identity.ExternalRoot, error) { return secretfile.ExternalRoots(path, now.Now()) }, path)
}

func provideBootstrap(c config.Config) (trust.Bootstrap, error) {
	if c.BootstrapTokenFile == "" {
		return trust.Bootstrap{}, nil
	}
	clear, err := secretfile.BootstrapToken(c.BootstrapTokenFile)
	if err != nil {
		return trust.Bootstrap{}, err
	}
	return trust.NewBootstrap(clear), nil
}
