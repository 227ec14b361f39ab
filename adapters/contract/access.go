package contract

import "time"

// NewTenant asks for a tenant.
type NewTenant struct {
	ID         string `json:"id" maxLength:"63"`
	HomeRegion string `json:"home_region" maxLength:"63"`
}

// Tenant is a tenant: where it lives and what it may.
type Tenant struct {
	ID            string              `json:"id"`
	HomeRegion    string              `json:"home_region"`
	Status        string              `json:"status" enum:"active,suspended,closed"`
	Placement     *TenantPlacement    `json:"placement" doc:"null while the tenant waits for a place"`
	Authorization TenantAuthorization `json:"authorization"`
	CreatedAt     time.Time           `json:"created_at"`
}

// TenantPlacement is where a tenant lives.
type TenantPlacement struct {
	State      string `json:"state" enum:"active,quiescing,copying,switching,draining"`
	Node       string `json:"node"`
	Generation int64  `json:"generation"`
	Version    int64  `json:"version"`
	Migration  string `json:"migration,omitempty"`
}

// TenantAuthorization is the authorization head of a tenant.
type TenantAuthorization struct {
	Status   string `json:"status" enum:"active,suspended,closed"`
	Revision int64  `json:"revision"`
}

// Tenants is a page of tenants.
type Tenants struct {
	Tenants []Tenant `json:"tenants"`
	Next    string   `json:"next,omitempty"`
}

// NewPairingCode asks for a code that pairs one device.
type NewPairingCode struct {
	Role string `json:"role" enum:"owner,member"`
}

// PairingCode pairs one device, once.
type PairingCode struct {
	Code      string    `json:"code,omitempty" doc:"Shown once"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Principal is a paired device.
type Principal struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind" enum:"phone,desktop"`
	Role      string     `json:"role" enum:"owner,member"`
	Status    string     `json:"status" enum:"active,revoked"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// Principals is a page of principals.
type Principals struct {
	Principals []Principal `json:"principals"`
	Next       string      `json:"next,omitempty"`
}

// NewRoute asks for a route.
type NewRoute struct {
	ID string `json:"id" maxLength:"63"`
}

// TenantRoute is a durable stream of a tenant.
type TenantRoute struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
}

// TenantRoutes is a page of routes.
type TenantRoutes struct {
	Routes []TenantRoute `json:"routes"`
	Next   string        `json:"next,omitempty"`
}

// NodeRevoke is a revoke asked for by a principal through its tenant's node.
type NodeRevoke struct {
	Generation int64  `json:"generation" minimum:"1" maximum:"9007199254740991"`
	AskedBy    string `json:"asked_by" minLength:"1" maxLength:"64"`
}

// Revoked is the answer to a revoke.
type Revoked struct {
	Revision       int64 `json:"revision" doc:"The tenant's authorization revision that carries the revoke"`
	RevokedHandles int   `json:"revoked_handles"`
}

// Snapshot is the whole authorization of a tenant (A2).
type Snapshot struct {
	Tenant           string              `json:"tenant"`
	Generation       int64               `json:"generation"`
	PlacementVersion int64               `json:"placement_version"`
	LeaseEpoch       int64               `json:"lease_epoch" doc:"Of the node that asked"`
	Revision         int64               `json:"revision"`
	Status           string              `json:"status" enum:"active,suspended,closed"`
	State            string              `json:"state" enum:"active,quiescing,copying,switching,draining" doc:"Of the placement"`
	Node             string              `json:"node" doc:"The holder of the placement"`
	Writable         bool                `json:"writable"`
	Principals       []SnapshotPrincipal `json:"principals"`
	Handles          []SnapshotHandle    `json:"handles"`
	Routes           []string            `json:"routes"`
}

// SnapshotPrincipal is a principal in a snapshot or delta.
type SnapshotPrincipal struct {
	ID     string `json:"id"`
	Kind   string `json:"kind" enum:"phone,desktop"`
	Role   string `json:"role" enum:"owner,member"`
	Status string `json:"status" enum:"active,revoked"`
}

// SnapshotHandle is a route handle's digest in a snapshot or delta.
type SnapshotHandle struct {
	SHA256    string `json:"sha256"`
	Principal string `json:"principal"`
	Route     string `json:"route"`
	Status    string `json:"status" enum:"active,revoked"`
}

// Delta is what changed in (from, to] (A3).
type Delta struct {
	From             int64         `json:"from"`
	To               int64         `json:"to"`
	Generation       int64         `json:"generation"`
	PlacementVersion int64         `json:"placement_version"`
	Changes          []DeltaChange `json:"changes"`
}

// DeltaChange is one change: exactly one of its parts is given.
type DeltaChange struct {
	Revision  int64              `json:"revision"`
	Status    string             `json:"status,omitempty"`
	Principal *SnapshotPrincipal `json:"principal,omitempty"`
	Handle    *SnapshotHandle    `json:"handle,omitempty"`
	Route     string             `json:"route,omitempty"`
}

// Poll asks for what changed of many tenants at once (A4).
type Poll struct {
	Tenants []Known `json:"tenants" maxItems:"2000"`
	Wait    int     `json:"wait,omitempty" minimum:"0" maximum:"30" doc:"Seconds to wait for a change"`
}

// Known is what a node believes of a tenant.
type Known struct {
	Tenant     string `json:"tenant" maxLength:"63"`
	Generation int64  `json:"generation" minimum:"0" maximum:"9007199254740991"`
	Revision   int64  `json:"revision" minimum:"0" maximum:"9007199254740991"`
}

// Polled names only the tenants that differ from what the node believes; a tenant left out is unchanged as of sending.
type Polled struct {
	Tenants []PolledTenant `json:"tenants"`
}

// PolledTenant is one tenant that differs.
type PolledTenant struct {
	Tenant     string `json:"tenant"`
	Result     string `json:"result" enum:"delta,snapshot_needed,not_found" doc:"not_found: the node has no part in it"`
	Generation int64  `json:"generation,omitempty,omitzero"`
	Delta      *Delta `json:"delta,omitempty"`
}

// NewDevice pairs a device.
type NewDevice struct {
	PairingCode string `json:"pairing_code" minLength:"1" maxLength:"64"`
	Name        string `json:"name" minLength:"1" maxLength:"100"`
	Kind        string `json:"kind" enum:"phone,desktop"`
	PublicKey   string `json:"public_key" maxLength:"64" doc:"Ed25519 public key, base64url without padding"`
}

// Device is a paired device, with what is shown only once.
type Device struct {
	Principal       string        `json:"principal"`
	Tenant          string        `json:"tenant"`
	RouteHandles    []RouteHandle `json:"route_handles" doc:"Shown once"`
	ConnectionState string        `json:"connection_state" enum:"ready,placing,migrating,node_unavailable,suspended"`
	ConnectURL      string        `json:"connect_url"`
}

// RouteHandle is the capability of one principal on one route.
type RouteHandle struct {
	Route  string `json:"route"`
	Handle string `json:"handle"`
}

// TokenRequest proves the device's key.
type TokenRequest struct {
	Assertion string `json:"assertion" minLength:"1" maxLength:"4096" doc:"A JWT signed by the device's key"`
}

// AccessToken opens the region's origin.
type AccessToken struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Connection says whether and where a device can connect.
type Connection struct {
	ConnectionState string `json:"connection_state" enum:"ready,placing,migrating,node_unavailable,suspended"`
	ConnectURL      string `json:"connect_url"`
}
