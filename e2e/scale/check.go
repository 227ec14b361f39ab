package scale

import (
	"errors"
	"fmt"

	"berth/adapters/contract"
	"berth/e2e/load"
)

// check reads a sample of what was seeded back through the API, and lets berthd verify the audit chain: what breaks a rule
// is refused by the code that the rule is of.
func (s *site) check(sample int) error {
	operator, internal := s.API(0), s.Internal(0)
	var errs []error
	for k := range sample {
		tenant := k * (s.plan.Tenants - 1) / max(sample-1, 1)
		errs = append(errs, s.checkTenant(operator, internal, tenant))
	}
	for i := range s.nodes {
		if i < 3 || i%(max(s.plan.Nodes/10, 1)) == 0 {
			errs = append(errs, s.checkNode(operator, internal, i))
		}
	}
	return errors.Join(append(errs, s.checkAudit(operator))...)
}

// get reads something as an operator.
func get[T any](s *site, c *load.Conn, path string) (T, error) {
	var none T
	a, err := c.Must(s.Ask("GET", path, nil), 200)
	if err != nil {
		return none, err
	}
	return load.Decode[T](a)
}

// ask reads something as a node.
func ask[T any](c *load.Conn, n *load.Node, path string) (T, error) {
	var none T
	request, err := n.Request("GET", path, nil)
	if err != nil {
		return none, err
	}
	a, err := c.Must(request, 200)
	if err != nil {
		return none, err
	}
	return load.Decode[T](a)
}

func differs(what string, got, want any) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: %v, was seeded as %v", what, got, want)
}

func (s *site) checkTenant(operator, internal *load.Conn, i int) error {
	id := s.plan.Tenant(i)
	holder := s.nodes[s.plan.Holder(i)]
	t, err := get[contract.Tenant](s, operator, "/api/v1/tenants/"+id)
	if err != nil {
		return err
	}
	snapshot, err := ask[contract.Snapshot](internal, holder, "/tenants/"+id+"/authorization?generation=1")
	if err != nil {
		return err
	}
	delta, err := ask[contract.Delta](internal, holder, "/tenants/"+id+"/authorization/delta?generation=1&since=1")
	if err != nil {
		return err
	}
	moves, err := get[contract.Migrations](s, operator, "/api/v1/tenants/"+id+"/migrations")
	if err != nil {
		return err
	}
	moved := 0
	if s.plan.moved(i) {
		moved = 1
	}
	return errors.Join(
		differs(id+"'s node", t.Placement.Node, holder.ID), differs(id+"'s version", t.Placement.Version, s.plan.version(i)),
		differs(id+"'s revision", t.Authorization.Revision, int64(2)), differs(id+"'s migrations", len(moves.Migrations), moved),
		differs(id+" is writable", snapshot.Writable, true), differs(id+"'s principals", len(snapshot.Principals), 1),
		differs(id+"'s handles", len(snapshot.Handles), 1), differs(id+"'s routes", len(snapshot.Routes), 1),
		differs(id+"'s changes", len(delta.Changes), 2), differs(id+"'s last revision", delta.To, int64(2)),
	)
}

func (s *site) checkNode(operator, internal *load.Conn, i int) error {
	n := s.nodes[i]
	_, held := s.plan.Holds(i)
	is, err := get[contract.Node](s, operator, "/api/v1/nodes/"+n.ID)
	if err != nil {
		return err
	}
	told, err := ask[contract.Assignments](internal, n, "/nodes/"+n.ID+"/assignments")
	if err != nil {
		return err
	}
	_, err = load.Polls(internal, n, s.plan.known(i))()
	_, beat := load.Beats(internal, n)()
	return errors.Join(err, beat,
		differs(n.ID+"'s tenants", is.Tenants, int64(held)), differs(n.ID+"'s lease", is.Lease.State, "live"),
		differs(n.ID+"'s assignments", len(told.Placements), held))
}

// known is what a node knows of its tenants.
func (p Plan) known(node int) []contract.Known {
	first, count := p.Holds(node)
	out := make([]contract.Known, count)
	for i := range out {
		out[i] = contract.Known{Tenant: p.Tenant(first + i), Generation: 1, Revision: 2}
	}
	return out
}

func (s *site) checkAudit(operator *load.Conn) error {
	v, err := get[contract.AuditVerdict](s, operator, "/api/v1/audit/verify")
	if err != nil {
		return err
	}
	if !v.Whole || v.Entries < int64(s.plan.Tenants) {
		return fmt.Errorf("the audit chain was verified as %+v", v)
	}
	return nil
}
