package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/fleet"
	"berth/domain/identity"
	"berth/domain/placement"
)

type regionOut struct{ Body contract.Region }

func (d Deps) regions(api huma.API) {
	huma.Register(api, op(identity.RoleAdmin, "create-region", "POST", "/regions", "Define a region", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewRegion }) (*regionOut, error) {
			r, err := d.Fleet.CreateRegion(ctx, fleet.CreateRegionRequest{Actor: actor(ctx), ID: in.Body.ID, Origin: in.Body.Origin})
			if err != nil {
				return nil, err
			}
			return &regionOut{region(r)}, nil
		})
	huma.Register(api, op(identity.RoleViewer, "list-regions", "GET", "/regions", "List the regions", httpapi.OK),
		func(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Regions }, error) {
			p, err := in.Page()
			if err != nil {
				return nil, err
			}
			list, err := d.Fleet.Regions(ctx, p)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.Regions }{contract.Regions{
				Regions: httpapi.Each(list.Items, region), Next: httpapi.Cursor(list.Next),
			}}, nil
		})
}

type nodeOut struct{ Body contract.Node }

// NodePath is the node in a path.
type NodePath struct {
	Node string `path:"node" maxLength:"63"`
}

func (d Deps) nodes(api huma.API) {
	huma.Register(api, op(identity.RoleAdmin, "create-node", "POST", "/nodes", "Define a relay node", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewNode }) (*nodeOut, error) {
			return shown(d.Fleet.CreateNode(ctx, fleet.CreateNodeRequest{
				Actor: actor(ctx), ID: in.Body.ID, Region: in.Body.Region, Capacity: placement.Capacity(in.Body.Capacity),
			}))
		})
	huma.Register(api, op(identity.RoleViewer, "list-nodes", "GET", "/nodes", "List the nodes", httpapi.OK), d.listNodes)
	huma.Register(api, op(identity.RoleViewer, "get-node", "GET", "/nodes/{node}", "Show a node", httpapi.OK),
		func(ctx context.Context, in *NodePath) (*nodeOut, error) { return shown(d.Fleet.Node(ctx, in.Node)) })
	huma.Register(api, op(identity.RoleOperator, "change-node", "PATCH", "/nodes/{node}", "Cordon a node, or set its capacity", httpapi.OK),
		func(ctx context.Context, in *struct {
			NodePath
			Body contract.NodeChange
		}) (*nodeOut, error) {
			change := fleet.ChangeNodeRequest{Actor: actor(ctx), Node: in.Node, Schedulable: in.Body.Schedulable}
			if in.Body.Capacity != nil {
				c := placement.Capacity(*in.Body.Capacity)
				change.Capacity = &c
			}
			return shown(d.Fleet.ChangeNode(ctx, change))
		})
	d.nodeEvents(api)
}

func (d Deps) nodeEvents(api huma.API) {
	for _, e := range []struct {
		role                      identity.Role
		id, method, path, summary string
		do                        func(context.Context, fleet.NodeRequest) (placement.Candidate, error)
	}{
		{identity.RoleOperator, "drain-node", "POST", "/nodes/{node}/drain", "Empty a node: its tenants are moved away", d.Fleet.DrainNode},
		{identity.RoleOperator, "activate-node", "POST", "/nodes/{node}/activate", "Stop emptying a node", d.Fleet.ActivateNode},
		{identity.RoleAdmin, "replace-node-storage", "POST", "/nodes/{node}/replace-storage", "Let a node register with a new data directory", d.Fleet.ReplaceStorage},
		{identity.RoleAdmin, "retire-node", "DELETE", "/nodes/{node}", "Retire an empty node", d.Fleet.RetireNode},
	} {
		huma.Register(api, op(e.role, e.id, e.method, e.path, e.summary, httpapi.OK),
			func(ctx context.Context, in *NodePath) (*nodeOut, error) {
				return shown(e.do(ctx, fleet.NodeRequest{Actor: actor(ctx), Node: in.Node}))
			})
	}
}

type listNodesIn struct {
	httpapi.Paging
	Region string `query:"region" maxLength:"63"`
}

func (d Deps) listNodes(ctx context.Context, in *listNodesIn) (*struct{ Body contract.Nodes }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Fleet.Nodes(ctx, fleet.NodesRequest{Region: in.Region, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Nodes }{contract.Nodes{
		Nodes: httpapi.Each(list.Items, node), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func shown(c placement.Candidate, err error) (*nodeOut, error) {
	if err != nil {
		return nil, err
	}
	return &nodeOut{node(c)}, nil
}
