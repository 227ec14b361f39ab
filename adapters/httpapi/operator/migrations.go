package operator

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/fleet"
	"berth/domain/identity"
	"berth/domain/placement"
)

type migrationOut struct{ Body contract.Migration }

// TenantPath is the tenant in a path.
type TenantPath struct {
	Tenant string `path:"tenant" maxLength:"63"`
}

// MigrationPath is the migration in a path.
type MigrationPath struct {
	TenantPath
	Migration string `path:"migration" maxLength:"64"`
}

func (d Deps) migrations(api huma.API) {
	huma.Register(api, op(identity.RoleOperator, "begin-migration", "POST", "/tenants/{tenant}/migrations", "Move a tenant to another node", httpapi.Accepted),
		func(ctx context.Context, in *struct {
			TenantPath
			Body contract.NewMigration
		}) (*migrationOut, error) {
			return moved(d.Fleet.BeginMigration(ctx, fleet.BeginMigrationRequest{
				Actor: actor(ctx), Tenant: in.Tenant, TargetNode: in.Body.TargetNode, Rehome: in.Body.Rehome,
			}))
		})
	huma.Register(api, op(identity.RoleViewer, "list-migrations", "GET", "/tenants/{tenant}/migrations", "List a tenant's migrations", httpapi.OK), d.listMigrations)
	huma.Register(api, op(identity.RoleViewer, "get-migration", "GET", "/tenants/{tenant}/migrations/{migration}",
		"Show a migration; with wait, once it changes or ends", httpapi.OK), d.getMigration)
	huma.Register(api, op(identity.RoleOperator, "abort-migration", "POST", "/tenants/{tenant}/migrations/{migration}/abort",
		"Return a tenant to its source; refused after the switch", httpapi.OK),
		func(ctx context.Context, in *MigrationPath) (*migrationOut, error) {
			return moved(d.Fleet.AbortMigration(ctx, fleet.AbortMigrationRequest{
				Actor: actor(ctx), Tenant: in.Tenant, Migration: in.Migration,
			}))
		})
	huma.Register(api, op(identity.RoleAdmin, "recover-tenant", "POST", "/tenants/{tenant}/recover",
		"Move a tenant off a lost node, from its last backup", httpapi.Accepted), d.recover)
	huma.Register(api, op(identity.RoleViewer, "list-placement-queue", "GET", "/placement-queue",
		"List the tenants that wait for a place, oldest first", httpapi.OK), d.queue)
}

type listMigrationsIn struct {
	TenantPath
	httpapi.Paging
}

func (d Deps) listMigrations(ctx context.Context, in *listMigrationsIn) (*struct{ Body contract.Migrations }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Fleet.Migrations(ctx, fleet.MigrationsRequest{Tenant: in.Tenant, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Migrations }{contract.Migrations{
		Migrations: httpapi.Each(list.Items, migration), Next: httpapi.Cursor(list.Next),
	}}, nil
}

type getMigrationIn struct {
	MigrationPath
	Wait string `query:"wait" maxLength:"8" doc:"How long to wait for a change, e.g. 30s; at most 30s"`
}

func (d Deps) getMigration(ctx context.Context, in *getMigrationIn) (*migrationOut, error) {
	wait, err := httpapi.Wait(in.Wait)
	if err != nil {
		return nil, err
	}
	bounded, stop := httpapi.Waiting(ctx, wait+time.Second)
	defer stop()
	m, err := d.Fleet.Migration(bounded, fleet.MigrationRequest{Tenant: in.Tenant, Migration: in.Migration, Wait: wait})
	if wait > 0 && err == nil {
		err = d.still(ctx)
	}
	return moved(m, err)
}

type recoverIn struct {
	TenantPath
	Body contract.NewRecover
}

func (d Deps) recover(ctx context.Context, in *recoverIn) (*migrationOut, error) {
	return moved(d.Fleet.Recover(ctx, fleet.RecoverRequest{
		Actor: actor(ctx), Tenant: in.Tenant, LostNode: in.Body.LostNode, Generation: in.Body.Generation,
		TargetNode: in.Body.TargetNode, Backup: in.Body.Backup, AcceptDataLoss: in.Body.AcceptDataLoss,
	}))
}

type queueIn struct {
	Region string `query:"region" maxLength:"63"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (d Deps) queue(ctx context.Context, in *queueIn) (*struct{ Body contract.PlacementQueue }, error) {
	q, err := d.Fleet.PlacementQueue(ctx, fleet.PlacementQueueRequest{Region: in.Region, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.PlacementQueue }{contract.PlacementQueue{
		Waiting: httpapi.Each(q, func(w placement.Waiting) contract.Waiting { return contract.Waiting(w) }),
	}}, nil
}

func moved(m *placement.Migration, err error) (*migrationOut, error) {
	if err != nil {
		return nil, err
	}
	return &migrationOut{migration(m)}, nil
}
