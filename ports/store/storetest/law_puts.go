package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func putLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("what is put comes back with every field", putsWhole),
		promise("what is put replaces what was there", putsReplace),
		promise("what is put is put all or none", putsAllOrNone),
		promise("of what is put twice the last counts", putsLast),
		promise("what is put belongs to the store, what comes back to its caller", putsApart),
		promise("what is put is found under its own key only, in order", putsOrdered),
		promise("a thousand records are put in one call", putsMany),
		promise("text in lists and maps that can not be held is refused", badDepthsRefused),
	}
}

// part is one sort of record that is put, its types put aside.
type part struct {
	thing  string
	full   func(m *maker, of, id string) any // a record with every field set; of and id make its key
	bare   func(of, id string) any
	limits func(of, id string) any
	put    func(ctx context.Context, r *store.Roles, records []any) error
	list   func(ctx context.Context, r *store.Roles, of string) ([]any, error)
}

func partOf[R any](thing string, name func(r *R, of, id string),
	put func(context.Context, *store.Roles, []R) error, list func(context.Context, *store.Roles, string) ([]R, error),
) part {
	named := func(r R, of, id string) any {
		name(&r, of, id)
		return r
	}
	return part{
		thing: thing,
		full:  func(m *maker, of, id string) any { return named(full[R](m), of, id) },
		bare:  func(of, id string) any { return named(*new(R), of, id) },
		limits: func(of, id string) any {
			return named(full[R](&maker{rand: newMaker(2).rand, limit: 1<<53 - 1}), of, id)
		},
		put: func(ctx context.Context, r *store.Roles, records []any) error {
			rs := make([]R, 0, len(records))
			for _, record := range records {
				rs = append(rs, is[R](record))
			}
			return put(ctx, r, rs)
		},
		list: func(ctx context.Context, r *store.Roles, of string) ([]any, error) {
			found, err := list(ctx, r, of)
			out := make([]any, 0, len(found))
			for _, record := range found {
				out = append(out, record)
			}
			return out, err
		},
	}
}

func parts() []part {
	return []part{
		partOf("entitlement", func(r *entitlement.Entitlement, of, id string) { r.License, r.App = of, id },
			func(ctx context.Context, r *store.Roles, rs []entitlement.Entitlement) error {
				return r.Entitlements.Put(ctx, rs)
			},
			func(ctx context.Context, r *store.Roles, of string) ([]entitlement.Entitlement, error) {
				return r.Entitlements.OfLicense(ctx, of)
			}),
		partOf("observation", func(r *delivery.Observation, of, id string) { r.InstallID, r.App = of, id },
			func(ctx context.Context, r *store.Roles, rs []delivery.Observation) error {
				return r.Observations.Put(ctx, rs)
			},
			func(ctx context.Context, r *store.Roles, of string) ([]delivery.Observation, error) {
				return r.Observations.OfInstall(ctx, of)
			}),
		partOf("secret value", func(r *delivery.SecretValue, of, id string) { r.InstallID, r.App, r.Parameter = of, id, "p-"+id },
			func(ctx context.Context, r *store.Roles, rs []delivery.SecretValue) error {
				return r.SecretValues.Put(ctx, rs)
			},
			func(ctx context.Context, r *store.Roles, of string) ([]delivery.SecretValue, error) {
				return r.SecretValues.OfInstall(ctx, of)
			}),
	}
}

func (k *kit) puts(p part, records ...any) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return p.put(ctx, r, records) })
}

// lists fails the law unless exactly these records are under a key, in this order.
func (k *kit) lists(p part, of string, want ...any) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := p.list(ctx, r, of)
		if err != nil || len(got) != len(want) {
			return fmt.Errorf("%s: %d records, want %d: %w", p.thing, len(got), len(want), err)
		}
		for i := range got {
			if !reflect.DeepEqual(canonical(got[i]), canonical(want[i])) || !inUTC(reflect.ValueOf(got[i])) {
				return fmt.Errorf("%s %d\n got %+v\nwant %+v", p.thing, i, got[i], want[i])
			}
		}
		return nil
	})
}

// canonical is a record as stores give it.
func canonical(record any) any {
	v := reflect.New(reflect.TypeOf(record)).Elem()
	v.Set(reflect.ValueOf(record))
	(&copier{}).copy(v)
	return v.Interface()
}

func putsWhole(k *kit) {
	for _, p := range parts() {
		all := []any{p.bare("x", "a"), p.full(k.maker, "x", "b"), p.limits("x", "c")}
		k.puts(p, all...)
		k.lists(p, "x", all...)
	}
	want := full[entitlement.Entitlement](k.maker)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.Entitlements.Put(ctx, []entitlement.Entitlement{want})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Entitlements.Get(ctx, want.License, want.App)
		if err == nil {
			same(k, "an entitlement", got, want)
		}
		return errors.Join(err, expect(second(r.Entitlements.Get(ctx, want.License, "other")), fault.NotFound, "entitlement_not_found"))
	})
}

func putsReplace(k *kit) {
	for _, p := range parts() {
		k.puts(p, p.bare("x", "a"), p.full(newMaker(3), "x", "b"))
		last := []any{p.full(k.maker, "x", "a"), p.full(k.maker, "x", "c")}
		k.puts(p, last...)
		k.lists(p, "x", last[0], p.full(newMaker(3), "x", "b"), last[1])
		k.puts(p, p.bare("x", "a"), p.bare("x", "b"))
		k.lists(p, "x", p.bare("x", "a"), p.bare("x", "b"), last[1])
	}
}

func putsAllOrNone(k *kit) {
	for _, p := range parts() {
		first := p.full(newMaker(1), "x", "a")
		k.puts(p, first)
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			bad := []any{p.full(k.maker, "x", "a"), p.full(k.maker, "x", "b"), p.bare("x", badTexts[0])}
			return errors.Join(expect(p.put(ctx, r, bad), fault.Invalid, "invalid_text"), p.put(ctx, r, nil))
		})
		k.lists(p, "x", first)
	}
}

func putsLast(k *kit) {
	for _, p := range parts() {
		last := p.full(k.maker, "x", "a")
		k.puts(p, p.bare("x", "a"), p.bare("x", "b"), last)
		k.lists(p, "x", last, p.bare("x", "b"))
	}
}

func putsApart(k *kit) {
	for _, p := range parts() {
		record, want := p.full(newMaker(1), "x", "a"), p.full(newMaker(1), "x", "a")
		k.puts(p, record)
		scribble(record)
		k.lists(p, "x", want)
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			got, err := p.list(ctx, r, "x")
			for _, record := range got {
				scribble(record)
			}
			return err
		})
		k.lists(p, "x", want)
	}
}

func putsOrdered(k *kit) {
	for _, p := range parts() {
		keys := slices.Compact(slices.Sorted(slices.Values(awkward)))
		var want, all []any
		for _, key := range keys {
			want = append(want, p.bare("a", key))
			all = append(all, p.bare("a", key), p.bare("aa", key), p.bare("A", key), p.bare("", key))
		}
		k.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		k.puts(p, all...)
		k.lists(p, "a", want...)
		k.lists(p, "b")
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.SecretValues.Put(ctx, []delivery.SecretValue{
			{InstallID: "i", App: "b", Parameter: "x"}, {InstallID: "i", App: "a", Parameter: "y"},
			{InstallID: "i", App: "a", Parameter: "B"}, {InstallID: "i", App: "a", Parameter: "a"},
		})
	})
	k.gives("secret values", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.SecretValues.OfInstall(ctx, "i"))(func(v delivery.SecretValue) string { return v.App + v.Parameter })
	}, "aB", "aa", "ay", "bx")
}

func putsMany(k *kit) {
	const many = 1_203
	for _, p := range parts() {
		var all []any
		for i := range many {
			all = append(all, p.bare("x", fmt.Sprintf("%04d", i)))
		}
		k.puts(p, all...)
		k.lists(p, "x", all...)
		k.puts(p, all...)
		k.lists(p, "x", all...)
	}
}

// JSON holds any text, and so hides what a column would refuse.
func badDepthsRefused(k *kit) {
	bad := []string{"a\x00b", "a\xffb"}
	for _, text := range bad {
		for name, apps := range map[string]delivery.DesiredApp{
			"a key": {Parameters: map[string]string{text: "v"}}, "a value": {Parameters: map[string]string{"k": text}},
			"an image": {Images: []string{text}}, "a seal": {Seals: []delivery.Seal{{Key: text}}},
		} {
			err := k.do(func(ctx context.Context, r *store.Roles) error {
				return r.DesiredStates.Create(ctx, delivery.RestoreDesired(delivery.DesiredRecord{InstallID: "i", Apps: []delivery.DesiredApp{apps}}))
			})
			k.refused(name, err, fault.Invalid, "invalid_text")
		}
		for _, choice := range []delivery.Choice{{Parameters: map[string]string{text: "v"}}, {Parameters: map[string]string{"k": text}}} {
			err := k.do(func(ctx context.Context, r *store.Roles) error {
				return r.Deployments.Create(ctx, delivery.RestoreDeployment(delivery.DeploymentRecord{InstallID: "i", Selected: []delivery.Choice{choice}}))
			})
			k.refused("a selected service", err, fault.Invalid, "invalid_text")
		}
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			return r.Observations.Put(ctx, []delivery.Observation{{InstallID: "i", App: "a", Failures: []string{text}}})
		})
		k.refused("a failure", err, fault.Invalid, "invalid_text")
	}
}
