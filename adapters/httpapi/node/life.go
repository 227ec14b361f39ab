package node

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/fleet"
	"berth/domain/authorization"
	"berth/domain/placement"
)

// NodePath is the node in a path.
type NodePath struct {
	Node string `path:"node" maxLength:"63"`
}

func (d Deps) life(api huma.API) {
	huma.Register(api, op(authorization.OpRegister, "POST", "/nodes/{node}/register", "Register this process as the node", httpapi.OK), d.register)
	huma.Register(api, op(authorization.OpHeartbeat, "POST", "/nodes/{node}/heartbeat", "Beat; the answer grants the lease", httpapi.OK), d.heartbeat)
	huma.Register(api, op(authorization.OpAssignments, "GET", "/nodes/{node}/assignments", "What concerns this node; with wait, once it changes", httpapi.OK), d.assignments)
}

type registerIn struct {
	NodePath
	Body contract.Register
}

func (d Deps) register(ctx context.Context, in *registerIn) (*struct{ Body contract.Registered }, error) {
	c := callerOf(ctx)
	generation, err := d.Fleet.Register(ctx, fleet.RegisterRequest{
		Caller: c.Caller, Ticket: c.ticket, Registration: placement.Registration(in.Body),
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Registered }{contract.Registered{Generation: generation}}, nil
}

type heartbeatIn struct {
	NodePath
	Body contract.Heartbeat
}

func (d Deps) heartbeat(ctx context.Context, in *heartbeatIn) (*struct{ Body contract.Lease }, error) {
	c := callerOf(ctx)
	beat := fleet.HeartbeatRequest{
		Caller: c.Caller, Ticket: c.ticket, Generation: in.Body.Generation, Sequence: in.Body.Sequence,
		Usage: placement.Capacity(in.Body.Usage),
	}
	if in.Body.Capacity != nil {
		own := placement.Capacity(*in.Body.Capacity)
		beat.Capacity = &own
	}
	a, err := d.Fleet.Heartbeat(ctx, beat)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Lease }{contract.Lease{
		LeaseMS: a.Lease.Milliseconds(), LeaseEpoch: a.Epoch, ServerTime: a.ServerTime, Status: a.Status.String(),
		Schedulable: a.Schedulable, AssignmentsVersion: a.Assignments,
	}}, nil
}

type assignmentsIn struct {
	NodePath
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag of the last answer"`
	Wait        string `query:"wait" maxLength:"8"`
}

type assignmentsOut struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *contract.Assignments
}

func (d Deps) assignments(ctx context.Context, in *assignmentsIn) (*assignmentsOut, error) {
	wait, err := httpapi.Wait(in.Wait)
	if err != nil {
		return nil, err
	}
	bounded, stop := waiting(ctx, wait)
	defer stop()
	a, err := d.Fleet.Assignments(bounded, fleet.AssignmentsRequest{
		Caller: callerOf(ctx).Caller, Known: versionOf(in.IfNoneMatch), Wait: wait, Still: d.stillWhile(wait),
	})
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if err := d.still(ctx); err != nil {
			return nil, err
		}
	}
	out := &assignmentsOut{Status: http.StatusOK, ETag: `"` + strconv.FormatInt(a.Version, 10) + `"`}
	if a.Unchanged {
		out.Status = http.StatusNotModified
		return out, nil
	}
	out.Body = &contract.Assignments{Version: a.Version, Placements: httpapi.Each(a.Placements, assignment)}
	return out, nil
}

// versionOf is the version in an ETag of ours; 0, which none has, for any other.
func versionOf(tag string) int64 {
	n, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func assignment(a placement.Assignment) contract.Assignment {
	out := contract.Assignment{
		Tenant: a.Tenant, Generation: a.Generation, PlacementVersion: a.Version, State: a.State.String(), Role: a.Role.String(),
	}
	if m := a.Migration; m != nil {
		out.Migration = &contract.AssignedMigration{ID: m.ID, State: m.Phase.String(), Peer: m.Peer, ManifestRoot: m.ManifestRoot}
		if m.ManifestRoot != "" {
			out.Migration.LastSequence = &m.LastSequence
		}
	}
	return out
}
