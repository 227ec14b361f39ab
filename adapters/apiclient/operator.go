package apiclient

import (
	"context"
	"net/http"
	"time"

	"berth/adapters/contract"
)

// Operator is the API of operators, /api/v1. Its client's proof is an operator token.
type Operator struct{ c *Client }

// NewOperator returns the operators' API of a server.
func NewOperator(c *Client) Operator { return Operator{c} }

const api = "/api/v1"

// CreateRegion defines a region.
func (o Operator) CreateRegion(ctx context.Context, in contract.NewRegion) (contract.Region, error) {
	return post[contract.Region](ctx, o.c, api+"/regions", in)
}

// Regions lists regions by id.
func (o Operator) Regions(ctx context.Context, p Page) (contract.Regions, error) {
	return get[contract.Regions](ctx, o.c, api+"/regions", p.query())
}

// CreateNode defines a relay node.
func (o Operator) CreateNode(ctx context.Context, in contract.NewNode) (contract.Node, error) {
	return post[contract.Node](ctx, o.c, api+"/nodes", in)
}

// Node shows a node.
func (o Operator) Node(ctx context.Context, node string) (contract.Node, error) {
	return get[contract.Node](ctx, o.c, api+"/nodes"+seg(node), nil)
}

// Nodes lists nodes by id: those of a region, or all where region is empty.
func (o Operator) Nodes(ctx context.Context, region string, p Page) (contract.Nodes, error) {
	q := p.query()
	if region != "" {
		q.Set("region", region)
	}
	return get[contract.Nodes](ctx, o.c, api+"/nodes", q)
}

// ChangeNode cordons a node or sets its capacity.
func (o Operator) ChangeNode(ctx context.Context, node string, in contract.NodeChange) (contract.Node, error) {
	var out contract.Node
	_, err := o.c.do(ctx, call{method: http.MethodPatch, path: api + "/nodes" + seg(node), in: in, out: &out})
	return out, err
}

// DrainNode begins to empty a node.
func (o Operator) DrainNode(ctx context.Context, node string) (contract.Node, error) {
	return post[contract.Node](ctx, o.c, api+"/nodes"+seg(node)+"/drain", nil)
}

// ActivateNode stops emptying a node.
func (o Operator) ActivateNode(ctx context.Context, node string) (contract.Node, error) {
	return post[contract.Node](ctx, o.c, api+"/nodes"+seg(node)+"/activate", nil)
}

// ReplaceStorage lets an empty node register with another data directory.
func (o Operator) ReplaceStorage(ctx context.Context, node string) (contract.Node, error) {
	return post[contract.Node](ctx, o.c, api+"/nodes"+seg(node)+"/replace-storage", nil)
}

// RetireNode retires an empty node for good.
func (o Operator) RetireNode(ctx context.Context, node string) (contract.Node, error) {
	var out contract.Node
	_, err := o.c.do(ctx, call{method: http.MethodDelete, path: api + "/nodes" + seg(node), out: &out})
	return out, err
}

// BeginMigration begins to move a tenant.
func (o Operator) BeginMigration(ctx context.Context, tenant string, in contract.NewMigration) (contract.Migration, error) {
	return post[contract.Migration](ctx, o.c, api+"/tenants"+seg(tenant)+"/migrations", in)
}

// Migration shows a migration; with a wait, which is cut to whole seconds and is at most 30 s, once it changes or ends.
func (o Operator) Migration(ctx context.Context, tenant, id string, wait time.Duration) (contract.Migration, error) {
	var out contract.Migration
	k := call{path: api + "/tenants" + seg(tenant) + "/migrations" + seg(id), out: &out, wait: wait, method: http.MethodGet}
	if wait >= time.Second {
		k.query = map[string][]string{"wait": {waiting(wait)}}
	}
	_, err := o.c.do(ctx, k)
	return out, err
}

// Migrations lists a tenant's migrations by id, the oldest first.
func (o Operator) Migrations(ctx context.Context, tenant string, p Page) (contract.Migrations, error) {
	return get[contract.Migrations](ctx, o.c, api+"/tenants"+seg(tenant)+"/migrations", p.query())
}

// AbortMigration returns a tenant to its source.
func (o Operator) AbortMigration(ctx context.Context, tenant, id string) (contract.Migration, error) {
	return post[contract.Migration](ctx, o.c, api+"/tenants"+seg(tenant)+"/migrations"+seg(id)+"/abort", nil)
}

// Recover moves a tenant off a node that is lost.
func (o Operator) Recover(ctx context.Context, tenant string, in contract.NewRecover) (contract.Migration, error) {
	return post[contract.Migration](ctx, o.c, api+"/tenants"+seg(tenant)+"/recover", in)
}

// PlacementQueue lists who waits for a place, the oldest first.
func (o Operator) PlacementQueue(ctx context.Context) (contract.PlacementQueue, error) {
	return get[contract.PlacementQueue](ctx, o.c, api+"/placement-queue", nil)
}
