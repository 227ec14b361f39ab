package authoritytest

import (
	"context"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
)

// Client is one node's way to the control plane, in all roles. Its fields are set before it is used first.
type Client struct {
	Control *Control
	Node    string
	// Shows is the certificate chain that the node shows; nil counts as one that is accepted.
	Shows func() [][]byte
	// Way is called with the name of the method before a request reaches the control plane, and again, with true, before its
	// answer reaches the node. What it returns is what the node gets instead: a request or an answer that was lost. It may
	// take its time. nil loses nothing.
	Way func(ctx context.Context, method string, back bool) error
}

var (
	_ authority.Enrolment      = (*Client)(nil)
	_ authority.Credentials    = (*Client)(nil)
	_ authority.Leases         = (*Client)(nil)
	_ authority.Assignments    = (*Client)(nil)
	_ authority.Authorizations = (*Client)(nil)
	_ authority.Migrations     = (*Client)(nil)
	_ authority.Keys           = (*Client)(nil)
	_ authority.Revocations    = (*Client)(nil)
	_ authority.Peers          = (*Client)(nil)
	_ authority.Routes         = (*Client)(nil)
)

// Lost is the fault of a request of which no answer came.
func Lost() error { return fault.New(fault.Unavailable, "server_unreachable", "nobody answers") }

func (c *Client) way(ctx context.Context, method string, back bool) error {
	if ctx.Err() != nil {
		return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(context.Cause(ctx))
	}
	if c.Way == nil {
		return nil
	}
	return c.Way(ctx, method, back)
}

// request carries a request there, has it served in one transaction, and carries the answer back.
func request[T any](ctx context.Context, c *Client, method string, serve func(*node) (T, error)) (T, error) {
	return carry(ctx, c, method, func() (T, error) {
		defer c.Control.enter()()
		return admitted(c, serve)
	})
}

func carry[T any](ctx context.Context, c *Client, method string, do func() (T, error)) (T, error) {
	var none T
	if err := c.way(ctx, method, false); err != nil {
		return none, err
	}
	out, err := do()
	if lost := c.way(ctx, method, true); lost != nil {
		return none, lost
	}
	return out, err
}

func admitted[T any](c *Client, serve func(*node) (T, error)) (T, error) {
	var none T
	n := c.Control.nodes[c.Node]
	if c.Shows != nil {
		var err error
		if n, err = c.Control.known(c.Node, c.Shows()); err != nil {
			return none, err
		}
	}
	return serve(n)
}

// Enroll spends a join token.
func (c *Client) Enroll(ctx context.Context, joinToken string, csr []byte) (authority.Issued, error) {
	return carry(ctx, c, "Enroll", func() (authority.Issued, error) {
		defer c.Control.enter()()
		return c.Control.enrol(joinToken, csr)
	})
}

// Rotate gives the node its next certificate.
func (c *Client) Rotate(ctx context.Context, csr []byte) (authority.Issued, error) {
	return request(ctx, c, "Rotate", func(*node) (authority.Issued, error) {
		asked, err := readRequest(csr)
		if err != nil {
			return authority.Issued{}, err
		}
		return c.Control.admit(c.Node, asked)
	})
}

// Register registers a process as the node.
func (c *Client) Register(ctx context.Context, r placement.Registration) (int64, error) {
	return request(ctx, c, "Register", func(n *node) (int64, error) {
		generation, err := n.Lease.Register(r, c.Control.Clock.Now())
		if err == nil {
			err = n.Candidate.Node.Registered(c.Control.Clock.Now())
		}
		return generation, err
	})
}

// Beat grants a lease.
func (c *Client) Beat(ctx context.Context, b authority.Beat) (authority.Lease, error) {
	return request(ctx, c, "Beat", func(n *node) (authority.Lease, error) {
		in := placement.Beat{
			Generation: b.Generation, Sequence: b.Sequence, Capacity: placement.Boundless(), Usage: b.Usage, Grants: c.Control.Terms.Duration,
		}
		if b.Capacity != nil {
			in.Capacity = *b.Capacity
		}
		if err := n.Lease.Beat(in, c.Control.Clock.Now()); err != nil {
			return authority.Lease{}, err
		}
		r := n.Candidate.Node.Record()
		return authority.Lease{
			For: c.Control.Terms.Duration, Epoch: n.Lease.Record().Epoch, ServerTime: c.Control.Clock.Now(), Status: r.Status.String(),
			Schedulable: r.Schedulable, Assignments: r.Assignments,
		}, nil
	})
}

// await serves again after each change, until there is something to tell or the wait is over.
func await[T any](ctx context.Context, c *Client, method string, wait time.Duration, serve func(*node) (T, bool, error)) (T, error) {
	return carry(ctx, c, method, func() (T, error) {
		over := c.Control.Clock.NewTimer(wait)
		defer over.Stop()
		for {
			c.Control.mu.Lock()
			changed, told := c.Control.changed, false
			out, err := admitted(c, func(n *node) (out T, err error) {
				out, told, err = serve(n)
				return out, err
			})
			c.Control.mu.Unlock()
			if err != nil || told || wait <= 0 {
				return out, err
			}
			select {
			case <-changed:
			case <-over.C():
				wait = 0
			case <-ctx.Done():
				return out, fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(context.Cause(ctx))
			}
		}
	})
}

// Assignments tells what concerns the node.
func (c *Client) Assignments(ctx context.Context, known int64, wait time.Duration) (authority.Assigned, error) {
	return await(ctx, c, "Assignments", wait, func(n *node) (authority.Assigned, bool, error) {
		out := authority.Assigned{Version: n.Candidate.Node.Record().Assignments}
		if out.Version == known {
			out.Unchanged = true
			return out, false, nil
		}
		for _, t := range c.Control.tenants {
			if a, ok := t.place.AssignmentFor(c.Node); ok {
				out.Placements = append(out.Placements, a)
			}
		}
		return out, true, nil
	})
}

func (c *Client) allowed(op authorization.Operation, tenant string) (*tenant, error) {
	t := c.Control.tenants[tenant]
	if t == nil || authorization.Decide(op, t.place.RoleOf(c.Node), t.place.Phase()) != nil {
		return nil, notFound()
	}
	return t, nil
}

// Snapshot answers all of a tenant.
func (c *Client) Snapshot(ctx context.Context, tenant string, generation int64) (authority.Snapshot, error) {
	return request(ctx, c, "Snapshot", func(n *node) (authority.Snapshot, error) {
		t, err := c.allowed(authorization.OpSnapshot, tenant)
		if err != nil {
			return authority.Snapshot{}, err
		}
		at := t.place.Record()
		if err := authorization.CheckGeneration(generation, at.Generation); fault.SlugOf(err) == "generation_ahead" {
			return authority.Snapshot{}, err
		}
		s, err := t.Snapshot(authorization.Place{
			Generation: at.Generation, Version: at.Version, LeaseEpoch: n.Lease.Record().Epoch, Role: t.place.RoleOf(c.Node), Phase: t.place.Phase(),
		}, t.principals, t.handles, t.routes)
		return authority.Snapshot{Snapshot: s, Node: at.Node, State: at.State}, err
	})
}

// Poll names what differs.
func (c *Client) Poll(ctx context.Context, known []authority.Known, wait time.Duration) ([]authority.Differing, error) {
	if len(known) > authority.MaxPoll {
		return nil, fault.New(fault.Invalid, "poll_too_large", "a poll names at most %d tenants", authority.MaxPoll)
	}
	method := "Poll"
	if wait > 0 {
		method = "Hints"
	}
	return await(ctx, c, method, wait, func(*node) ([]authority.Differing, bool, error) {
		var out []authority.Differing
		for _, k := range known {
			if d, differs := c.differs(k); differs {
				out = append(out, d)
			}
		}
		return out, len(out) > 0, nil
	})
}

func (c *Client) differs(k authority.Known) (authority.Differing, bool) {
	t, err := c.allowed(authorization.OpDelta, k.Tenant)
	if err != nil {
		return authority.Differing{Tenant: k.Tenant, Result: authority.NotFound}, true
	}
	at := t.place.Record()
	out := authority.Differing{Tenant: k.Tenant, Generation: at.Generation}
	switch {
	case k.Generation != at.Generation:
		return out, true
	case k.Revision == t.Revision():
		return out, false
	}
	var since []authorization.Change
	for _, one := range t.log {
		if one.Revision > k.Revision {
			since = append(since, one)
		}
	}
	if d, err := authorization.DeltaSince(t.Tenant, at.Generation, k.Revision, since); err == nil {
		out.Result, out.Delta, out.PlacementVersion = authority.HasDelta, d, at.Version
	}
	return out, true
}

func (c *Client) report(ctx context.Context, method, id string, op authorization.Operation,
	take func(*placement.Migration, placement.Parties, placement.Reporter, time.Time) error,
) error {
	_, err := request(ctx, c, method, func(*node) (struct{}, error) {
		m := c.Control.migrations[id]
		if m == nil || authorization.Decide(op, m.RoleOf(c.Node), m.Record().State) != nil {
			return struct{}{}, notFound()
		}
		return struct{}{}, take(m, c.Control.parties(m), placement.Reporter{Node: c.Node}, c.Control.Clock.Now())
	})
	return err
}

// Prepared takes a report; where both nodes prepared, the migration quiesces.
func (c *Client) Prepared(ctx context.Context, migration string, generation, base int64) error {
	return c.report(ctx, "Prepared", migration, authorization.OpPrepared, func(m *placement.Migration, w placement.Parties, r placement.Reporter, now time.Time) error {
		r.Generation = generation
		both, err := m.Prepared(w, r, base, now)
		if err == nil && both {
			err = m.Quiesce(w, c.Control.Deadlines, now)
		}
		return err
	})
}

// Quiesced takes a report.
func (c *Client) Quiesced(ctx context.Context, migration string, generation int64, f placement.Manifest) error {
	return c.report(ctx, "Quiesced", migration, authorization.OpQuiesced, func(m *placement.Migration, w placement.Parties, r placement.Reporter, now time.Time) error {
		r.Generation = generation
		return m.Quiesced(w, r, f, c.Control.Deadlines, now)
	})
}

// Copied takes a report.
func (c *Client) Copied(ctx context.Context, migration string, generation int64, f placement.Manifest) error {
	return c.report(ctx, "Copied", migration, authorization.OpCopied, func(m *placement.Migration, w placement.Parties, r placement.Reporter, now time.Time) error {
		r.Generation = generation
		return m.Copied(w, r, f, now)
	})
}

// Drained takes a report.
func (c *Client) Drained(ctx context.Context, migration string, generation int64) error {
	return c.report(ctx, "Drained", migration, authorization.OpDrained, func(m *placement.Migration, w placement.Parties, r placement.Reporter, now time.Time) error {
		r.Generation = generation
		return m.Drained(w, r, now)
	})
}

// Failed takes a report.
func (c *Client) Failed(ctx context.Context, migration string, generation int64, step, reason string) error {
	return c.report(ctx, "Failed", migration, authorization.OpFailed, func(m *placement.Migration, w placement.Parties, r placement.Reporter, now time.Time) error {
		r.Generation = generation
		return m.Reported(w, r, step, reason, now)
	})
}
