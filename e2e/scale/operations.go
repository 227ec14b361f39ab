package scale

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"berth/e2e/load"
)

// operation is something that has to cost the same at every size.
type operation struct {
	name    string
	callers func(s *site) []load.Caller
	once    bool // for each tenant: half of them at most are taken
}

const page = 100 // of a list

// operations are taken in this order: what changes tenants comes after what relies on them as they were seeded.
var operations = []operation{
	{name: "heartbeat, 256 callers over all nodes", callers: heartbeats},
	{name: "poll of 500 unchanged", callers: polls},
	{name: "snapshot", callers: snapshots},
	{name: "tenant: get", callers: gets(func(s *site, i int) string { return "/api/v1/tenants/" + s.plan.Tenant(i) })},
	{name: "nodes: first page", callers: list("/api/v1/nodes", func(*site) string { return "" })},
	{name: "nodes: middle page", callers: list("/api/v1/nodes", func(s *site) string { return s.nodes[s.plan.Nodes/2].ID })},
	{name: "nodes: last page", callers: list("/api/v1/nodes", func(s *site) string { return s.nodes[s.plan.Nodes-page-1].ID })},
	{name: "tenants: first page", callers: list("/api/v1/tenants", func(*site) string { return "" })},
	{name: "tenants: middle page", callers: list("/api/v1/tenants", func(s *site) string { return s.plan.Tenant(s.plan.Tenants / 2) })},
	{name: "tenants: last page", callers: list("/api/v1/tenants", func(s *site) string { return s.plan.Tenant(s.plan.Tenants - page - 1) })},
	{name: "audit: first page", callers: list("/api/v1/audit", func(*site) string { return "" })},
	{name: "audit: middle page", callers: list("/api/v1/audit", func(s *site) string { return strconv.Itoa(s.plan.Tenants / 2) })},
	{name: "audit: last page", callers: list("/api/v1/audit", func(s *site) string { return strconv.Itoa(s.plan.Tenants - page) })},
	{name: "audit: of a tenant", callers: gets(func(s *site, i int) string { return "/api/v1/audit?subject=tenant/" + s.plan.Tenant(i) })},
	{name: "migrations of a tenant", callers: gets(func(s *site, i int) string {
		return "/api/v1/tenants/" + s.plan.Tenant(i/each*each) + "/migrations"
	})},
	{name: "migration: begin and abort", callers: moves},
	{name: "tenant: create", callers: creates},
	{name: "principal: revoke", callers: revokes, once: true},
}

// among spreads what is asked for over all there is, in an order that jumps.
func among(count int) func() int {
	const prime = 7919
	var n atomic.Int64
	return func() int { return int(n.Add(1) * prime % int64(count)) }
}

func heartbeats(s *site) []load.Caller {
	const callers = 256
	out := make([]load.Caller, callers)
	for i := range out {
		c, next := s.Internal(0), i
		out[i] = func() (time.Duration, error) {
			n := s.nodes[next]
			if next += callers; next >= len(s.nodes) {
				next = i
			}
			return load.Beats(c, n)()
		}
	}
	return out
}

func polls(s *site) []load.Caller {
	c := s.Internal(0)
	next := among(s.plan.Holders())
	return []load.Caller{func() (time.Duration, error) { return s.poll(c, next()) }}
}

// poll is the batched poll of one node.
func (s *site) poll(c *load.Conn, node int) (time.Duration, error) {
	return load.PollOf(c, s.nodes[node], s.bodies[node])
}

func snapshots(s *site) []load.Caller {
	c, next := s.Internal(0), among(s.plan.Tenants)
	return []load.Caller{func() (time.Duration, error) {
		i := next()
		return load.Snapshots(c, s.nodes[s.plan.Holder(i)], func() string { return s.plan.Tenant(i) })()
	}}
}

func gets(path func(*site, int) string) func(*site) []load.Caller {
	return func(s *site) []load.Caller {
		next := among(s.plan.Tenants)
		return []load.Caller{s.Gets(s.API(0), func() string { return path(s, next()) })}
	}
}

func list(path string, after func(*site) string) func(*site) []load.Caller {
	return func(s *site) []load.Caller {
		url := fmt.Sprintf("%s?limit=%d&cursor=%s", path, page, base64.RawURLEncoding.EncodeToString([]byte(after(s))))
		return []load.Caller{s.Gets(s.API(0), func() string { return url })}
	}
}

func moves(s *site) []load.Caller {
	next := among(s.plan.Tenants)
	return []load.Caller{s.Moves(s.API(0), func() (string, string) {
		i := next()
		to, _ := s.plan.Node(s.plan.target(i))
		return s.plan.Tenant(i), to
	})}
}

func creates(s *site) []load.Caller {
	var n atomic.Int64
	return []load.Caller{s.Creates(s.API(0), s.plan.Region(0), func() string { return fmt.Sprintf("new-%07d", n.Add(1)) })}
}

func revokes(s *site) []load.Caller {
	c, next := s.API(0), among(s.plan.Tenants)
	return []load.Caller{func() (time.Duration, error) {
		i := next()
		a, err := c.Must(s.Ask("POST", "/api/v1/tenants/"+s.plan.Tenant(i)+"/principals/"+s.plan.Principal(i)+"/revoke", nil), 200)
		return a.Took, err
	}}
}
