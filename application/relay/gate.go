package relay

import (
	"time"

	"berth/domain/fault"
)

// Gate answers whether a tenant may be read or written at this instant. Each answer is made of what is true when it is
// asked; none is kept. All methods are safe for concurrent use and wait for nothing.
type Gate struct{ node *Node }

// Permit is the right to begin one write, at a generation.
type Permit struct {
	Tenant     string
	Generation int64
}

// Write permits a write to begin (P8). Recheck is asked before it is acknowledged, and the storage commit reads the copy's
// fence and stamp in between (placement.Copy.Commits).
// Faults: Unavailable, with the slugs of placement.Warrant.Check, engine_closed where no device uses the tenant,
// tenant_not_active, clock_jumped, stopping and node_superseded; those with which the control plane refused the node's certificate.
func (g Gate) Write(tenant string) (Permit, error) {
	generation, err := g.ask(tenant, writing())
	if err != nil {
		return Permit{}, err
	}
	return Permit{tenant, generation}, nil
}

// Recheck permits the acknowledgement of a write that was committed (P8). Where it refuses, the connection is cut without
// one. Faults: those of Write; Unavailable generation_changed.
func (g Gate) Recheck(p Permit) error {
	_, err := g.ask(p.Tenant, acknowledging(p.Generation))
	return err
}

// Read permits reading what the node has of the tenant (A6). It needs no lease: faults are those of Write but
// lease_run_out, lease_epoch_changed and copy_fenced.
func (g Gate) Read(tenant string) error {
	_, err := g.ask(tenant, reading())
	return err
}

func (g Gate) ask(tenant string, u use) (int64, error) {
	s := g.node.state
	s.mu.RLock()
	generation, err := s.judge(tenant, u, s.read())
	s.mu.RUnlock()
	if err != nil {
		g.node.counts.denied.Add(1)
	}
	return generation, err
}

// guard is something that is open for a tenant and is closed when the tenant may not be read any more.
type guard struct {
	tenant string
	close  func(error)
}

// Guard has close called once, with the reason, when the tenant may not be read here any more: within 100 ms of the
// instant from which Read refuses, or at once where it refuses already, also after the node has stopped. It is called on
// another goroutine, and returns without waiting for anything. release ends that; a call that is on its way already may
// still come.
func (g Gate) Guard(tenant string, closer func(error)) (release func()) {
	s := g.node.state
	one := &guard{tenant, closer}
	s.mu.Lock()
	why := s.closed
	if why == nil {
		s.guarded[one] = struct{}{}
	}
	s.mu.Unlock()
	if why != nil { // for good, and maybe nobody looks any more
		g.node.counts.closed.Add(1)
		go closer(why)
		return func() {}
	}
	g.node.fence.rouse()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.guarded, one)
	}
}

// close is how the node says for good that it serves nothing; the first reason stays.
func (n *Node) close(why error) {
	n.state.mu.Lock()
	if n.state.closed == nil {
		n.state.closed = why
	}
	n.state.mu.Unlock()
	n.fence.rouse()
}

// closedBy says why the node serves nothing for good.
func (s *state) closedBy() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

func errStopping() error {
	return fault.New(fault.Unavailable, "stopping", "the node is stopping").After(time.Second)
}

func errSuperseded(err error) error {
	return fault.New(fault.Conflict, "node_superseded", "another process is this node by now").
		Curable("find out which process is meant to be the node, and stop the other").Because(err)
}

func isSuperseded(err error) bool {
	f, ok := fault.As(err)
	return ok && f.Slug == "node_superseded"
}
