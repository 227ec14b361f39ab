package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func valueLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("text that can not be held is refused in every field", badTextRefused),
		promise("text that can not be held is refused as a key", badKeysRefused),
		promise("keys that look alike are different", keysThatLookAlike),
		promise("times are kept to the microsecond and come back in UTC", timesKept),
		promise("a body of a mebibyte comes back", largeBody),
		promise("ten thousand handles are one call", manyHandles),
	}
}

var badTexts = []string{"nul\x00", "\x00", "broken\xff", "cut\xe8\x88"} //nolint:gochecknoglobals // an immutable table

func badTextRefused(k *kit) {
	for _, s := range samples() {
		var paths []string
		seen := map[string]bool{} // the items of a list are alike
		each(reflect.ValueOf(s.full(newMaker(1), "id")), reflect.String, func(path string, _ reflect.Value) {
			if alike := indexes.ReplaceAllString(path, "[]"); !seen[alike] {
				seen[alike] = true
				paths = append(paths, path)
			}
		})
		for _, path := range paths {
			for _, bad := range badTexts {
				record := with(s.full(newMaker(1), "id"), func(v reflect.Value) { setText(v, path, bad) })
				err := k.do(func(ctx context.Context, r *store.Roles) error { return s.create(ctx, r, record) })
				k.refused(s.thing+path, err, fault.Invalid, "invalid_text")
			}
		}
		err := k.see(func(ctx context.Context, r *store.Roles) error {
			_, err := s.get(ctx, r, s.key("id"))
			return err
		})
		k.refused(s.thing+" after it was refused", err, fault.NotFound, s.thing+"_not_found")
	}
}

var indexes = regexp.MustCompile(`\[\d+\]`)

func setText(v reflect.Value, path, text string) {
	each(v, reflect.String, func(at string, v reflect.Value) {
		if at == path {
			v.SetString(text)
		}
	})
}

func badKeysRefused(k *kit) {
	for _, bad := range badTexts {
		for what, read := range reads(bad) {
			k.refused(what, k.see(read), fault.Invalid, "invalid_text")
		}
	}
	_, _, err := k.store.Caller(k.ctx, badTexts[0])
	k.refused("caller", err, fault.Invalid, "invalid_text")
	k.refused("poll", second(k.store.Poll(k.ctx, badTexts[0])), fault.Invalid, "invalid_text")
}

// reads are the methods that take text and only read, each called with the same text.
func reads(id string) map[string]body {
	page := store.Page{Limit: 3}
	at := func(after string) store.Page { return store.Page{After: after, Limit: 3} }
	out := map[string]body{
		"region":         func(ctx context.Context, r *store.Roles) error { return second(r.Regions.Get(ctx, id)) },
		"regions":        func(ctx context.Context, r *store.Roles) error { return second(r.Regions.List(ctx, at(id))) },
		"node":           func(ctx context.Context, r *store.Roles) error { return second(r.Nodes.Get(ctx, id)) },
		"candidates":     func(ctx context.Context, r *store.Roles) error { return second(r.Nodes.Candidates(ctx, id, page)) },
		"concerning":     func(ctx context.Context, r *store.Roles) error { return second(r.Placements.Concerning(ctx, id, page)) },
		"held by":        func(ctx context.Context, r *store.Roles) error { return second(r.Placements.HeldBy(ctx, id, page)) },
		"running from":   func(ctx context.Context, r *store.Roles) error { return second(r.Migrations.RunningFrom(ctx, id)) },
		"waiting":        func(ctx context.Context, r *store.Roles) error { return second(r.Queue.Get(ctx, id)) },
		"oldest":         func(ctx context.Context, r *store.Roles) error { return second(r.Queue.Oldest(ctx, id, 3)) },
		"backup":         func(ctx context.Context, r *store.Roles) error { return second(r.Backups.Get(ctx, id)) },
		"principals":     func(ctx context.Context, r *store.Roles) error { return second(r.Principals.OfTenant(ctx, id, page)) },
		"handles":        func(ctx context.Context, r *store.Roles) error { return second(r.Handles.OfTenant(ctx, id)) },
		"own handles":    func(ctx context.Context, r *store.Roles) error { return second(r.Handles.OfPrincipal(ctx, "t", id)) },
		"route":          func(ctx context.Context, r *store.Roles) error { return second(r.Routes.Get(ctx, "t", id)) },
		"routes":         func(ctx context.Context, r *store.Roles) error { return second(r.Routes.OfTenant(ctx, id, page)) },
		"changes":        func(ctx context.Context, r *store.Roles) error { return second(r.Changes.Since(ctx, id, 0, 3)) },
		"standing":       func(ctx context.Context, r *store.Roles) error { return second(r.Standings.Get(ctx, id)) },
		"differing":      func(ctx context.Context, r *store.Roles) error { return differingOf(ctx, r, "n", id) },
		"differing node": func(ctx context.Context, r *store.Roles) error { return differingOf(ctx, r, id, "t") },
		"credential":     func(ctx context.Context, r *store.Roles) error { return second(r.Credentials.Get(ctx, id)) },
		"credentials":    func(ctx context.Context, r *store.Roles) error { return second(r.Credentials.OfNode(ctx, id)) },
		"in force": func(ctx context.Context, r *store.Roles) error {
			return second(r.Credentials.InForce(ctx, noon, at(id)))
		},
		"about": func(ctx context.Context, r *store.Roles) error { return second(r.Audit.About(ctx, id, 0, 3)) },
	}
	maps.Copy(out, deliveryReads(id))
	return out
}

func second[T any](_ T, err error) error { return err }

func differingOf(ctx context.Context, r *store.Roles, node, tenant string) error {
	_, _, err := r.Standings.Differing(ctx, node, []store.Known{{Tenant: tenant, Generation: 1, Revision: 1}})
	return err
}

func keysThatLookAlike(k *kit) {
	alike := []string{"a", "A", "á", "a\u0301", "a ", " a", "'a'", "a?", "?", "%", "a%", "_", "0", "00", "1e0", "1", "NULL", "a\\", "a\n"}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, id := range alike {
			region := placement.Region{ID: id, Origin: fmt.Sprint(i)}
			if err := errors.Join(r.Regions.Create(ctx, region), r.Routes.Create(ctx, route(id, "x"+id))); err != nil {
				return err
			}
		}
		return nil
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for i, id := range alike {
			region, err := r.Regions.Get(ctx, id)
			if err != nil || region.ID != id || region.Origin != fmt.Sprint(i) {
				return fmt.Errorf("%q gave %+v, %w", id, region, err)
			}
			if _, err := r.Routes.Get(ctx, id, "x"+id); err != nil {
				return err
			}
		}
		return nil
	})
}

func route(tenant, id string) authorization.Route {
	return authorization.RestoreRoute(authorization.RouteRecord{Tenant: tenant, ID: id, CreatedAt: noon, CreatedBy: "operator/o"})
}

// noon is an instant in another zone than UTC, noonUTC the same as stores give it.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 123_456_789, zone) //nolint:gochecknoglobals // immutable

func timesKept(k *kit) {
	for i, at := range []time.Time{
		noon, {}, time.Unix(0, 0), time.Unix(0, 999), time.Date(1969, 1, 1, 0, 0, 0, 999_999_999, zone),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		id := fmt.Sprint(i)
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			return r.Regions.Create(ctx, placement.Region{ID: id, CreatedAt: at})
		})
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			region, err := r.Regions.Get(ctx, id)
			if err == nil && region.CreatedAt != ident.Instant(at) {
				return fmt.Errorf("%v came back as %v", at, region.CreatedAt)
			}
			return err
		})
	}
}

func largeBody(k *kit) {
	body := make([]byte, 1<<20)
	for i := range body {
		body[i] = byte(k.rand.Uint32())
	}
	o := store.Once{Scope: "s", Key: "k", Digest: "d", Status: 200, Body: body, CreatedAt: noon}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Idempotency.Begin(ctx, o); err != nil {
			return err
		}
		return r.Idempotency.Finish(ctx, o)
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		found, err := r.Idempotency.Begin(ctx, o)
		if e := expect(err, fault.AlreadyExists, "once_exists"); e != nil {
			return e
		}
		if !bytes.Equal(found.Body, body) {
			return errors.New("the body came back otherwise")
		}
		return nil
	})
}

func manyHandles(k *kit) {
	const many = 10_000
	records := make([]authorization.HandleRecord, many)
	for i := range records {
		records[i] = authorization.HandleRecord{
			Tenant: "acme", Principal: "p", Route: "main", Status: authorization.Active, CreatedAt: noon,
			Digest: full[authorization.Digest](k.maker),
		}
	}
	write := func(put func(context.Context, *store.Roles, []*authorization.Handle) error) {
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return put(ctx, r, restoreHandles(records)) })
	}
	write(func(ctx context.Context, r *store.Roles, hs []*authorization.Handle) error {
		return errors.Join(havePrincipal(ctx, r, "acme", "p"), r.Handles.Add(ctx, hs))
	})
	for i := range records {
		records[i].Status, records[i].RevokedRevision = authorization.Revoked, 9
	}
	write(func(ctx context.Context, r *store.Roles, hs []*authorization.Handle) error {
		return r.Handles.Save(ctx, hs)
	})
	slices.SortFunc(records, func(a, b authorization.HandleRecord) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Handles.OfPrincipal(ctx, "acme", "p")
		if err == nil {
			same(k, "handles", handleRecords(got), records)
		}
		return err
	})
}

func restoreHandles(records []authorization.HandleRecord) []*authorization.Handle {
	out := make([]*authorization.Handle, 0, len(records))
	for _, r := range records {
		out = append(out, authorization.RestoreHandle(r))
	}
	return out
}

func handleRecords(hs []*authorization.Handle) []authorization.HandleRecord {
	out := make([]authorization.HandleRecord, 0, len(hs))
	for _, h := range hs {
		out = append(out, h.Record())
	}
	return out
}

// havePrincipal makes a principal for handles to belong to.
func havePrincipal(ctx context.Context, r *store.Roles, tenant, id string) error {
	return r.Principals.Create(ctx, authorization.RestorePrincipal(authorization.PrincipalRecord{
		Tenant: tenant, ID: id, Kind: authorization.Phone, Role: authorization.Owner, Status: authorization.Active,
	}))
}
