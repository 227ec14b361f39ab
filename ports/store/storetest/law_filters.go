package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func filterLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("candidates are those of the region, with their leases", candidates),
		promise("placements are found by holder, source and target", placementsFound),
		promise("migrations that ended do not run", migrationsRun),
		promise("the queue is oldest first, then by tenant", queueOldest),
		promise("a backup replaces the one before", backupReplaced),
		promise("credentials in force are those a node may use", credentialsInForce),
		promise("credentials of a node are by time of issue", credentialsOfNode),
		promise("keys are found by purpose", keysOfPurpose),
		promise("admins are counted while their tokens live", adminsCounted),
		promise("lists of a tenant leave out other tenants", tenantsApart),
	}
}

// missOnly fails the law where a read of nothing gives anything but a miss.
func (k *kit) missOnly(what string, err error) {
	k.Helper()
	if fault.KindOf(err) != fault.NotFound {
		k.Fatalf("%s of an empty store: %v", what, err)
	}
}

// gives fails the law unless the list, read in a view, has these keys in this order.
func (k *kit) gives(what string, list func(ctx context.Context, r *store.Roles) ([]string, error), want ...string) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := list(ctx, r)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%s: got %q, want %q", what, got, want)
		}
		return err
	})
}

func candidates(k *kit) {
	at := func(region string) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Nodes.Candidates(ctx, region, store.Page{Limit: 9}))(func(c placement.Candidate) string {
				return c.Node.Record().ID + " " + c.Lease.Record().Node + " " + c.Lease.Record().BootID
			})
		}
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, region := range []string{"eu", "us", "eu", "EU"} {
			id := fmt.Sprint("n", i)
			node := placement.RestoreNode(placement.NodeRecord{ID: id, Region: region})
			lease := placement.RestoreLease(placement.LeaseRecord{Node: id, BootID: "boot-" + id})
			if err := errors.Join(r.Leases.Create(ctx, lease), r.Nodes.Create(ctx, node)); err != nil {
				return err
			}
		}
		return nil
	})
	k.gives("eu", at("eu"), "n0 n0 boot-n0", "n2 n2 boot-n2")
	k.gives("everywhere", at(""), "n0 n0 boot-n0", "n1 n1 boot-n1", "n2 n2 boot-n2", "n3 n3 boot-n3")
	k.gives("nowhere", at("e"))
}

func placementsFound(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, p := range []placement.Record{
			{Tenant: "a", Node: "n1"}, {Tenant: "b", Node: "n2"},
			{Tenant: "c", Node: "n1", Migration: "m", Source: "n1", Target: "n2"},
			{Tenant: "d", Node: "n2", Migration: "m", Source: "n3", Target: "n2"}, {Tenant: "e", Node: "N1"},
		} {
			if err := r.Placements.Create(ctx, placement.Restore(p)); err != nil {
				return err
			}
		}
		return nil
	})
	tenant := func(p *placement.Placement) string { return p.Record().Tenant }
	for node, want := range map[string][2][]string{
		"n1": {{"a", "c"}, {"a"}}, "n2": {{"b", "c", "d"}, {"b"}}, "n3": {{"d"}, nil}, "n": {nil, nil},
	} {
		k.gives("concerning "+node, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Placements.Concerning(ctx, node, store.Page{Limit: 9}))(tenant)
		}, want[0]...)
		k.gives("held by "+node, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Placements.HeldBy(ctx, node, store.Page{Limit: 9}))(tenant)
		}, want[1]...)
	}
}

func migrationsRun(k *kit) {
	var running []string
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for state := placement.PhasePreparing; state <= placement.PhaseFailed; state++ {
			m := placement.RestoreMigration(placement.MigrationRecord{
				ID: "m-" + state.String(), Tenant: "acme", Source: "n", State: state, EndedAt: noon,
			})
			if err := r.Migrations.Create(ctx, m); err != nil {
				return err
			}
			if !m.Ended() {
				running = append(running, m.Record().ID)
			}
		}
		return nil
	})
	slices.Sort(running)
	k.gives("running", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Migrations.Running(ctx, store.Page{Limit: 99}))(func(m *placement.Migration) string { return m.Record().ID })
	}, running...)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		m := placement.RestoreMigration(placement.MigrationRecord{ID: running[0], Source: "n", State: placement.PhaseDone})
		return r.Migrations.Save(ctx, m)
	})
	for node, want := range map[string]int{"n": len(running) - 1, "other": 0} {
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			got, err := r.Migrations.RunningFrom(ctx, node)
			if err == nil && got != want {
				err = fmt.Errorf("%d run from %s, want %d", got, node, want)
			}
			return err
		})
	}
}

func queueOldest(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, w := range []placement.Waiting{
			{Tenant: "d", Region: "eu", Since: noon}, {Tenant: "c", Region: "us", Since: noon.Add(-time.Microsecond)},
			{Tenant: "b", Region: "eu", Since: noon}, {Tenant: "a", Region: "eu", Since: noon.Add(time.Microsecond)},
			{Tenant: "gone", Region: "eu", Since: noon.Add(-time.Hour)},
		} {
			if err := r.Queue.Add(ctx, w); err != nil {
				return err
			}
		}
		return r.Queue.Remove(ctx, "gone")
	})
	oldest := func(region string, limit int) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Queue.Oldest(ctx, region, limit))(func(w placement.Waiting) string { return w.Tenant })
		}
	}
	k.gives("everywhere", oldest("", 9), "c", "b", "d", "a")
	k.gives("eu", oldest("eu", 9), "b", "d", "a")
	k.gives("the first two", oldest("", 2), "c", "b")
	k.gives("a limit of none", oldest("", 0), "c")
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Queue.Get(ctx, "b")
		if err == nil {
			same(k, "waiting", got, placement.Waiting{Tenant: "b", Region: "eu", Since: noon})
		}
		return err
	})
}

func backupReplaced(k *kit) {
	for range 2 {
		want := full[placement.Backup](k.maker)
		want.Tenant = "acme"
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Backups.Put(ctx, want) })
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			got, err := r.Backups.Get(ctx, "acme")
			if err == nil {
				same(k, "backup", *got, want)
			}
			return err
		})
	}
}

func credentialsInForce(k *kit) {
	hour := time.Hour
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for id, status := range map[string]placement.NodeStatus{"ok": placement.NodeDraining, "gone": placement.NodeRetired} {
			if err := r.Nodes.Create(ctx, placement.RestoreNode(placement.NodeRecord{ID: id, Status: status})); err != nil {
				return err
			}
		}
		for _, c := range []identity.CredentialRecord{
			{Fingerprint: "1-current", Node: "ok", State: identity.CredentialCurrent, IssuedAt: noon, ExpiresAt: noon.Add(hour)},
			{Fingerprint: "2-prepared", Node: "ok", State: identity.CredentialPrepared, IssuedAt: noon.Add(-hour), ExpiresAt: noon.Add(time.Microsecond)},
			{Fingerprint: "3-expired", Node: "ok", State: identity.CredentialCurrent, IssuedAt: noon.Add(-hour), ExpiresAt: noon},
			{Fingerprint: "4-ahead", Node: "ok", State: identity.CredentialCurrent, IssuedAt: noon.Add(time.Microsecond), ExpiresAt: noon.Add(hour)},
			{Fingerprint: "5-revoked", Node: "ok", State: identity.CredentialRevoked, IssuedAt: noon.Add(-hour), ExpiresAt: noon.Add(hour)},
			{Fingerprint: "6-superseded", Node: "ok", State: identity.CredentialSuperseded, IssuedAt: noon.Add(-hour), ExpiresAt: noon.Add(hour)},
			{Fingerprint: "7-retired", Node: "gone", State: identity.CredentialCurrent, IssuedAt: noon.Add(-hour), ExpiresAt: noon.Add(hour)},
		} {
			if err := r.Credentials.Create(ctx, identity.RestoreCredential(c)); err != nil {
				return err
			}
		}
		return nil
	})
	k.gives("in force", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Credentials.InForce(ctx, noon, store.Page{Limit: 99}))((*identity.Credential).Fingerprint)
	}, "1-current", "2-prepared")
}

func credentialsOfNode(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, name := range []string{"d", "c", "b", "a"} {
			record := credential(name, []string{"n", "n", "other", "n"}[i]).Record()
			record.IssuedAt = []time.Time{noon, noon.Add(-time.Hour), noon, noon}[i]
			if err := errors.Join(haveNode(ctx, r, record.Node), r.Credentials.Create(ctx, identity.RestoreCredential(record))); err != nil {
				return err
			}
		}
		return nil
	})
	k.gives("of n", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Credentials.OfNode(ctx, "n"))((*identity.Credential).Fingerprint)
	}, "c", "a", "d")
}

func keysOfPurpose(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, kid := range []string{"c", "a", "b"} {
			purpose := []identity.KeyPurpose{identity.KeyForCA, identity.KeyForDeviceTokens, identity.KeyForCA}[i]
			key := identity.RestoreSigningKey(identity.SigningKeyRecord{KID: kid, Purpose: purpose, State: identity.KeyActive})
			if err := r.Keys.Create(ctx, key); err != nil {
				return err
			}
		}
		return nil
	})
	k.gives("of the CA", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Keys.OfPurpose(ctx, identity.KeyForCA))(func(k *identity.SigningKey) string { return k.Record().KID })
	}, "b", "c")
}

func adminsCounted(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, t := range []identity.OperatorTokenRecord{
			{Role: identity.RoleAdmin, ExpiresAt: noon.Add(time.Microsecond)}, {Role: identity.RoleAdmin, ExpiresAt: noon},
			{Role: identity.RoleAdmin, ExpiresAt: noon.Add(time.Hour), RevokedAt: noon},
			{Role: identity.RoleOperator, ExpiresAt: noon.Add(time.Hour)}, {Role: identity.RoleAdmin, ExpiresAt: noon.Add(time.Hour)},
		} {
			t.ID = fmt.Sprint("tok-", i)
			if err := r.Tokens.Create(ctx, identity.RestoreOperatorToken(t)); err != nil {
				return err
			}
		}
		got, err := r.Tokens.Admins(ctx, noon)
		if err == nil && got != 2 {
			err = fmt.Errorf("%d admins, want 2", got)
		}
		return err
	})
}

func tenantsApart(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, tenant := range []string{"a", "ab", "b"} {
			m := placement.RestoreMigration(placement.MigrationRecord{ID: "m-" + tenant, Tenant: tenant, State: placement.PhaseDone})
			if err := errors.Join(
				havePrincipal(ctx, r, tenant, "p-"+tenant), r.Routes.Create(ctx, route(tenant, "r-"+tenant)), r.Migrations.Create(ctx, m),
			); err != nil {
				return err
			}
		}
		return nil
	})
	for _, l := range append(accessListings(), fleetListings()...) {
		switch l.name {
		case "principals", "routes", "migrations of a tenant":
			if got := k.page(l, store.Page{Limit: 9}); len(got) != 0 {
				k.Fatalf("%s of another tenant: %q", l.name, got)
			}
		}
	}
	k.gives("routes of a", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Routes.OfTenant(ctx, "a", store.Page{Limit: 9}))(func(r authorization.Route) string { return r.Record().ID })
	}, "r-a")
}
