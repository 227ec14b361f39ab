package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func listLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a list is ordered by the bytes of its key", listsOrdered),
		promise("pages follow one another without gap or repeat", pagesComplete),
		promise("a page is bounded below and above", pagesBounded),
		promise("an empty list is no fault", emptyLists),
	}
}

// listing is one paged list and how to put something on it.
type listing struct {
	name   string
	shared bool // its records are those of the list before it
	add    func(ctx context.Context, r *store.Roles, key string) error
	list   func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error)
}

func listings() []listing {
	return slices.Concat(fleetListings(), accessListings(), licenseListings(), deliveryListings())
}

func keysOf[T any](vs []T, err error) func(key func(T) string) ([]string, error) {
	return func(key func(T) string) ([]string, error) {
		out := make([]string, 0, len(vs))
		for _, v := range vs {
			out = append(out, key(v))
		}
		return out, err
	}
}

func fleetListings() []listing {
	candidate := func(c placement.Candidate) string { return c.Node.Record().ID }
	tenantOf := func(p *placement.Placement) string { return p.Record().Tenant }
	migrationID := func(m *placement.Migration) string { return m.Record().ID }
	return []listing{
		{"regions", false, addRegion, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Regions.List(ctx, p))(func(r placement.Region) string { return r.ID })
		}},
		{"candidates", false, addNode, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Nodes.Candidates(ctx, "", p))(candidate)
		}},
		{"candidates of a region", true, addNode, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Nodes.Candidates(ctx, "eu", p))(candidate)
		}},
		{"placements concerning", false, addPlacement, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Placements.Concerning(ctx, "n", p))(tenantOf)
		}},
		{"placements held", true, addPlacement, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Placements.HeldBy(ctx, "n", p))(tenantOf)
		}},
		{"migrations of a tenant", false, addMigration, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Migrations.OfTenant(ctx, "acme", p))(migrationID)
		}},
		{"migrations running", true, addMigration, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Migrations.Running(ctx, p))(migrationID)
		}},
		{"credentials in force", false, addCredential, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Credentials.InForce(ctx, noon, p))((*identity.Credential).Fingerprint)
		}},
	}
}

func accessListings() []listing {
	return []listing{
		{"tenants", false, addTenant, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Tenants.List(ctx, p))((*authorization.Tenant).ID)
		}},
		{
			"principals", false, func(ctx context.Context, r *store.Roles, key string) error { return havePrincipal(ctx, r, "acme", key) },
			func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
				return keysOf(r.Principals.OfTenant(ctx, "acme", p))(func(p *authorization.Principal) string { return p.Record().ID })
			},
		},
		{
			"routes", false, func(ctx context.Context, r *store.Roles, key string) error {
				return r.Routes.Create(ctx, route("acme", key))
			},
			func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
				return keysOf(r.Routes.OfTenant(ctx, "acme", p))(func(r authorization.Route) string { return r.Record().ID })
			},
		},
		{"tokens", false, addToken, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Tokens.List(ctx, p))(func(t *identity.OperatorToken) string { return t.Record().ID })
		}},
	}
}

func addRegion(ctx context.Context, r *store.Roles, key string) error {
	return r.Regions.Create(ctx, placement.Region{ID: key, CreatedAt: noon})
}

func addNode(ctx context.Context, r *store.Roles, key string) error {
	if err := haveNode(ctx, r, key); err != nil {
		return err
	}
	return r.Leases.Create(ctx, placement.NewLease(key))
}

func addPlacement(ctx context.Context, r *store.Roles, key string) error {
	return r.Placements.Create(ctx, placement.Restore(placement.Record{Tenant: key, Node: "n", Generation: 1, Version: 1}))
}

func addMigration(ctx context.Context, r *store.Roles, key string) error {
	return r.Migrations.Create(ctx, placement.RestoreMigration(placement.MigrationRecord{
		ID: key, Tenant: "acme", Source: "n", State: placement.PhaseCopying, StartedAt: noon,
	}))
}

func addCredential(ctx context.Context, r *store.Roles, key string) error {
	if err := haveNode(ctx, r, "n"); err != nil {
		return err
	}
	return r.Credentials.Create(ctx, credential(key, "n"))
}

// credential is one that is accepted at noon.
func credential(fingerprint, node string) *identity.Credential {
	return identity.RestoreCredential(identity.CredentialRecord{
		Node: node, Fingerprint: fingerprint, State: identity.CredentialCurrent,
		IssuedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour),
	})
}

func addTenant(ctx context.Context, r *store.Roles, key string) error {
	return r.Tenants.Create(ctx, authorization.RestoreTenant(authorization.TenantRecord{
		ID: key, Status: authorization.TenantActive, Revision: 1, Floor: 1,
	}))
}

func addToken(ctx context.Context, r *store.Roles, key string) error {
	return r.Tokens.Create(ctx, identity.RestoreOperatorToken(identity.OperatorTokenRecord{
		ID: key, Role: identity.RoleAdmin, ExpiresAt: noon,
	}))
}

// awkward are keys whose order differs between bytes, letters and numbers.
//
//nolint:gochecknoglobals // an immutable table
var awkward = []string{
	"b", "a", "B", "A", "á", "a-", "a0", "a", "ab", "a_", "10", "9", "~", "Z", "é", "e", "船", "🚢", "a.b", "a b", "-", "_", "0",
}

func (k *kit) fillList(l listing, keys []string) {
	k.Helper()
	shuffled := slices.Clone(keys)
	k.rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, key := range shuffled {
			if err := l.add(ctx, r, key); err != nil {
				return fmt.Errorf("%s: %q: %w", l.name, key, err)
			}
		}
		return nil
	})
}

func (k *kit) page(l listing, p store.Page) []string {
	k.Helper()
	var got []string
	k.mustSee(func(ctx context.Context, r *store.Roles) (err error) {
		got, err = l.list(ctx, r, p)
		return err
	})
	return got
}

// eachList fills each list with the keys and runs a check on it.
func (k *kit) eachList(keys []string, check func(l listing, keys []string)) {
	k.Helper()
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	for _, l := range listings() {
		if !l.shared {
			k.fillList(l, keys)
		}
		check(l, keys)
	}
}

func listsOrdered(k *kit) {
	k.eachList(awkward, func(l listing, keys []string) {
		if got := k.page(l, store.Page{Limit: 100}); !slices.Equal(got, keys) {
			k.Fatalf("%s:\n got %q\nwant %q", l.name, got, keys)
		}
	})
}

func pagesComplete(k *kit) {
	k.eachList(awkward, func(l listing, keys []string) {
		var got []string
		for at := (store.Page{Limit: 4}); ; at.After = got[len(got)-1] {
			page := k.page(l, at)
			if len(page) > at.Limit || len(page) < min(at.Limit, len(keys)-len(got)) {
				k.Fatalf("%s: a page of %d, asked for %d, with %d left", l.name, len(page), at.Limit, len(keys)-len(got))
			}
			if got = append(got, page...); len(page) < at.Limit {
				break
			}
		}
		if !slices.Equal(got, keys) {
			k.Fatalf("%s:\n got %q\nwant %q", l.name, got, keys)
		}
		if got := k.page(l, store.Page{After: "a", Limit: 1}); !slices.Equal(got, []string{"a b"}) {
			k.Fatalf("%s after %q: %q", l.name, "a", got)
		}
		if got := k.page(l, store.Page{After: "aa", Limit: 1}); !slices.Equal(got, []string{"ab"}) {
			k.Fatalf("%s after a key that is not there: %q", l.name, got)
		}
	})
}

func pagesBounded(k *kit) {
	keys := make([]string, store.MaxPage+1)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%05d", i)
	}
	k.eachList(keys, func(l listing, _ []string) {
		for asked, want := range map[int]int{-1: 1, 0: 1, 1: 1, store.MaxPage: store.MaxPage, store.MaxPage + 1: store.MaxPage} {
			if got := k.page(l, store.Page{Limit: asked}); len(got) != want {
				k.Fatalf("%s: %d for a limit of %d, want %d", l.name, len(got), asked, want)
			}
		}
	})
}

func emptyLists(k *kit) {
	for _, l := range listings() {
		if got := k.page(l, store.Page{Limit: 10}); len(got) != 0 {
			k.Fatalf("%s of an empty store: %q", l.name, got)
		}
	}
	for what, read := range reads("nobody") {
		if err := k.see(read); err != nil {
			k.missOnly(what, err)
		}
	}
}
