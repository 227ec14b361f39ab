package store

import (
	"context"

	"berth/domain/placement"
)

// Regions are the regions, by id.
type Regions interface {
	Aggregate[placement.Region]
	List(ctx context.Context, p Page) ([]placement.Region, error)
}

// Nodes are the relay nodes, by id.
type Nodes interface {
	Aggregate[*placement.Node]
	// Candidates returns the nodes of a region with their leases; of every region when region is empty.
	Candidates(ctx context.Context, region string, p Page) ([]placement.Candidate, error)
}

// Leases are the hot rows of nodes, by node id. A lease is created with its node.
type Leases interface {
	Aggregate[*placement.Lease]
}

// Placements are the placements, by tenant.
type Placements interface {
	Aggregate[*placement.Placement]
	// Concerning returns the placements in which the node is holder, source or target, by tenant.
	Concerning(ctx context.Context, node string, p Page) ([]*placement.Placement, error)
	// HeldBy returns the placements whose holder is the node and that are in no migration, by tenant.
	HeldBy(ctx context.Context, node string, p Page) ([]*placement.Placement, error)
}

// Migrations are the records of moves, by id.
type Migrations interface {
	Aggregate[*placement.Migration]
	// OfTenant returns a tenant's migrations, by id (which sorts by time).
	OfTenant(ctx context.Context, tenant string, p Page) ([]*placement.Migration, error)
	// Running returns those that have not ended, by id.
	Running(ctx context.Context, p Page) ([]*placement.Migration, error)
	// RunningFrom counts those that have not ended and whose source is the node.
	RunningFrom(ctx context.Context, node string) (int, error)
}

// Queue holds the tenants that wait for a place (P12).
type Queue interface {
	// Add puts a tenant in. Fault: AlreadyExists waiting_exists.
	Add(ctx context.Context, w placement.Waiting) error
	// Get returns a tenant's place in the queue. Fault: NotFound waiting_not_found.
	Get(ctx context.Context, tenant string) (placement.Waiting, error)
	// Remove takes a tenant out. Fault: NotFound waiting_not_found: somebody else took it.
	Remove(ctx context.Context, tenant string) error
	// Oldest returns up to limit tenants, oldest first, then by tenant; of every region when region is empty.
	Oldest(ctx context.Context, region string, limit int) ([]placement.Waiting, error)
}

// Backups hold the last verified backup of each tenant (P11).
type Backups interface {
	// Get returns nil where none is recorded.
	Get(ctx context.Context, tenant string) (*placement.Backup, error)
	// Put records b in place of what was there.
	Put(ctx context.Context, b placement.Backup) error
}
