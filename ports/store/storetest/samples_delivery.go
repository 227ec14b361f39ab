package storetest

import (
	"context"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

func licenseSamples() []sample {
	return []sample{
		sampleOf(shape[entitlement.Customer, entitlement.Customer]{
			thing: "customer", role: func(r *store.Roles) store.Aggregate[entitlement.Customer] { return r.Customers },
			restore: self[entitlement.Customer], record: self[entitlement.Customer],
			name: func(r *entitlement.Customer, id string) { r.ID = id },
		}),
		sampleOf(shape[*entitlement.License, entitlement.LicenseRecord]{
			thing: "license", role: func(r *store.Roles) store.Aggregate[*entitlement.License] { return r.Licenses },
			restore: entitlement.RestoreLicense, record: (*entitlement.License).Record,
			name: func(r *entitlement.LicenseRecord, id string) { r.ID = id },
		}),
		sampleOf(shape[delivery.App, delivery.App]{
			thing: "app", role: func(r *store.Roles) store.Aggregate[delivery.App] { return r.Apps },
			restore: self[delivery.App], record: self[delivery.App],
			name: func(r *delivery.App, id string) { r.ID = id },
		}),
		sampleOf(shape[delivery.Registry, delivery.Registry]{
			thing: "registry", role: func(r *store.Roles) store.Aggregate[delivery.Registry] { return r.Registries },
			restore: self[delivery.Registry], record: self[delivery.Registry],
			name: func(r *delivery.Registry, id string) { r.Host = id },
		}),
		sampleOf(shape[delivery.PackageRecord, delivery.PackageRecord]{
			thing: "package", role: func(r *store.Roles) store.Aggregate[delivery.PackageRecord] { return r.Packages },
			restore: self[delivery.PackageRecord], record: self[delivery.PackageRecord],
			name: func(r *delivery.PackageRecord, id string) { r.ID = id },
		}),
	}
}

func clusterSamples() []sample {
	return []sample{
		sampleOf(shape[*delivery.Deployment, delivery.DeploymentRecord]{
			thing: "deployment", role: func(r *store.Roles) store.Aggregate[*delivery.Deployment] { return r.Deployments },
			restore: delivery.RestoreDeployment, record: (*delivery.Deployment).Record,
			name: func(r *delivery.DeploymentRecord, id string) { r.InstallID = id },
		}),
		sampleOf(shape[*delivery.Desired, delivery.DesiredRecord]{
			thing: "desired_state", role: func(r *store.Roles) store.Aggregate[*delivery.Desired] { return r.DesiredStates },
			restore: delivery.RestoreDesired, record: (*delivery.Desired).Record,
			name: func(r *delivery.DesiredRecord, id string) { r.InstallID = id },
		}),
		sampleOf(shape[*delivery.Agent, delivery.AgentRecord]{
			thing: "agent", role: func(r *store.Roles) store.Aggregate[*delivery.Agent] { return r.Agents },
			restore: delivery.RestoreAgent, record: (*delivery.Agent).Record,
			name: func(r *delivery.AgentRecord, id string) { r.ID, r.InstallID = id, "of "+id }, // which has one agent
		}),
		sampleOf(shape[*delivery.Intent, delivery.IntentRecord]{
			thing: "intent", role: func(r *store.Roles) store.Aggregate[*delivery.Intent] { return r.Intents },
			restore: delivery.RestoreIntent, record: (*delivery.Intent).Record,
			name: func(r *delivery.IntentRecord, id string) { r.ID = id },
		}),
	}
}

// seventh is the revision of every sample of one.
const seventh = 7

// onceWritten are records that never change, under keys of several parts.
func onceWritten() []sample {
	return []sample{
		written(sampleOf(shape[delivery.Release, delivery.Release]{
			thing: "release", role: func(r *store.Roles) store.Aggregate[delivery.Release] { return releaseAlone{Releases: r.Releases} },
			restore: self[delivery.Release], record: self[delivery.Release],
			name: func(r *delivery.Release, id string) { r.App, r.Version = "app "+id, id },
		})),
		written(sampleOf(shape[delivery.Revision, delivery.Revision]{
			thing: "revision", role: func(r *store.Roles) store.Aggregate[delivery.Revision] { return revisionAlone{Revisions: r.Revisions} },
			restore: self[delivery.Revision], record: self[delivery.Revision],
			name: func(r *delivery.Revision, id string) { r.InstallID, r.Revision = id, seventh },
		})),
		written(sampleOf(shape[wrappedSecret, wrappedSecret]{
			thing: "wrapped_secret", role: func(r *store.Roles) store.Aggregate[wrappedSecret] { return wrappedAlone{secrets: r.WrappedSecrets} },
			restore: self[wrappedSecret], record: self[wrappedSecret],
			name: func(r *wrappedSecret, id string) { r.Name = id },
		})),
	}
}

func written(s sample) sample {
	s.save = nil
	return s
}

// wrappedSecret is a secret with its name.
type wrappedSecret struct {
	Name    string
	Wrapped []byte
}

// unsaved stands for what is never saved.
type unsaved[R any] struct{}

func (unsaved[R]) Save(context.Context, R) error { panic("storetest: the record never changes") }

type releaseAlone struct {
	store.Releases
	unsaved[delivery.Release]
}

func (r releaseAlone) Get(ctx context.Context, id string) (delivery.Release, error) {
	return r.Releases.Get(ctx, "app "+id, id)
}

type revisionAlone struct {
	store.Revisions
	unsaved[delivery.Revision]
}

func (r revisionAlone) Create(ctx context.Context, v delivery.Revision) error {
	return r.Revisions.Append(ctx, v)
}

func (r revisionAlone) Get(ctx context.Context, id string) (delivery.Revision, error) {
	return r.Revisions.Get(ctx, id, seventh)
}

type wrappedAlone struct {
	secrets store.WrappedSecrets
	unsaved[wrappedSecret]
}

func (w wrappedAlone) Create(ctx context.Context, v wrappedSecret) error {
	return w.secrets.Create(ctx, v.Name, v.Wrapped)
}

func (w wrappedAlone) Get(ctx context.Context, name string) (wrappedSecret, error) {
	wrapped, err := w.secrets.Get(ctx, name)
	return wrappedSecret{name, wrapped}, err
}
