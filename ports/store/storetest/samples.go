package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/leadership"
	"berth/domain/placement"
	"berth/ports/store"
)

// sample is one sort of single record, its types put aside so that one law covers all.
type sample struct {
	thing  string
	full   func(m *maker, id string) any // a record with every field set; id makes its key
	bare   func(id string) any           // one with nothing but its key
	limits func(id string) any           // one with every counter at its limit
	key    func(id string) string

	create func(ctx context.Context, r *store.Roles, record any) error
	save   func(ctx context.Context, r *store.Roles, record any) error // nil where a record never changes
	get    func(ctx context.Context, r *store.Roles, key string) (any, error)
	same   func(k *kit, what string, got, want any)
}

// shape is what sampleOf needs to know of a record beyond its types.
type shape[T, R any] struct {
	thing   string
	role    func(*store.Roles) store.Aggregate[T]
	restore func(R) T
	record  func(T) R
	name    func(r *R, id string)
	key     func(id string) string // where it is not the id itself
	parent  func(r R) (node string)
}

func sampleOf[T, R any](s shape[T, R]) sample {
	named := func(r R, id string) any {
		s.name(&r, id)
		return r
	}
	out := sample{
		thing:  s.thing,
		full:   func(m *maker, id string) any { return named(full[R](m), id) },
		bare:   func(id string) any { return named(*new(R), id) },
		limits: func(id string) any { return named(full[R](&maker{rand: newMaker(2).rand, limit: 1<<53 - 1}), id) },
		key:    s.key,
		create: func(ctx context.Context, r *store.Roles, record any) error {
			if s.parent != nil {
				if err := haveNode(ctx, r, s.parent(is[R](record))); err != nil {
					return err
				}
			}
			return s.role(r).Create(ctx, s.restore(is[R](record)))
		},
		save: func(ctx context.Context, r *store.Roles, record any) error {
			return s.role(r).Save(ctx, s.restore(is[R](record)))
		},
		get: func(ctx context.Context, r *store.Roles, key string) (any, error) {
			v, err := s.role(r).Get(ctx, key)
			if err != nil {
				return nil, err
			}
			return s.record(v), nil
		},
		same: func(k *kit, what string, got, want any) {
			k.Helper()
			same(k, what, is[R](got), is[R](want))
		},
	}
	if out.key == nil {
		out.key = func(id string) string { return id }
	}
	return out
}

// is reads back a record that a sample of R made.
func is[R any](record any) R {
	r, ok := record.(R)
	if !ok {
		panic(fmt.Sprintf("storetest: %T is of another sample", record))
	}
	return r
}

// haveNode makes a node for what belongs to one.
func haveNode(ctx context.Context, r *store.Roles, id string) error {
	if _, err := r.Nodes.Get(ctx, id); err == nil {
		return nil
	}
	return r.Nodes.Create(ctx, placement.RestoreNode(placement.NodeRecord{ID: id, Region: "eu", Schedulable: true}))
}

func samples() []sample {
	return slices.Concat(fleetSamples(), accessSamples(), trustSamples(), licenseSamples(), clusterSamples(), onceWritten())
}

func fleetSamples() []sample {
	return []sample{
		sampleOf(shape[placement.Region, placement.Region]{
			thing: "region", role: func(r *store.Roles) store.Aggregate[placement.Region] { return r.Regions },
			restore: self[placement.Region], record: self[placement.Region],
			name: func(r *placement.Region, id string) { r.ID = id },
		}),
		sampleOf(shape[*placement.Node, placement.NodeRecord]{
			thing: "node", role: func(r *store.Roles) store.Aggregate[*placement.Node] { return r.Nodes },
			restore: placement.RestoreNode, record: (*placement.Node).Record,
			name: func(r *placement.NodeRecord, id string) { r.ID = id },
		}),
		sampleOf(shape[*placement.Lease, placement.LeaseRecord]{
			thing: "lease", role: func(r *store.Roles) store.Aggregate[*placement.Lease] { return r.Leases },
			restore: placement.RestoreLease, record: (*placement.Lease).Record,
			name:   func(r *placement.LeaseRecord, id string) { r.Node = id },
			parent: func(r placement.LeaseRecord) string { return r.Node },
		}),
		sampleOf(shape[*placement.Placement, placement.Record]{
			thing: "placement", role: func(r *store.Roles) store.Aggregate[*placement.Placement] { return r.Placements },
			restore: placement.Restore, record: (*placement.Placement).Record,
			name: func(r *placement.Record, id string) { r.Tenant = id },
		}),
		sampleOf(shape[*placement.Migration, placement.MigrationRecord]{
			thing: "migration", role: func(r *store.Roles) store.Aggregate[*placement.Migration] { return r.Migrations },
			restore: placement.RestoreMigration, record: (*placement.Migration).Record,
			name: func(r *placement.MigrationRecord, id string) { r.ID = id },
		}),
		sampleOf(shape[*leadership.Term, leadership.Record]{
			thing: "leader", role: func(r *store.Roles) store.Aggregate[*leadership.Term] { return r.Leaders },
			restore: leadership.Restore, record: (*leadership.Term).Record,
			name: func(r *leadership.Record, id string) { r.Duty = id },
		}),
	}
}

func accessSamples() []sample {
	return []sample{
		sampleOf(shape[*authorization.Tenant, authorization.TenantRecord]{
			thing: "tenant", role: func(r *store.Roles) store.Aggregate[*authorization.Tenant] { return r.Tenants },
			restore: authorization.RestoreTenant, record: (*authorization.Tenant).Record,
			name: func(r *authorization.TenantRecord, id string) { r.ID = id },
		}),
		sampleOf(shape[*authorization.Principal, authorization.PrincipalRecord]{
			thing: "principal", role: func(r *store.Roles) store.Aggregate[*authorization.Principal] { return r.Principals },
			restore: authorization.RestorePrincipal, record: (*authorization.Principal).Record,
			name: func(r *authorization.PrincipalRecord, id string) { r.ID = id },
		}),
	}
}

func trustSamples() []sample {
	return []sample{
		sampleOf(shape[*identity.Credential, identity.CredentialRecord]{
			thing: "credential", role: func(r *store.Roles) store.Aggregate[*identity.Credential] { return r.Credentials },
			restore: identity.RestoreCredential, record: (*identity.Credential).Record,
			name:   func(r *identity.CredentialRecord, id string) { r.Fingerprint, r.Node = id, "node-of-"+id },
			parent: func(r identity.CredentialRecord) string { return r.Node },
		}),
		sampleOf(shape[*identity.SigningKey, identity.SigningKeyRecord]{
			thing: "signing_key", role: func(r *store.Roles) store.Aggregate[*identity.SigningKey] { return r.Keys },
			restore: identity.RestoreSigningKey, record: (*identity.SigningKey).Record,
			name: func(r *identity.SigningKeyRecord, id string) { r.KID = id },
		}),
		sampleOf(shape[*identity.OperatorToken, identity.OperatorTokenRecord]{
			thing: "token", role: func(r *store.Roles) store.Aggregate[*identity.OperatorToken] { return r.Tokens },
			restore: identity.RestoreOperatorToken, record: (*identity.OperatorToken).Record,
			name: func(r *identity.OperatorTokenRecord, id string) { r.ID = id },
		}),
		sampleOf(shape[*identity.OneTimeSecret, identity.OneTimeSecretRecord]{
			thing: "secret", role: func(r *store.Roles) store.Aggregate[*identity.OneTimeSecret] { return r.Secrets },
			restore: identity.RestoreOneTimeSecret, record: (*identity.OneTimeSecret).Record,
			name: func(r *identity.OneTimeSecretRecord, id string) { r.Hash = sha256.Sum256([]byte(id)) },
			key: func(id string) string {
				hash := sha256.Sum256([]byte(id))
				return hex.EncodeToString(hash[:])
			},
		}),
	}
}

// with returns a copy of a record in which one value is changed through set.
func with(record any, set func(v reflect.Value)) any {
	v := reflect.New(reflect.TypeOf(record))
	v.Elem().Set(reflect.ValueOf(record))
	set(v.Elem())
	return v.Elem().Interface()
}
