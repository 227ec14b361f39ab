package placement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// NodeStatus is the stored status of a node. Whether it is offline is not stored: its Lease tells.
type NodeStatus uint8

// The statuses of a node.
const (
	NodeJoining  NodeStatus = iota // defined, never registered
	NodeActive                     // takes and serves tenants
	NodeDraining                   // being emptied (P12)
	NodeRetired                    // gone for good; its credentials are worth nothing
)

var nodeStatusNames = [...]string{"joining", "active", "draining", "retired"} //nolint:gochecknoglobals // an immutable table

// String returns the status as API.md spells it.
func (s NodeStatus) String() string {
	if int(s) < len(nodeStatusNames) {
		return nodeStatusNames[s]
	}
	return "retired"
}

type nodeEvent uint8

const (
	nodeRegister nodeEvent = iota
	nodeDrain
	nodeActivate
	nodeRetire
)

var nodeEventNames = [...]string{"register", "drain", "activate", "retire"} //nolint:gochecknoglobals // an immutable table

var nodeEdges = []struct { //nolint:gochecknoglobals // the state machine
	from  NodeStatus
	event nodeEvent
	to    NodeStatus
}{
	{NodeJoining, nodeRegister, NodeActive},
	{NodeActive, nodeRegister, NodeActive},
	{NodeDraining, nodeRegister, NodeDraining},
	{NodeActive, nodeDrain, NodeDraining},
	{NodeDraining, nodeActivate, NodeActive},
	{NodeJoining, nodeRetire, NodeRetired},
	{NodeActive, nodeRetire, NodeRetired},
	{NodeDraining, nodeRetire, NodeRetired},
}

// NodeRecord is what a store keeps of a node beside its lease.
type NodeRecord struct {
	ID          string
	Region      string
	Status      NodeStatus
	Schedulable bool     // false is cordoned: takes nothing new, keeps what it has
	Capacity    Capacity // what the operator allows
	Tenants     int64    // placements it holds
	Inbound     int64    // migrations bound for it (P2)
	Assignments int64    // version of its assignments; raised by every change of a placement that concerns it
	CreatedAt   time.Time
	ChangedAt   time.Time
}

// Node is a relay node as operators define it and placements load it.
type Node struct{ r NodeRecord }

// NewNode checks id, region and capacity; the node starts joining and schedulable.
func NewNode(id, region string, capacity Capacity, now time.Time) (*Node, error) {
	named := []*fault.Error{dated(now), ident.Check("id", id), ident.Check("region", region)}
	if err := fault.All(append(named, capacity.faults("capacity")...)...); err != nil {
		return nil, err
	}
	at := ident.Instant(now)
	return &Node{NodeRecord{
		ID: id, Region: region, Schedulable: true, Capacity: capacity, Assignments: 1, CreatedAt: at, ChangedAt: at,
	}}, nil
}

// RestoreNode is for stores.
func RestoreNode(r NodeRecord) *Node { return &Node{r} }

// Record is the node's state, for stores and views.
func (n *Node) Record() NodeRecord { return n.r }

func (n *Node) step(e nodeEvent, now time.Time) error {
	if err := dated(now); err != nil {
		return err
	}
	for _, edge := range nodeEdges {
		if edge.from == n.r.Status && edge.event == e {
			n.r.Status = edge.to
			n.r.ChangedAt = ident.Instant(now)
			return nil
		}
	}
	if n.r.Status == NodeRetired {
		return n.retired()
	}
	return fault.New(fault.Conflict, "node_status_conflict", "a node that is %s can not %s",
		n.r.Status, nodeEventNames[e])
}

func (n *Node) retired() *fault.Error {
	return fault.New(fault.Conflict, "node_retired", "node %s is retired", n.r.ID).
		Curable("define a node under another id")
}

// mayChange is the guard of what an operator sets.
func (n *Node) mayChange(now time.Time) error {
	if n.r.Status == NodeRetired {
		return n.retired()
	}
	return fault.All(dated(now))
}

// Registered marks that the node's process registered: a joining node becomes active.
func (n *Node) Registered(now time.Time) error { return n.step(nodeRegister, now) }

// Drain begins to empty the node (P12).
func (n *Node) Drain(now time.Time) error { return n.step(nodeDrain, now) }

// Activate stops a drain: what was not moved yet stays.
func (n *Node) Activate(now time.Time) error { return n.step(nodeActivate, now) }

// Retire ends an empty node. Fault: Conflict node_not_empty.
func (n *Node) Retire(now time.Time) error {
	if n.r.Tenants > 0 || n.r.Inbound > 0 {
		return n.notEmpty()
	}
	return n.step(nodeRetire, now)
}

func (n *Node) notEmpty() *fault.Error {
	return fault.New(fault.Conflict, "node_not_empty", "node %s holds %d tenants and awaits %d",
		n.r.ID, n.r.Tenants, n.r.Inbound).Curable("drain the node, or recover its tenants, first")
}

// SetSchedulable cordons or uncordons the node; its status and its devices are not touched (P12). Fault: Conflict
// node_retired.
func (n *Node) SetSchedulable(on bool, now time.Time) error {
	if err := n.mayChange(now); err != nil {
		return err
	}
	n.r.Schedulable = on
	n.r.ChangedAt = ident.Instant(now)
	return nil
}

// SetCapacity sets the operator's limit. One below what the node holds is allowed: it then takes nothing new. Faults:
// Invalid out_of_range; Conflict node_retired.
func (n *Node) SetCapacity(c Capacity, now time.Time) error {
	if err := c.Check("capacity"); err != nil {
		return err
	}
	if err := n.mayChange(now); err != nil {
		return err
	}
	n.r.Capacity = c
	n.r.ChangedAt = ident.Instant(now)
	return nil
}

// exhausted refuses an event before it could carry a counter of the node past 2^53-1. The switch raises one the most:
// four times.
func (n *Node) exhausted() *fault.Error {
	if max(n.r.Tenants, n.r.Inbound, n.r.Assignments) <= ident.MaxCounter-4 {
		return nil
	}
	return fault.New(fault.Exhausted, "counter_exhausted", "a counter of node %s can not grow any more", n.r.ID)
}

// admit counts a tenant placed for the first time.
func (n *Node) admit() { n.r.Tenants = min(ident.MaxCounter, n.r.Tenants+1); n.touch() }

// reserve counts a migration bound for the node (P2).
func (n *Node) reserve() { n.r.Inbound = min(ident.MaxCounter, n.r.Inbound+1); n.touch() }

// unreserve takes a reservation back after an abort.
func (n *Node) unreserve() { n.r.Inbound = max(0, n.r.Inbound-1); n.touch() }

// arrive turns a reservation into a tenant: the switch happened.
func (n *Node) arrive() { n.unreserve(); n.admit() }

// depart takes a tenant off: it was switched away, or purged.
func (n *Node) depart() { n.r.Tenants = max(0, n.r.Tenants-1); n.touch() }

// touch makes the node look at its assignments again.
func (n *Node) touch() { n.r.Assignments = min(ident.MaxCounter, n.r.Assignments+1) }
