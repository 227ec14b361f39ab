package storetest

import (
	"context"
	"fmt"
	"strings"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/identity"
	"berth/domain/leadership"
	"berth/domain/placement"
	"berth/ports/store"
)

// state is everything that is stored, by key.
type state struct {
	origin string

	regions    tree[placement.Region]
	nodes      tree[placement.NodeRecord]
	leases     tree[placement.LeaseRecord]
	placements tree[placement.Record]
	migrations tree[placement.MigrationRecord]
	queue      tree[placement.Waiting]
	backups    tree[placement.Backup]
	leaders    tree[leadership.Record]
	pulses     tree[int64]

	tenants    tree[authorization.TenantRecord]
	principals tree[authorization.PrincipalRecord]
	handles    tree[authorization.HandleRecord]
	routes     tree[authorization.RouteRecord]
	changes    tree[authorization.Change]

	credentials tree[identity.CredentialRecord]
	keys        tree[identity.SigningKeyRecord]
	tokens      tree[identity.OperatorTokenRecord]
	secrets     tree[identity.OneTimeSecretRecord]
	nonces      tree[store.Ticket]

	customers    tree[entitlement.Customer]
	licenses     tree[entitlement.LicenseRecord]
	entitlements tree[entitlement.Entitlement]

	apps       tree[delivery.App]
	releases   tree[delivery.Release]
	registries tree[delivery.Registry]

	deployments  tree[delivery.DeploymentRecord]
	desired      tree[delivery.DesiredRecord]
	revisions    tree[delivery.Revision]
	objects      tree[[]byte]
	allowed      tree[bool]
	agents       tree[delivery.AgentRecord]
	observations tree[delivery.Observation]
	intents      tree[delivery.IntentRecord]
	secretValues tree[delivery.SecretValue]
	packages     tree[delivery.PackageRecord]
	wrapped      tree[[]byte]

	audit tree[audit.Entry]
	once  tree[store.Once]
}

func (t *tx) roles() *store.Roles {
	return &store.Roles{
		Origin:  t.origin,
		Regions: regions{of(t, regionKind)}, Nodes: nodes{of(t, nodeKind)}, Leases: of(t, leaseKind),
		Placements: placements{of(t, placementKind)}, Migrations: migrations{of(t, migrationKind)},
		Queue: queue{t}, Backups: backups{t}, Leaders: of(t, leaderKind),
		Tenants: tenants{of(t, tenantKind)}, Principals: principals{of(t, principalKind)}, Handles: handles{t},
		Routes: routes{t}, Changes: changes{t}, Standings: standings{t},
		Credentials: credentials{of(t, credentialKind)}, Keys: signingKeys{of(t, signingKeyKind)},
		Tokens: operatorTokens{of(t, operatorTokenKind)}, Secrets: secrets{of(t, secretKind)}, Nonces: nonces{t},
		Customers: customers{of(t, customerKind)}, Licenses: licenses{of(t, licenseKind)}, Entitlements: entitlements{t},
		Apps: apps{of(t, appKind)}, Releases: releases{t}, Registries: registries{of(t, registryKind)},
		Deployments: deployments{of(t, deploymentKind)}, DesiredStates: desiredStates{of(t, desiredKind)},
		Revisions: revisions{t}, Objects: objects{t}, Agents: agents{of(t, agentKind)}, Observations: observations{t},
		Intents: intents{of(t, intentKind)}, SecretValues: secretValues{t}, Packages: packages{of(t, packageKind)},
		WrappedSecrets: wrappedSecrets{t},
		Audit:          entries{t}, Idempotency: idempotency{t},
	}
}

// compound joins the parts of a key, none of which holds NUL, in the order of the parts.
func compound(parts ...string) string { return strings.Join(parts, "\x00") }

// within is the part of every compound key that begins with these parts.
func within(parts ...string) string { return compound(parts...) + "\x00" }

// number writes a counter so that text sorts as numbers do.
func number(n int64) string { return fmt.Sprintf("%020d", n) }

// kind is how one sort of aggregate is kept.
type kind[T, R any] struct {
	thing   string
	tree    func(*state) *tree[R]
	key     func(R) string
	record  func(T) R
	restore func(R) T
	belongs func(R) func(*state) bool // to what must exist at the commit; nil where it stands alone
	tenant  func(R) string            // of whom it says where they stand; nil where it says nothing of that
}

func (k kind[T, R]) list(from []R) []T {
	out := make([]T, 0, len(from))
	for _, r := range from {
		out = append(out, k.restore(own(r)))
	}
	return out
}

// aggregate is store.Aggregate in a transaction.
type aggregate[T, R any] struct {
	*tx
	kind kind[T, R]
}

func of[T, R any](t *tx, k func() kind[T, R]) aggregate[T, R] { return aggregate[T, R]{t, k()} }

func (a aggregate[T, R]) Create(_ context.Context, v T) error {
	return a.write(v, func(exists bool) error {
		if exists {
			return store.Taken(a.kind.thing)
		}
		return nil
	})
}

func (a aggregate[T, R]) Save(_ context.Context, v T) error {
	return a.write(v, func(exists bool) error {
		if !exists {
			return store.Missing(a.kind.thing)
		}
		return nil
	})
}

func (a aggregate[T, R]) write(v T, check func(exists bool) error) error {
	r, err := adopt(a.kind.record(v))
	if err != nil {
		return err
	}
	key := a.kind.key(r)
	if err := a.writing(key); err != nil {
		return err
	}
	at := a.kind.tree(&a.state)
	if err := check(at.has(key)); err != nil {
		return err
	}
	before := a.state.placements
	*at = at.put(key, r)
	if a.kind.tenant != nil {
		a.state.stir(a.kind.tenant(r), before)
	}
	if a.kind.belongs != nil {
		a.owe(a.kind.belongs(r))
	}
	return nil
}

func (a aggregate[T, R]) Get(_ context.Context, id string) (v T, err error) {
	if err := a.reading(id); err != nil {
		return v, err
	}
	r, found := a.kind.tree(&a.state).get(id)
	if !found {
		return v, store.Missing(a.kind.thing)
	}
	return a.kind.restore(own(r)), nil
}

func (a aggregate[T, R]) remove(id string) error {
	if err := a.writing(id); err != nil {
		return err
	}
	at := a.kind.tree(&a.state)
	if !at.has(id) {
		return store.Missing(a.kind.thing)
	}
	*at = at.remove(id)
	return nil
}

// page lists what passes the filter.
func (a aggregate[T, R]) page(p store.Page, passes func(R) bool, keys ...string) ([]T, error) {
	if err := a.reading(append(keys, p.After)...); err != nil {
		return nil, err
	}
	return a.kind.list(a.kind.tree(&a.state).pick(p.After, p.Size(), passes)), nil
}

// pick returns up to limit values above a key that pass.
func (t tree[V]) pick(after string, limit int, passes func(V) bool) []V {
	var out []V
	for _, v := range t.above(after) {
		if passes(v) {
			if out = append(out, v); len(out) >= limit {
				break
			}
		}
	}
	return out
}

// span returns up to limit values whose keys begin with the given parts and lie above after, which begins so too.
func (t tree[V]) span(prefix, after string, limit int) []V {
	var out []V
	for key, v := range t.above(max(prefix, after)) {
		if !strings.HasPrefix(key, prefix) || len(out) >= limit {
			break
		}
		out = append(out, v)
	}
	return out
}

// sweep removes up to limit values that pass and says how many.
func (t *tree[V]) sweep(limit int, passes func(V) bool) int {
	var doomed []string
	for key, v := range t.above("") {
		if passes(v) {
			if doomed = append(doomed, key); len(doomed) >= max(limit, 1) {
				break
			}
		}
	}
	for _, key := range doomed {
		*t = t.remove(key)
	}
	return len(doomed)
}

func self[R any](r R) R { return r }

func anything[R any](R) bool { return true }
