package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"berth/adapters/contract"
)

// Node is the API of relay nodes, /internal/v1, as one node uses it. Its client's proof is the node's certificate where
// an ingress stands between, and Assert where none does.
type Node struct {
	c    *Client
	node string
}

// NewNode returns the nodes' API of a server, for the node that the client's proof is of.
func NewNode(c *Client, node string) Node { return Node{c, node} }

const internal = "/internal/v1"

// Register registers this process as the node.
func (n Node) Register(ctx context.Context, in contract.Register) (contract.Registered, error) {
	return post[contract.Registered](ctx, n.c, n.own("/register"), in)
}

// Heartbeat beats. The lease of its answer counts from before the call.
func (n Node) Heartbeat(ctx context.Context, in contract.Heartbeat) (contract.Lease, error) {
	return post[contract.Lease](ctx, n.c, n.own("/heartbeat"), in)
}

// Assignments returns what concerns the node, once its version is another than the known one (0 for none) or the wait is
// over; changed is false in the latter case.
func (n Node) Assignments(ctx context.Context, known int64, wait time.Duration,
) (all contract.Assignments, changed bool, err error) {
	k := call{method: http.MethodGet, path: n.own("/assignments"), out: &all, wait: wait}
	if known > 0 {
		k.known = `"` + strconv.FormatInt(known, 10) + `"`
	}
	if wait >= time.Second {
		k.query = url.Values{"wait": {waiting(wait)}}
	}
	unchanged, err := n.c.do(ctx, k)
	return all, err == nil && !unchanged, err
}

// Snapshot returns the whole authorization of a tenant at a generation (A2).
func (n Node) Snapshot(ctx context.Context, tenant string, generation int64) (contract.Snapshot, error) {
	q := url.Values{"generation": {number(generation)}}
	return get[contract.Snapshot](ctx, n.c, internal+"/tenants"+seg(tenant)+"/authorization", q)
}

// Delta returns what changed of a tenant since a revision (A3); Gone where it is not known any more.
func (n Node) Delta(ctx context.Context, tenant string, generation, since int64) (contract.Delta, error) {
	q := url.Values{"generation": {number(generation)}, "since": {number(since)}}
	return get[contract.Delta](ctx, n.c, internal+"/tenants"+seg(tenant)+"/authorization/delta", q)
}

// Poll returns what changed of many tenants, once something did or the wait, in whole seconds, is over (A4).
func (n Node) Poll(ctx context.Context, known []contract.Known, wait time.Duration) (contract.Polled, error) {
	var out contract.Polled
	in := contract.Poll{Tenants: known, Wait: int(wait / time.Second)}
	_, err := n.c.do(ctx, call{method: http.MethodPost, path: n.own("/authorization/poll"), in: in, out: &out, wait: wait})
	return out, err
}

// Revoke revokes a principal that another asked to revoke (A5).
func (n Node) Revoke(ctx context.Context, tenant, principal string, in contract.NodeRevoke) (contract.Revoked, error) {
	return post[contract.Revoked](ctx, n.c, internal+"/tenants"+seg(tenant)+"/principals"+seg(principal)+"/revoke", in)
}

// Prepared reports that the base was copied ahead.
func (n Node) Prepared(ctx context.Context, migration string, in contract.Prepared) error {
	return n.report(ctx, migration, "/prepared", in)
}

// Quiesced reports that every write is refused and drained (P3).
func (n Node) Quiesced(ctx context.Context, migration string, in contract.Quiesced) error {
	return n.report(ctx, migration, "/quiesced", in)
}

// Copied reports that the target verified and installed the snapshot (P4).
func (n Node) Copied(ctx context.Context, migration string, in contract.Copied) error {
	return n.report(ctx, migration, "/copied", in)
}

// Drained reports that the source closed its last connection (P7).
func (n Node) Drained(ctx context.Context, migration string, in contract.Drained) error {
	return n.report(ctx, migration, "/drained", in)
}

// Failed reports that a step can not be done.
func (n Node) Failed(ctx context.Context, migration string, in contract.Failed) error {
	return n.report(ctx, migration, "/failed", in)
}

// Route says where a tenant's connections go (R3).
func (n Node) Route(ctx context.Context, tenant string) (contract.Route, error) {
	return get[contract.Route](ctx, n.c, internal+"/tenants"+seg(tenant)+"/route", nil)
}

// Peers lists the node certificates in force.
func (n Node) Peers(ctx context.Context, p Page) (contract.Peers, error) {
	return get[contract.Peers](ctx, n.c, internal+"/peers", p.query())
}

// SigningKeys lists the keys that verify device tokens.
func (n Node) SigningKeys(ctx context.Context) (contract.SigningKeys, error) {
	return get[contract.SigningKeys](ctx, n.c, internal+"/signing-keys", nil)
}

// RecordBackup records a verified backup of a tenant (P11).
func (n Node) RecordBackup(ctx context.Context, tenant string, in contract.NewBackup) error {
	_, err := n.c.do(ctx, call{method: http.MethodPost, path: internal + "/tenants" + seg(tenant) + "/backups", in: in})
	return err
}

func (n Node) own(path string) string { return internal + "/nodes" + seg(n.node) + path }

func (n Node) report(ctx context.Context, migration, step string, in any) error {
	_, err := n.c.do(ctx, call{method: http.MethodPost, path: internal + "/migrations" + seg(migration) + step, in: in})
	return err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
