package storetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

// A store that forgets any one field of any record is caught.
func TestEveryForgottenColumnIsCaught(t *testing.T) {
	t.Parallel()
	single, parts := "a record comes back with every field", "handles, routes and waiting tenants come back with every field"
	forgetful(t, single, regionKind().tree)
	forgetful(t, single, nodeKind().tree)
	forgetful(t, single, leaseKind().tree)
	forgetful(t, single, placementKind().tree)
	forgetful(t, single, migrationKind().tree)
	forgetful(t, single, leaderKind().tree)
	forgetful(t, single, tenantKind().tree)
	forgetful(t, single, principalKind().tree)
	forgetful(t, single, credentialKind().tree)
	forgetful(t, single, signingKeyKind().tree)
	forgetful(t, single, operatorTokenKind().tree)
	forgetful(t, single, secretKind().tree)
	forgetful(t, single, customerKind().tree)
	forgetful(t, single, licenseKind().tree)
	forgetful(t, single, appKind().tree)
	forgetful(t, single, registryKind().tree)
	forgetful(t, single, packageKind().tree)
	forgetful(t, single, deploymentKind().tree)
	forgetful(t, single, desiredKind().tree)
	forgetful(t, single, agentKind().tree)
	forgetful(t, single, intentKind().tree)
	forgetful(t, single, func(s *state) *tree[delivery.Release] { return &s.releases })
	forgetful(t, single, func(s *state) *tree[delivery.Revision] { return &s.revisions })
	put := "what is put comes back with every field"
	forgetful(t, put, func(s *state) *tree[entitlement.Entitlement] { return &s.entitlements })
	forgetful(t, put, func(s *state) *tree[delivery.Observation] { return &s.observations })
	forgetful(t, put, func(s *state) *tree[delivery.SecretValue] { return &s.secretValues })
	forgetful(t, parts, func(s *state) *tree[authorization.HandleRecord] { return &s.handles })
	forgetful(t, parts, func(s *state) *tree[authorization.RouteRecord] { return &s.routes })
	forgetful(t, parts, func(s *state) *tree[placement.Waiting] { return &s.queue })
	forgetful(t, "a backup replaces the one before", func(s *state) *tree[placement.Backup] { return &s.backups })
	forgetful(t, "changes come back whole, by revision and part", func(s *state) *tree[authorization.Change] { return &s.changes })
	forgetful(t, "audit entries come back as they were sealed", func(s *state) *tree[audit.Entry] { return &s.audit })
	forgetful(t, "an answer comes back with every field", func(s *state) *tree[store.Once] { return &s.once })
}

// forgetful makes a mutant of each field of R, which after each commit is gone from every record.
func forgetful[R any](t *testing.T, name string, at func(*state) *tree[R]) {
	t.Helper()
	for path := range fields[R]() {
		t.Run(reflect.TypeFor[R]().String()+path, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, Laws(), name, func(testing.TB) store.Store {
				m := &mutant{Memory: NewMemory()}
				m.atomically = func(ctx context.Context, fn body) error {
					err := m.Memory.Atomically(ctx, fn)
					s := *m.state.Load()
					forget(at(&s), path)
					m.state.Store(&s)
					return err
				}
				return m
			})
		})
	}
}

func forget[R any](t *tree[R], path string) {
	for key, v := range t.above("") {
		v = own(v)
		walk("", reflect.ValueOf(&v), func(at string, f reflect.Value) {
			if indexes.ReplaceAllString(at, "[]") == path {
				f.SetZero()
			}
		})
		*t = t.put(key, v)
	}
}

// fields are the paths of R's fields that hold no others; bytes and maps are one field.
func fields[R any]() map[string]bool {
	out := map[string]bool{}
	r := full[R](newMaker(1))
	walk("", reflect.ValueOf(&r), func(path string, v reflect.Value) {
		_, isTime := reflect.TypeAssert[time.Time](v)
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			return
		case reflect.Struct:
			if !isTime {
				return
			}
		case reflect.Array, reflect.Slice:
			if v.Type().Elem().Kind() != reflect.Uint8 {
				return
			}
		case reflect.Uint8:
			if path[len(path)-1] == ']' {
				return
			}
		}
		out[indexes.ReplaceAllString(path, "[]")] = true
	})
	return out
}
