package store

import (
	"context"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
)

// Customers are the customers, by id.
type Customers interface {
	Aggregate[entitlement.Customer]
	List(ctx context.Context, p Page) ([]entitlement.Customer, error)
}

// Licenses are the licenses, by id; the clear key is never stored (E1).
type Licenses interface {
	Aggregate[*entitlement.License]
	// List returns the licenses of a customer, by id; of every customer when customer is empty.
	List(ctx context.Context, customer string, p Page) ([]*entitlement.License, error)
}

// Entitlements are the apps on licenses (license_apps), by license and app.
type Entitlements interface {
	// Put adds entitlements, or writes those that are there, all or none.
	Put(ctx context.Context, es []entitlement.Entitlement) error
	// Get returns one, withdrawn ones too. Fault: NotFound entitlement_not_found.
	Get(ctx context.Context, license, app string) (entitlement.Entitlement, error)
	// OfLicense returns all of a license, withdrawn ones too, by app. Their number is bounded by entitlement's limits.
	OfLicense(ctx context.Context, license string) ([]entitlement.Entitlement, error)
}

// Apps are the catalogue, by id.
type Apps interface {
	Aggregate[delivery.App]
	List(ctx context.Context, p Page) ([]delivery.App, error)
	// Named returns those of the given that exist, by id.
	Named(ctx context.Context, ids []string) ([]delivery.App, error)
}

// Releases are the releases, by app and version. They never change.
type Releases interface {
	// Create adds a release. Fault: AlreadyExists release_exists.
	Create(ctx context.Context, r delivery.Release) error
	// Get returns a release. Fault: NotFound release_not_found.
	Get(ctx context.Context, app, version string) (delivery.Release, error)
	// OfApp returns an app's releases, by the bytes of their version.
	OfApp(ctx context.Context, app string, p Page) ([]delivery.Release, error)
	// Outlines returns what is known in short of every release of the given apps, by app, then by the bytes of the version.
	Outlines(ctx context.Context, apps []string) ([]ReleaseOutline, error)
}

// ReleaseOutline is what choosing among releases needs.
type ReleaseOutline struct {
	App        string
	Version    string
	Requires   []delivery.Requirement
	SchemaGate bool
}

// Registries are the places that images and charts may come from, by host.
type Registries interface {
	Aggregate[delivery.Registry]
	// List returns all of them, by host.
	List(ctx context.Context, p Page) ([]delivery.Registry, error)
	// Remove forgets one. Fault: NotFound registry_not_found.
	Remove(ctx context.Context, host string) error
}

// Deployments are the installations, by install id.
type Deployments interface {
	Aggregate[*delivery.Deployment]
	// List returns the deployments of a license, by install id; of every license when license is empty.
	List(ctx context.Context, license string, p Page) ([]*delivery.Deployment, error)
	// Due returns up to limit deployments whose time of review is set and not after now, by that time, then install id.
	Due(ctx context.Context, now time.Time, limit int) ([]*delivery.Deployment, error)
	// Review brings the time of review of every deployment of a license forward to at, where it is later or not set. It
	// works on any number of them. With no time it changes nothing.
	Review(ctx context.Context, license string, at time.Time) error
}

// DesiredStates are the present desired states, by install id. One is created with its deployment.
type DesiredStates interface {
	Aggregate[*delivery.Desired]
	// Usage sums what all deployments of a license use: zero where there is none (E1). In Atomically no other
	// transaction changes the sum before the commit.
	Usage(ctx context.Context, license string) (entitlement.Usage, error)
}

// Revisions are the history of desired states, by install id and revision. They never change.
type Revisions interface {
	// Append adds a revision. Fault: AlreadyExists revision_exists.
	Append(ctx context.Context, r delivery.Revision) error
	// Get returns a revision. Fault: NotFound revision_not_found.
	Get(ctx context.Context, install string, revision int64) (delivery.Revision, error)
	// Before returns up to limit revisions below the given, newest first; from the newest where it is 0. They come without
	// Apps and Token, of which each may take a mebibyte.
	Before(ctx context.Context, install string, revision int64, limit int) ([]delivery.Revision, error)
}

// Objects are blobs by their SHA-256 in hex, and which deployment may read which (D1).
type Objects interface {
	// Put adds objects; one that is there already is left as it is. The key is computed by the store.
	Put(ctx context.Context, contents ...[]byte) error
	// Get returns an object. Fault: NotFound object_not_found.
	Get(ctx context.Context, sha256 string) ([]byte, error)
	// Allow lets a deployment read objects; again, it changes nothing. Fault at commit: Internal
	// store_reference_missing for an object that is not there.
	Allow(ctx context.Context, install string, sha256 ...string) error
	// Read returns an object that the deployment may read. Fault: NotFound object_not_found, whether it is not there or
	// not for this deployment.
	Read(ctx context.Context, install, sha256 string) ([]byte, error)
}

// Agents are the agents in customers' clusters, by agent id; a deployment has one at most. Create and Save refuse what
// would give it another: AlreadyExists agent_exists.
type Agents interface {
	Aggregate[*delivery.Agent]
	// OfInstall returns a deployment's agent. Fault: NotFound agent_not_found.
	OfInstall(ctx context.Context, install string) (*delivery.Agent, error)
	// Remove forgets one, so that another may be enrolled. Fault: NotFound agent_not_found.
	Remove(ctx context.Context, id string) error
}

// Observations are what is known of apps in clusters, by install id and app.
type Observations interface {
	// Put adds observations, or writes those that are there, all or none.
	Put(ctx context.Context, os []delivery.Observation) error
	// OfInstall returns all of a deployment, by app.
	OfInstall(ctx context.Context, install string) ([]delivery.Observation, error)
}

// Intents are what customers asked for, by id.
type Intents interface {
	Aggregate[*delivery.Intent]
	// OfInstall returns a deployment's intents, newest first, from below the given id; from the newest where it is empty.
	OfInstall(ctx context.Context, install, before string, limit int) ([]*delivery.Intent, error)
	// InFlight returns a deployment's intents that have not ended, by id. In Atomically no other transaction adds one
	// before the commit.
	InFlight(ctx context.Context, install string) ([]*delivery.Intent, error)
}

// SecretValues are secret parameters in custody, by install id, app and parameter: ciphertext only (D3).
type SecretValues interface {
	// Put adds values, or writes in place of those that are there, all or none.
	Put(ctx context.Context, vs []delivery.SecretValue) error
	// OfInstall returns all of a deployment, by app, then parameter.
	OfInstall(ctx context.Context, install string) ([]delivery.SecretValue, error)
}

// Packages are the delivery packages, by id (K1).
type Packages interface {
	Aggregate[delivery.PackageRecord]
	// OfInstall returns a deployment's packages, by id.
	OfInstall(ctx context.Context, install string, p Page) ([]delivery.PackageRecord, error)
}

// WrappedSecrets are secrets of the control plane itself, such as the pepper of license keys, wrapped through keywrap,
// by name.
type WrappedSecrets interface {
	// Create adds one. Fault: AlreadyExists wrapped_secret_exists.
	Create(ctx context.Context, name string, wrapped []byte) error
	// Get returns one. Fault: NotFound wrapped_secret_not_found.
	Get(ctx context.Context, name string) ([]byte, error)
}

// Polled is all that an agent's poll with nothing new needs.
type Polled struct {
	InstallID string
	PublicKey []byte // of the agent, by which its request is checked
	Instance  string // of the process that was heard last
	Revision  int64
	Digest    string
	Frozen    bool
	ReviewAt  time.Time // of the deployment; zero: never
}

// Polls is the read behind every request of an agent (G2): one indexed row, whatever the length of history and the
// number of deployments. Concurrent calls may share one query; each sees what was committed before it was called. It
// takes no lock that a writer waits for, and waits for none. It is not for use within a transaction: Internal
// store_nested.
type Polls interface {
	// Poll returns what an agent's deployment is at. Fault: NotFound agent_not_found, also where there is no deployment or
	// no desired state of it.
	Poll(ctx context.Context, agent string) (Polled, error)
}
