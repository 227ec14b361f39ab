// Package berthd puts the control plane's process together: one injector for each kind of database. wire writes the
// injectors; run make generate after a change to a provider.
package berthd

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"berth/adapters/metrics"
	"berth/application/trust"
	"berth/application/watch"
	"berth/cmd/internal/config"
	"berth/cmd/internal/secretfile"
	"berth/domain/identity"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/signer"
	"berth/ports/store"
)

// Version is what the process was built from, for people.
type Version string

// Process is a control plane, ready to be served.
type Process struct {
	Config   config.Config
	Log      *slog.Logger
	Handlers Handlers
	Duties   []watch.Duty
	Watch    *watch.Watch
	Ground   Ground
	Trust    *trust.Trust
	Secrets  *IngressSecrets
	Roots    *ExternalRoots
}

// Handlers are what the listeners serve.
type Handlers struct {
	API      API
	Internal Internal
	Enroll   Enroll
	Metrics  MetricsPage
}

// API serves operators and devices, and says whether the process is well.
type API struct{ http.Handler }

// Internal serves nodes, through the ingress.
type Internal struct{ http.Handler }

// Enroll serves nodes that have no certificate yet.
type Enroll struct{ http.Handler }

// MetricsPage serves the metrics.
type MetricsPage struct{ http.Handler }

// Schema is the history of a database's tables.
type Schema interface {
	// Up brings the database to the schema of this program and returns the names of the steps that it took. Several
	// processes may do so at once.
	Up(ctx context.Context) (taken []string, err error)
	// Status returns every step, taken or not, in order.
	Status(ctx context.Context) ([]SchemaStep, error)
}

// SchemaStep is one step of a schema's history.
type SchemaStep struct {
	Name string
	At   time.Time // when it was taken; zero when it was not
}

// Ground is what everything stands on.
type Ground struct {
	Store   store.Store
	Schema  Schema
	KMS     signer.KMS
	Clock   clock.Clock
	IDs     ids.Source
	Metrics *metrics.Metrics
}

// IngressSecrets are the secrets that the ingress signs by, as their file has them now.
type IngressSecrets = secretfile.Watched[identity.IngressSecrets]

// ExternalRoots are the roots of CAs outside that are believed, as their file has them now.
type ExternalRoots = secretfile.Watched[[]identity.ExternalRoot]
