package entitlement

import "time"

// Customer is who holds licenses.
type Customer struct {
	ID        string // ident.Check
	Name      string
	CreatedAt time.Time
}

// Environment is what a license is for. What it entitles to may differ between the two.
type Environment string

// The environments.
const (
	Production  Environment = "PROD"
	Development Environment = "DEV"
)

// Enforcement says what becomes of a commercial rule that is not met: refused, or recorded and let pass (E4). What can
// not run never passes.
type Enforcement string

// The modes.
const (
	Enforce Enforcement = "enforce"
	Observe Enforcement = "observe"
)

// LicenseStatus is where a license stands, whatever its expiry.
type LicenseStatus string

// The statuses. Revoked is final.
const (
	LicenseActive    LicenseStatus = "active"
	LicenseSuspended LicenseStatus = "suspended"
	LicenseRevoked   LicenseStatus = "revoked"
)

// Usage is what runs, or may run at most: apps, replicas, and replicas × max(requests, limits) (DESIGN §14). It holds
// what is suspended, too: that comes back as it was.
type Usage struct {
	Apps        int64
	Replicas    int64
	MilliCPU    int64
	MemoryBytes int64
}

// LicenseRecord is what is kept of a license: never its key (E1).
type LicenseRecord struct {
	ID          string // lic_…
	Customer    string
	Environment Environment
	Status      LicenseStatus
	Enforcement Enforcement
	ExpiresAt   time.Time     // never zero
	Grace       time.Duration // how long after an expiry, or a withdrawal, apps go on running
	Quota       Usage         // of all deployments of the license together; every part is at least 1
	KeyHash     [32]byte      // HMAC-SHA256 of the clear key under the pepper
	Revision    int64         // raised by one with every change of the license or of its apps
	CreatedAt   time.Time
	ChangedAt   time.Time
}

// Entitlement is one app on a license (license_apps). An app that was taken off stays as withdrawn, so that what runs of
// it ends after the grace and not at once; put on again, it stands as if it never had been off.
type Entitlement struct {
	License     string
	App         string
	ExpiresAt   time.Time // zero: with the license
	Versions    string    // semver constraint; empty: any
	GrantedAt   time.Time
	WithdrawnAt time.Time // zero while it is on the license
}
