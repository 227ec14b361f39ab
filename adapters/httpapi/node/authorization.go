package node

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/access"
	"berth/domain/authorization"
	"berth/ports/store"
)

// TenantPath is the tenant in a path.
type TenantPath struct {
	Tenant string `path:"tenant" maxLength:"63"`
}

func (d Deps) authorization(api huma.API) {
	huma.Register(api, op(authorization.OpSnapshot, "GET", "/tenants/{tenant}/authorization", "The whole authorization of a tenant (A2)", httpapi.OK), d.snapshot)
	huma.Register(api, op(authorization.OpDelta, "GET", "/tenants/{tenant}/authorization/delta", "What changed since a revision (A3)", httpapi.OK), d.delta)
	// A poll names up to 2,000 tenants every few seconds: its body is decoded once, strictly, and judged by the use case,
	// instead of being decoded into a tree for the schema first.
	poll := reading(op(authorization.OpPoll, "POST", "/nodes/{node}/authorization/poll",
		"What changed of many tenants; with wait, once something does (A4)", httpapi.OK))
	poll.SkipValidateBody = true
	poll.Middlewares = huma.Middlewares{d.repeated(api)}
	huma.Register(api, poll, d.poll)
	huma.Register(api, op(authorization.OpRevoke, "POST", "/tenants/{tenant}/principals/{principal}/revoke",
		"Revoke a principal on behalf of another (A5)", httpapi.OK), d.revoke)
}

type snapshotIn struct {
	TenantPath
	Generation int64 `query:"generation" required:"true" minimum:"0" maximum:"9007199254740991"`
}

func (d Deps) snapshot(ctx context.Context, in *snapshotIn) (*struct{ Body contract.Snapshot }, error) {
	s, err := d.Access.Snapshot(ctx, access.SnapshotRequest{
		Caller: callerOf(ctx).Caller, Tenant: in.Tenant, Generation: in.Generation,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Snapshot }{contract.Snapshot{
		Tenant: s.Tenant, Generation: s.Generation, PlacementVersion: s.PlacementVersion, LeaseEpoch: s.LeaseEpoch,
		Revision: s.Revision, Status: string(s.Status), State: s.State.String(), Node: s.Node, Writable: s.Writable,
		Principals: httpapi.Each(s.Principals, principal), Handles: httpapi.Each(s.Handles, handle), Routes: s.Routes,
	}}, nil
}

func principal(p authorization.PrincipalView) contract.SnapshotPrincipal {
	return contract.SnapshotPrincipal{ID: p.ID, Kind: string(p.Kind), Role: string(p.Role), Status: string(p.Status)}
}

func handle(h authorization.HandleView) contract.SnapshotHandle {
	return contract.SnapshotHandle{SHA256: h.SHA256.String(), Principal: h.Principal, Route: h.Route, Status: string(h.Status)}
}

type deltaIn struct {
	TenantPath
	Generation int64 `query:"generation" required:"true" minimum:"0" maximum:"9007199254740991"`
	Since      int64 `query:"since" required:"true" minimum:"0" maximum:"9007199254740991"`
}

func (d Deps) delta(ctx context.Context, in *deltaIn) (*struct{ Body contract.Delta }, error) {
	a, err := d.Access.Delta(ctx, access.DeltaRequest{
		Caller: callerOf(ctx).Caller, Tenant: in.Tenant, Generation: in.Generation, Since: in.Since,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Delta }{delta(a)}, nil
}

func delta(a access.DeltaAnswer) contract.Delta {
	return contract.Delta{
		From: a.From, To: a.To, Generation: a.Generation, PlacementVersion: a.PlacementVersion, Changes: httpapi.Each(a.Changes, change),
	}
}

func change(c authorization.Change) contract.DeltaChange {
	out := contract.DeltaChange{Revision: c.Revision}
	switch c.Kind {
	case authorization.ChangeStatus:
		out.Status = string(c.Status)
	case authorization.ChangePrincipal:
		p := principal(c.Principal)
		out.Principal = &p
	case authorization.ChangeRoute:
		out.Route = c.Route
	case authorization.ChangeHandle:
		h := handle(c.Handle)
		out.Handle = &h
	}
	return out
}

type pollIn struct {
	NodePath
	Body contract.Poll
}

// repeated answers a poll that says to the byte what another said before, and about which nothing changed since: nearly
// all. Its body is not decoded again.
func (d Deps) repeated(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		c := callerOf(ctx.Context())
		if !d.Access.Unchanged(ctx.Context(), c.Caller, c.body) {
			next(ctx)
			return
		}
		ctx.SetHeader("Content-Type", "application/json")
		ctx.SetStatus(http.StatusOK)
		_ = api.Marshal(ctx.BodyWriter(), "application/json", contract.Polled{}) // an error is that of a client that is gone
	}
}

func (d Deps) poll(ctx context.Context, in *pollIn) (*struct{ Body contract.Polled }, error) {
	wait, err := httpapi.Wait(strconv.Itoa(in.Body.Wait))
	if err != nil {
		return nil, err
	}
	bounded, stop := waiting(ctx, wait)
	defer stop()
	c := callerOf(ctx)
	a, err := d.Access.Poll(bounded, access.PollRequest{
		Caller: c.Caller, Wait: wait, Body: c.body, Still: d.stillWhile(wait),
		Known: httpapi.Each(in.Body.Tenants, func(k contract.Known) store.Known { return store.Known(k) }),
	})
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if err := d.still(ctx); err != nil {
			return nil, err
		}
	}
	return &struct{ Body contract.Polled }{contract.Polled{Tenants: httpapi.Each(a.Entries, polled)}}, nil
}

func polled(e access.PollEntry) contract.PolledTenant {
	out := contract.PolledTenant{Tenant: e.Tenant, Result: string(e.Result), Generation: e.Generation}
	if e.Delta != nil {
		d := delta(*e.Delta)
		out.Delta = &d
	}
	return out
}

type revokeIn struct {
	TenantPath
	Principal string `path:"principal" maxLength:"64"`
	Body      contract.NodeRevoke
}

func (d Deps) revoke(ctx context.Context, in *revokeIn) (*struct{ Body contract.Revoked }, error) {
	c := callerOf(ctx)
	a, err := d.Access.RevokeByNode(ctx, access.RevokeByNodeRequest{
		Caller: c.Caller, Ticket: c.ticket, Tenant: in.Tenant, Principal: in.Principal,
		Generation: in.Body.Generation, AskedBy: in.Body.AskedBy,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Revoked }{contract.Revoked{Revision: a.Revision, RevokedHandles: a.Handles}}, nil
}
