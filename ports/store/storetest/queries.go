package storetest

import (
	"context"
	"maps"

	"berth/domain/entitlement"
	"berth/ports/store"
)

// Queries are those that run often, or over what grows, by name: an adapter over a database can be asked how it carries
// them out. On an empty store a miss is no failure.
func Queries() map[string]func(context.Context, *store.Roles) error {
	page := store.Page{After: "a", Limit: 50}
	out := map[string]func(context.Context, *store.Roles) error{
		"concerning": func(ctx context.Context, r *store.Roles) error {
			return second(r.Placements.Concerning(ctx, "n", page))
		},
		"held by":    func(ctx context.Context, r *store.Roles) error { return second(r.Placements.HeldBy(ctx, "n", page)) },
		"candidates": func(ctx context.Context, r *store.Roles) error { return second(r.Nodes.Candidates(ctx, "eu", page)) },
		"of tenant":  func(ctx context.Context, r *store.Roles) error { return second(r.Migrations.OfTenant(ctx, "t", page)) },
		"running":    func(ctx context.Context, r *store.Roles) error { return second(r.Migrations.Running(ctx, page)) },
		"running from": func(ctx context.Context, r *store.Roles) error {
			return second(r.Migrations.RunningFrom(ctx, "n"))
		},
		"oldest":      func(ctx context.Context, r *store.Roles) error { return second(r.Queue.Oldest(ctx, "", 9)) },
		"oldest in":   func(ctx context.Context, r *store.Roles) error { return second(r.Queue.Oldest(ctx, "eu", 9)) },
		"principals":  func(ctx context.Context, r *store.Roles) error { return second(r.Principals.OfTenant(ctx, "t", page)) },
		"handles":     func(ctx context.Context, r *store.Roles) error { return second(r.Handles.OfTenant(ctx, "t")) },
		"own handles": func(ctx context.Context, r *store.Roles) error { return second(r.Handles.OfPrincipal(ctx, "t", "p")) },
		"routes":      func(ctx context.Context, r *store.Roles) error { return second(r.Routes.OfTenant(ctx, "t", page)) },
		"since":       func(ctx context.Context, r *store.Roles) error { return second(r.Changes.Since(ctx, "t", 3, 9)) },
		"drop":        func(ctx context.Context, r *store.Roles) error { return r.Changes.Drop(ctx, "t", 3) },
		"standing":    func(ctx context.Context, r *store.Roles) error { return second(r.Standings.Get(ctx, "t")) },
		"differing":   differing,
		"credentials": func(ctx context.Context, r *store.Roles) error { return second(r.Credentials.OfNode(ctx, "n")) },
		"in force":    func(ctx context.Context, r *store.Roles) error { return second(r.Credentials.InForce(ctx, noon, page)) },
		"keys":        func(ctx context.Context, r *store.Roles) error { return second(r.Keys.OfPurpose(ctx, "p")) },
		"spend": func(ctx context.Context, r *store.Roles) error {
			return r.Nonces.Spend(ctx, store.Ticket{Scope: "s", Nonce: "n", ExpiresAt: noon})
		},
		"nonce sweep":  func(ctx context.Context, r *store.Roles) error { return second(r.Nonces.Sweep(ctx, noon, 9)) },
		"secret sweep": func(ctx context.Context, r *store.Roles) error { return second(r.Secrets.Sweep(ctx, noon, 9)) },
		"once sweep":   func(ctx context.Context, r *store.Roles) error { return second(r.Idempotency.Sweep(ctx, noon, 9)) },
		"audit head":   func(ctx context.Context, r *store.Roles) error { return second(r.Audit.Head(ctx)) },
		"audit range":  func(ctx context.Context, r *store.Roles) error { return second(r.Audit.Range(ctx, 3, 9)) },
		"audit about":  func(ctx context.Context, r *store.Roles) error { return second(r.Audit.About(ctx, "a/b", 3, 9)) },
	}
	maps.Copy(out, deliveryQueries())
	return out
}

// deliveryQueries are those of the delivery half.
func deliveryQueries() map[string]func(context.Context, *store.Roles) error {
	out := map[string]func(context.Context, *store.Roles) error{
		"before": func(ctx context.Context, r *store.Roles) error { return second(r.Revisions.Before(ctx, "i", 7, 9)) },
		"due":    func(ctx context.Context, r *store.Roles) error { return second(r.Deployments.Due(ctx, noon, 9)) },
		"named many": func(ctx context.Context, r *store.Roles) error {
			return second(r.Apps.Named(ctx, []string{"a", "b", "c", "d", "e", "f"}))
		},
		"outlines many": func(ctx context.Context, r *store.Roles) error {
			return second(r.Releases.Outlines(ctx, []string{"a", "b", "c", "d", "e", "f"}))
		},
		"agent save": func(ctx context.Context, r *store.Roles) error { return r.Agents.Save(ctx, agentOf("a", "i")) },
		"desired state": func(ctx context.Context, r *store.Roles) error {
			return second(r.DesiredStates.Get(ctx, "i"))
		},
		"desired state save": func(ctx context.Context, r *store.Roles) error {
			return r.DesiredStates.Save(ctx, headOf("i", "l", entitlement.Usage{}))
		},
	}
	maps.Copy(out, deliveryReads("i"))
	writes := deliveryWrites()
	for _, name := range []string{"entitlements put", "observations put", "secret values put", "registry remove", "agent remove", "review", "objects put"} {
		out[name] = writes[name]
	}
	return out
}

func differing(ctx context.Context, r *store.Roles) error {
	_, _, err := r.Standings.Differing(ctx, "n", []store.Known{{Tenant: "a", Generation: 1, Revision: 1}, {Tenant: "b"}})
	return err
}
