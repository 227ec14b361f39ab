package load

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"berth/adapters/contract"
)

// Durable heartbeats, assertion checked and nonce spent, 256 nodes beating at once.
func BenchmarkHeartbeats256Nodes(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		var callers []Caller
		for _, n := range r.Nodes(256, 10) {
			callers = append(callers, Beats(r.Internal(0), n))
		}
		r.bench(b, callers...)
	})
}

// A batched poll of 500 tenants of which none changed.
func BenchmarkPoll500Unchanged(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		n := r.Nodes(1, 500)[0]
		poll := Polls(r.Internal(0), n, r.Tenants(500))
		r.Beating(n)
		r.bench(b, poll)
	})
}

// The whole authorization of a tenant with ten devices.
func BenchmarkSnapshot(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		n := r.Nodes(1, 10)[0]
		tenant := r.Tenants(1)[0].Tenant
		for range 10 {
			r.Pair(tenant, "owner", "phone")
		}
		r.Beating(n)
		r.bench(b, Snapshots(r.Internal(0), n, func() string { return tenant }))
	})
}

// A long poll for assignments that waits for a second, 256 at a time, and is told that nothing changed: what it costs, not
// how often it can be asked.
func BenchmarkAssignmentsUnchanged(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		nodes := r.Nodes(256, 10)
		callers := make([]Caller, 0, len(nodes))
		for _, n := range nodes {
			c := r.Internal(0)
			request, err := n.Request("GET", "/nodes/"+n.ID+"/assignments", nil)
			r.must(err)
			now, err := c.Must(request, 200)
			r.must(err)
			callers = append(callers, func() (time.Duration, error) {
				request, err := n.Request("GET", "/nodes/"+n.ID+"/assignments?wait=1s", nil, "If-None-Match", now.ETag)
				if err != nil {
					return 0, err
				}
				a, err := c.Must(request, 304)
				return a.Took, err
			})
		}
		r.bench(b, callers...)
	})
}

// From the answer to an operator's revoke to the moment at which a waiting poll has answered: how much later the node
// knows than the operator. On Postgres also where the poll waits at the other replica.
func BenchmarkRevokeReachesWaitingPoll(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { revokes(b, OnSQLite(b), 0) })
	b.Run("postgres", func(b *testing.B) { revokes(b, OnPostgres(b, NewDatabase(b), 1), 0) })
	b.Run("postgres-other-replica", func(b *testing.B) { revokes(b, OnPostgres(b, NewDatabase(b), 2), 1) })
}

func revokes(b *testing.B, r *Rig, replica int) {
	n := r.Nodes(1, 10)[0]
	tenant := r.Tenants(1)[0].Tenant
	r.Pair(tenant, "owner", "desktop")
	operator, node := r.API(0), r.Internal(replica)
	r.Beating(n)
	took := r.measured(b, func() (time.Duration, error) {
		d := r.Pair(tenant, "member", "phone")
		var now contract.Tenant
		r.Operator("GET", "/api/v1/tenants/"+tenant, nil, 200, &now)
		return r.revoke(operator, d.Principal, now, func() error {
			return waits(node, n, contract.Known{Tenant: tenant, Generation: 1, Revision: now.Authorization.Revision})
		}, r.Replicas[replica])
	})
	// What a round costs is mostly that of pairing the next device.
	b.ReportMetric(took.P(50), "p50-ms")
	b.ReportMetric(took.P(99), "p99-ms")
}

func waits(c *Conn, n *Node, known contract.Known) error {
	body, err := json.Marshal(contract.Poll{Wait: 30, Tenants: []contract.Known{known}})
	if err != nil {
		return err
	}
	request, err := n.Request("POST", "/nodes/"+n.ID+"/authorization/poll", body)
	if err != nil {
		return err
	}
	a, err := c.Must(request, 200)
	if err == nil && !a.holds(known.Tenant) {
		err = errors.New("the poll was answered by nothing")
	}
	return err
}

func (r *Rig) revoke(c *Conn, principal string, t contract.Tenant, poll func() error, at *Replica) (time.Duration, error) {
	waiting := at.Waiting()
	answered, failed := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		err := poll()
		answered <- time.Now()
		failed <- err
	}()
	r.Eventually("the poll waits", func() bool { return at.Waiting() > waiting })
	_, err := c.Must(r.Ask("POST", "/api/v1/tenants/"+t.ID+"/principals/"+principal+"/revoke", nil), 200)
	committed := time.Now()
	return (<-answered).Sub(committed), errors.Join(err, <-failed)
}
