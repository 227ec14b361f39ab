package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// Rows that a policy hides from the role are not taken for absent: who was revoked, or what runs, would be.
func TestRowsHiddenByAPolicy(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	if err := put(s, "eu"); err != nil {
		t.Fatal(err)
	}
	change(t, dsn, "ALTER TABLE relay_regions ENABLE ROW LEVEL SECURITY", "ALTER TABLE relay_regions FORCE ROW LEVEL SECURITY",
		"CREATE POLICY none ON relay_regions USING (false)")
	away(t, "a view", s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		_, err := r.Regions.List(ctx, store.Page{Limit: 1})
		return err
	}), "database_rights_missing")
	away(t, "a write", put(s, "us"), "database_rights_missing")
}

// Where the database leaves out a row without a word, as a trigger may have it do, nothing of the transaction is kept:
// no change without its audit entry (A1), no lease that the control plane does not count (P9).
func TestRowsLeftOutByATrigger(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 1) })
	change(t, dsn, "CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
	for table, write := range map[string]func(context.Context, *store.Roles) error{
		"audit_log": func(ctx context.Context, r *store.Roles) error {
			return r.Audit.Append(ctx, audit.Draft{
				At: noon, Actor: audit.Actor{Kind: audit.ActorSystem, ID: "test"}, Action: "region.created", Subject: "region/lost",
			})
		},
		"tenant_authorization_changes": func(ctx context.Context, r *store.Roles) error {
			return r.Changes.Append(ctx, "acme", []authorization.Change{{Revision: 1, Part: 1, Parts: 1, Kind: authorization.ChangeStatus}})
		},
		"objects": func(ctx context.Context, r *store.Roles) error { return r.Objects.Put(ctx, []byte("lost")) },
		"observations": func(ctx context.Context, r *store.Roles) error {
			return r.Observations.Put(ctx, []delivery.Observation{{InstallID: "i", App: "a"}})
		},
		"tenant_route_handles": func(ctx context.Context, r *store.Roles) error {
			return r.Handles.Add(ctx, []*authorization.Handle{authorization.RestoreHandle(authorization.HandleRecord{Tenant: "acme"})})
		},
	} {
		change(t, dsn, "CREATE TRIGGER leaving BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION leave_out()")
		err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
			return errors.Join(addRegion(ctx, r, "lost"), write(ctx, r))
		})
		refused(t, "without a row in "+table, err, fault.Internal, "store_failed")
		has(t, s, "")
	}
	change(t, dsn, "CREATE TRIGGER leaving BEFORE UPDATE ON relay_node_leases FOR EACH ROW EXECUTE FUNCTION leave_out()")
	refused(t, "a beat", beat(s, nodeName(0)), fault.Internal, "store_failed")
}
