package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func recordLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a record comes back with every field", everyField),
		promise("a record of nothing but its key comes back so", bareFields),
		promise("a counter at its limit comes back", counterLimits),
		promise("saving replaces every field", everyFieldReplaced),
		promise("handles, routes and waiting tenants come back with every field", partsWhole),
		promise("what comes back belongs to the caller", callersOwn),
		promise("a transaction reads what it wrote", readsOwnWrites),
	}
}

func everyField(k *kit) {
	for _, s := range samples() {
		for i := range 8 {
			id := fmt.Sprintf("id-%d", i)
			k.roundTrip(s, id, s.full(newMaker(uint64(i)), id))
		}
	}
}

func partsWhole(k *kit) {
	handle, path, waiting := full[authorization.HandleRecord](k.maker), full[authorization.RouteRecord](k.maker), full[placement.Waiting](k.maker)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(havePrincipal(ctx, r, handle.Tenant, handle.Principal), r.Handles.Add(ctx, restoreHandles([]authorization.HandleRecord{handle})),
			r.Routes.Create(ctx, authorization.RestoreRoute(path)), r.Queue.Add(ctx, waiting))
	})
	k.partsAre(handle, path, waiting)
	tenant, principal, digest := handle.Tenant, handle.Principal, handle.Digest
	handle = full[authorization.HandleRecord](k.maker)
	handle.Tenant, handle.Principal, handle.Digest = tenant, principal, digest
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.Handles.Save(ctx, restoreHandles([]authorization.HandleRecord{handle}))
	})
	k.partsAre(handle, path, waiting)
}

func (k *kit) partsAre(handle authorization.HandleRecord, path authorization.RouteRecord, waiting placement.Waiting) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		hs, err := r.Handles.OfPrincipal(ctx, handle.Tenant, handle.Principal)
		if err != nil {
			return err
		}
		same(k, "handles", handleRecords(hs), []authorization.HandleRecord{handle})
		route, err := r.Routes.Get(ctx, path.Tenant, path.ID)
		if err != nil {
			return err
		}
		same(k, "the route", route.Record(), path)
		got, err := r.Queue.Get(ctx, waiting.Tenant)
		if err == nil {
			same(k, "the waiting tenant", got, waiting)
		}
		return err
	})
}

func bareFields(k *kit) {
	for _, s := range samples() {
		k.roundTrip(s, "bare", s.bare("bare"))
	}
}

func counterLimits(k *kit) {
	for _, s := range samples() {
		k.roundTrip(s, "high", s.limits("high"))
	}
}

func (k *kit) roundTrip(s sample, id string, record any) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return s.create(ctx, r, record) })
	k.holds(s, id, record)
}

// holds fails the law unless the store gives this record.
func (k *kit) holds(s sample, id string, want any) {
	k.Helper()
	var got any
	k.mustSee(func(ctx context.Context, r *store.Roles) (err error) {
		got, err = s.get(ctx, r, s.key(id))
		return err
	})
	s.same(k, s.thing, got, want)
}

// changing are the samples of what can be saved.
func changing() []sample {
	return slices.DeleteFunc(samples(), func(s sample) bool { return s.save == nil })
}

func everyFieldReplaced(k *kit) {
	for _, s := range changing() {
		k.roundTrip(s, "x", s.bare("x"))
		k.roundTrip(s, "y", s.full(newMaker(7), "y"))
		last := s.full(k.maker, "x")
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return s.save(ctx, r, last) })
		k.holds(s, "x", last)
		k.holds(s, "y", s.full(newMaker(7), "y"))
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return s.save(ctx, r, s.bare("x")) })
		k.holds(s, "x", s.bare("x"))
	}
}

func callersOwn(k *kit) {
	for _, s := range samples() {
		record, want := s.full(newMaker(1), "mine"), s.full(newMaker(1), "mine")
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return s.create(ctx, r, record) })
		scribble(record)
		k.holds(s, "mine", want)
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			got, err := s.get(ctx, r, s.key("mine"))
			scribble(got)
			return err
		})
		k.holds(s, "mine", want)
	}
}

// scribble changes what can be reached through a record's slices, maps and pointers.
func scribble(record any) {
	walk("", reflect.ValueOf(record), func(_ string, v reflect.Value) {
		switch {
		case v.Kind() == reflect.Map && v.Len() > 0:
			v.SetMapIndex(v.MapKeys()[0], reflect.Zero(v.Type().Elem()))
		case v.CanSet():
			v.SetZero()
		}
	})
}

func readsOwnWrites(k *kit) {
	for _, s := range samples() {
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			for seed, write := range []func(context.Context, *store.Roles, any) error{s.create, s.save} {
				if write == nil {
					continue
				}
				want := s.full(newMaker(uint64(seed)), "own")
				if err := write(ctx, r, want); err != nil {
					return err
				}
				got, err := s.get(ctx, r, s.key("own"))
				if err != nil {
					return err
				}
				s.same(k, s.thing+" within its transaction", got, want)
			}
			return nil
		})
	}
}
