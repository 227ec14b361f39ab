package node

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/fleet"
	"berth/application/trust"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
)

func (d Deps) others(api huma.API) {
	huma.Register(api, op(authorization.OpRoute, "GET", "/tenants/{tenant}/route", "Where a tenant's connections go (R3)", httpapi.OK), d.route)
	huma.Register(api, op(authorization.OpPeers, "GET", "/peers", "The node certificates in force", httpapi.OK), d.peers)
	huma.Register(api, op(authorization.OpSigningKeys, "GET", "/signing-keys", "The keys that verify device tokens", httpapi.OK), d.signingKeys)
	huma.Register(api, op(authorization.OpBackupRecord, "POST", "/tenants/{tenant}/backups", "Record a verified backup (P11)", httpapi.NoContent), d.backup)
}

func (d Deps) route(ctx context.Context, in *TenantPath) (*struct{ Body contract.Route }, error) {
	a, err := d.Fleet.Route(ctx, fleet.RouteRequest{Caller: callerOf(ctx).Caller, Tenant: in.Tenant})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Route }{contract.Route{
		Node: a.Node, Generation: a.Generation, PlacementVersion: a.Version, PeerAddress: a.PeerAddress, SPIFFEID: a.SPIFFEID,
	}}, nil
}

func (d Deps) peers(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Peers }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Trust.Peers(ctx, trust.PeersRequest{Caller: callerOf(ctx).Caller, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Peers }{contract.Peers{Peers: httpapi.Each(list.Items, peer), Next: httpapi.Cursor(list.Next)}}, nil
}

func peer(c identity.CredentialRecord) contract.Peer {
	return contract.Peer{Node: c.Node, SPIFFEID: c.SPIFFEID, Fingerprint: c.Fingerprint, ExpiresAt: c.ExpiresAt}
}

func (d Deps) signingKeys(ctx context.Context, _ *struct{}) (*struct{ Body contract.SigningKeys }, error) {
	list, err := d.Trust.NodeKeys(ctx)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.SigningKeys }{contract.SigningKeys{Keys: httpapi.Each(list, httpapi.SigningKey)}}, nil
}

type backupIn struct {
	TenantPath
	Body contract.NewBackup
}

func (d Deps) backup(ctx context.Context, in *backupIn) (*nothing, error) {
	c := callerOf(ctx)
	return done(d.Fleet.RecordBackup(ctx, fleet.RecordBackupRequest{
		Caller: c.Caller, Ticket: c.ticket, Tenant: in.Tenant, Generation: in.Body.Generation,
		Manifest: placement.Manifest{Root: in.Body.ManifestRoot, LastSequence: in.Body.Sequence},
	}))
}
