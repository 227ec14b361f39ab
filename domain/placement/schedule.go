package placement

import (
	"cmp"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Candidate is a node as scheduling sees it.
type Candidate struct {
	Node  *Node
	Lease *Lease
}

// Free is how many tenants more the node takes, after those it holds and those bound for it (P2): the operator's limit,
// lowered by the node's own. A node whose bytes are used up takes none.
func (c Candidate) Free() int64 {
	room := c.Node.r.Capacity.Least(c.Lease.r.Reported)
	if c.Lease.r.Usage.Bytes >= room.Bytes {
		return 0
	}
	return max(0, room.Tenants-c.Node.r.Tenants-c.Node.r.Inbound)
}

// Eligible says whether the node takes tenants at all: draining, offline, full and cordoned nodes take nothing (P12).
func (c Candidate) Eligible() bool { return c.available() && c.Free() > 0 }

func (c Candidate) available() bool {
	return c.Node.r.Status == NodeActive && c.Node.r.Schedulable && c.Lease.Live()
}

// mayReceive is P2's guard on the target of a migration.
func (c Candidate) mayReceive(p *Placement, rehome string) error {
	n := c.Node.r
	switch {
	case n.ID == p.r.Node:
		return fault.New(fault.Conflict, "target_is_source", "the tenant is on node %s already", n.ID).At("target_node")
	case rehome != "" && rehome != n.Region:
		return fault.New(fault.Invalid, "rehome_mismatch", "node %s is in region %s", n.ID, n.Region).At("rehome")
	case rehome == "" && n.Region != p.r.HomeRegion:
		return fault.New(fault.Conflict, "target_in_another_region", "node %s is in region %s, the tenant's home is %s",
			n.ID, n.Region, p.r.HomeRegion).At("target_node").Curable("choose a node of the home region, or name the move with rehome")
	case !c.available():
		return fault.New(fault.Conflict, "target_not_available", "node %s is not active, not schedulable or offline", n.ID).
			At("target_node").Curable("look at the node's status, schedulable and lease")
	case c.Free() == 0:
		return fault.New(fault.Conflict, "target_full", "node %s has no room left", n.ID).
			At("target_node").Curable("choose another node, or raise its capacity")
	}
	return nil
}

// Choose picks the node for a tenant: the eligible one in the region with the largest free share, then the most free
// room, then the lowest id, so that the choice is the same everywhere. nil where no node takes it.
func Choose(region string, candidates []Candidate, except string) *Candidate {
	var best *Candidate
	for i := range candidates {
		c := &candidates[i]
		if c.Node.r.Region != region || c.Node.r.ID == except || !c.Eligible() {
			continue
		}
		if best == nil || better(*c, *best) {
			best = c
		}
	}
	return best
}

func better(a, b Candidate) bool {
	fa, fb := float64(a.Free())/float64(a.room()), float64(b.Free())/float64(b.room())
	if c := cmp.Compare(fa, fb); c != 0 {
		return c > 0
	}
	if c := cmp.Compare(a.Free(), b.Free()); c != 0 {
		return c > 0
	}
	return a.Node.r.ID < b.Node.r.ID
}

func (c Candidate) room() int64 {
	return max(1, min(c.Node.r.Capacity.Tenants, c.Lease.r.Reported.Tenants))
}

// Waiting is a tenant that no node could take yet (P12).
type Waiting struct {
	Tenant string
	Region string
	Since  time.Time
}

// Enqueue puts a tenant into the queue.
func Enqueue(tenant, region string, now time.Time) Waiting {
	return Waiting{Tenant: tenant, Region: region, Since: ident.Instant(now)}
}

// SortQueue orders the queue: oldest first, then by tenant (P12).
func SortQueue(q []Waiting) {
	slices.SortFunc(q, func(a, b Waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Tenant, b.Tenant))
	})
}
