package contract

import "time"

// Capacity is room for tenants, or use by them. Zero is no room.
type Capacity struct {
	Tenants int64 `json:"tenants" minimum:"0" maximum:"9007199254740991"`
	Bytes   int64 `json:"bytes" minimum:"0" maximum:"9007199254740991"`
}

// NewRegion asks for a region.
type NewRegion struct {
	ID     string `json:"id" doc:"1 to 63 of a-z, 0-9 and -" maxLength:"63"`
	Origin string `json:"origin" doc:"https://host[:port]: where the region's devices connect" maxLength:"255"`
}

// Region is a region.
type Region struct {
	ID        string    `json:"id"`
	Origin    string    `json:"origin"`
	CreatedAt time.Time `json:"created_at"`
}

// Regions is a page of regions.
type Regions struct {
	Regions []Region `json:"regions"`
	Next    string   `json:"next,omitempty" doc:"Give it as cursor to go on"`
}

// NewNode asks for a node.
type NewNode struct {
	ID       string   `json:"id" maxLength:"63"`
	Region   string   `json:"region" maxLength:"63"`
	Capacity Capacity `json:"capacity"`
}

// NodeChange changes a node; what is absent stays.
type NodeChange struct {
	Schedulable *bool     `json:"schedulable,omitempty" doc:"false cordons: nothing new is placed, nothing is moved"`
	Capacity    *Capacity `json:"capacity,omitempty"`
}

// Node is a relay node.
type Node struct {
	ID                 string        `json:"id"`
	Region             string        `json:"region"`
	Status             string        `json:"status" enum:"joining,active,draining,retired"`
	Schedulable        bool          `json:"schedulable"`
	Capacity           Capacity      `json:"capacity" doc:"What the operator allows"`
	Tenants            int64         `json:"tenants" doc:"Placements it holds"`
	Inbound            int64         `json:"inbound" doc:"Migrations bound for it"`
	Usage              Capacity      `json:"usage" doc:"What the node last reported"`
	Reported           *Capacity     `json:"reported_capacity,omitempty" doc:"The node's own limit, where it gave one"`
	Advertise          string        `json:"advertise,omitempty"`
	Version            string        `json:"version,omitempty"`
	Heartbeat          NodeHeartbeat `json:"heartbeat"`
	Lease              NodeLease     `json:"lease"`
	AssignmentsVersion int64         `json:"assignments_version"`
	CreatedAt          time.Time     `json:"created_at"`
}

// NodeHeartbeat is the last beat of a node.
type NodeHeartbeat struct {
	Generation int64      `json:"generation" doc:"0 before the first registration"`
	Sequence   int64      `json:"sequence"`
	At         *time.Time `json:"at,omitempty" doc:"By the wall clock of the server that took it; no rule reads it"`
}

// NodeLease is the node lease.
type NodeLease struct {
	State string `json:"state" enum:"live,lapsed" doc:"lapsed also before the first beat"`
	Epoch int64  `json:"epoch"`
}

// Nodes is a page of nodes.
type Nodes struct {
	Nodes []Node `json:"nodes"`
	Next  string `json:"next,omitempty"`
}

// NewMigration asks for a move.
type NewMigration struct {
	TargetNode string `json:"target_node" maxLength:"63"`
	Rehome     string `json:"rehome,omitempty" maxLength:"63" doc:"The target's region, when it is not the tenant's home"`
}

// NewRecover asks to move a tenant off a node that is lost.
type NewRecover struct {
	LostNode       string `json:"lost_node" maxLength:"63"`
	Generation     int64  `json:"generation" minimum:"1" maximum:"9007199254740991" doc:"Of the placement, as you saw it"`
	TargetNode     string `json:"target_node" maxLength:"63"`
	Backup         string `json:"backup,omitempty" maxLength:"64" doc:"Manifest root of the backup you mean"`
	AcceptDataLoss bool   `json:"accept_data_loss" doc:"true: what was written after the last backup may go"`
}

// Migration is a move.
type Migration struct {
	ID         string           `json:"id"`
	Tenant     string           `json:"tenant"`
	Kind       string           `json:"kind" enum:"move,recover"`
	SourceNode string           `json:"source_node"`
	TargetNode string           `json:"target_node"`
	Rehome     string           `json:"rehome,omitempty"`
	State      string           `json:"state" enum:"preparing,quiescing,copying,switching,draining,done,aborted,failed"`
	Generation int64            `json:"generation" doc:"Of the placement before the switch"`
	StartedAt  time.Time        `json:"started_at"`
	ChangedAt  time.Time        `json:"changed_at"`
	EndedAt    *time.Time       `json:"ended_at,omitempty"`
	Deadline   *time.Time       `json:"deadline,omitempty" doc:"Of the present step"`
	Steps      []MigrationStep  `json:"steps"`
	Failure    *MigrationFailed `json:"failure,omitempty"`
	DataLoss   *DataLoss        `json:"data_loss,omitempty" doc:"Of a recover"`
}

// MigrationStep is one thing that happened to a migration.
type MigrationStep struct {
	Name   string    `json:"name"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// MigrationFailed says where a migration failed and why.
type MigrationFailed struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

// DataLoss is the window that a recover loses.
type DataLoss struct {
	LastBackupAt time.Time `json:"last_backup_at"`
	LastSequence int64     `json:"last_sequence"`
}

// Migrations is a page of migrations.
type Migrations struct {
	Migrations []Migration `json:"migrations"`
	Next       string      `json:"next,omitempty"`
}

// PlacementQueue is who waits for a place, oldest first.
type PlacementQueue struct {
	Waiting []Waiting `json:"waiting"`
}

// Waiting is a tenant that no node could take yet.
type Waiting struct {
	Tenant string    `json:"tenant"`
	Region string    `json:"region"`
	Since  time.Time `json:"since"`
}
