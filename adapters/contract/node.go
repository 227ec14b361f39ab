package contract

import "time"

// Register is what a node says when its process starts.
type Register struct {
	BootID    string `json:"boot_id" minLength:"1" maxLength:"64" doc:"New at each start of the process"`
	StorageID string `json:"storage_id" minLength:"1" maxLength:"64" doc:"Written into the data directory once"`
	Version   string `json:"version,omitempty" maxLength:"64"`
	Advertise string `json:"advertise,omitempty" maxLength:"255" doc:"host:port for peers"`
}

// Registered is the answer.
type Registered struct {
	Generation int64 `json:"generation" doc:"The heartbeat generation of this process"`
}

// Heartbeat is a beat.
type Heartbeat struct {
	Generation int64     `json:"generation" minimum:"0" maximum:"9007199254740991"`
	Sequence   int64     `json:"sequence" minimum:"0" maximum:"9007199254740991"`
	Capacity   *Capacity `json:"capacity,omitempty" doc:"The node's own limit; it may lower the operator's, never raise it"`
	Usage      Capacity  `json:"usage,omitzero" required:"false"`
}

// Lease is the answer to a beat.
type Lease struct {
	LeaseMS            int64     `json:"lease_ms" doc:"Count it from when you sent the beat, on a clock that runs on through suspend"`
	LeaseEpoch         int64     `json:"lease_epoch" doc:"Only a snapshot that carries the same epoch permits writing"`
	ServerTime         time.Time `json:"server_time"`
	Status             string    `json:"status" enum:"joining,active,draining,retired"`
	Schedulable        bool      `json:"schedulable"`
	AssignmentsVersion int64     `json:"assignments_version"`
}

// Assignments is all that concerns a node.
type Assignments struct {
	Version    int64        `json:"version"`
	Placements []Assignment `json:"placements"`
}

// Assignment is one tenant that concerns a node.
type Assignment struct {
	Tenant           string             `json:"tenant"`
	Generation       int64              `json:"generation"`
	PlacementVersion int64              `json:"placement_version"`
	State            string             `json:"state" enum:"active,quiescing,copying,switching,draining"`
	Role             string             `json:"role" enum:"owner,source,target"`
	Migration        *AssignedMigration `json:"migration,omitempty"`
}

// AssignedMigration is the migration in flight.
type AssignedMigration struct {
	ID           string `json:"id"`
	State        string `json:"state" enum:"preparing,quiescing,copying,switching,draining"`
	Peer         string `json:"peer" doc:"The other node"`
	ManifestRoot string `json:"manifest_root,omitempty"`
	LastSequence *int64 `json:"last_sequence,omitempty"`
}

// Prepared says that the base was copied ahead.
type Prepared struct {
	Generation   int64 `json:"generation,omitempty,omitzero" minimum:"0" maximum:"9007199254740991"`
	BaseSequence int64 `json:"base_sequence" minimum:"0" maximum:"9007199254740991"`
}

// Quiesced says that every write is refused and drained, and what the snapshot behind the fence is.
type Quiesced struct {
	Generation   int64  `json:"generation" minimum:"1" maximum:"9007199254740991"`
	LastSequence int64  `json:"last_sequence" minimum:"0" maximum:"9007199254740991"`
	ManifestRoot string `json:"manifest_root" maxLength:"64" doc:"64 lower-case hex digits"`
}

// Copied says that the target verified and durably installed that snapshot.
type Copied struct {
	Generation   int64  `json:"generation,omitempty,omitzero" minimum:"0" maximum:"9007199254740991"`
	LastSequence int64  `json:"last_sequence" minimum:"0" maximum:"9007199254740991"`
	ManifestRoot string `json:"manifest_root" maxLength:"64"`
}

// Drained says that the source closed its last connection; it carries the new generation.
type Drained struct {
	Generation int64 `json:"generation" minimum:"1" maximum:"9007199254740991"`
}

// Failed says that a node can not do its step.
type Failed struct {
	Generation int64  `json:"generation,omitempty,omitzero" minimum:"0" maximum:"9007199254740991"`
	Step       string `json:"step" minLength:"1" maxLength:"64"`
	Reason     string `json:"reason" minLength:"1" maxLength:"512"`
}

// NewBackup records a backup.
type NewBackup struct {
	Generation   int64  `json:"generation" minimum:"1" maximum:"9007199254740991"`
	Sequence     int64  `json:"sequence" minimum:"0" maximum:"9007199254740991"`
	ManifestRoot string `json:"manifest_root" maxLength:"64"`
}

// Route is where a tenant's connection goes.
type Route struct {
	Node             string `json:"node"`
	Generation       int64  `json:"generation"`
	PlacementVersion int64  `json:"placement_version" doc:"Never accept a route of a lower one"`
	PeerAddress      string `json:"peer_address"`
	SPIFFEID         string `json:"spiffe_id"`
}

// Peers are the node certificates in force.
type Peers struct {
	Peers []Peer `json:"peers"`
	Next  string `json:"next,omitempty"`
}

// Peer is one certificate in force.
type Peer struct {
	Node        string    `json:"node"`
	SPIFFEID    string    `json:"spiffe_id"`
	Fingerprint string    `json:"fingerprint"`
	ExpiresAt   time.Time `json:"expires_at"`
}
