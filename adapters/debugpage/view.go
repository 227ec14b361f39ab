package debugpage

import (
	"fmt"
	"time"

	"berth/application/relay"
	"berth/domain/fault"
	"berth/domain/placement"
)

// page is what /debug/tenants shows.
type page struct {
	Node    node     `json:"node"`
	Tenants []tenant `json:"tenants"`
}

// reason says why something is denied.
type reason struct {
	Slug   string `json:"slug"`
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"`
}

type node struct {
	Node               string  `json:"node"`
	Region             string  `json:"region"`
	Version            string  `json:"version"`
	Ready              bool    `json:"ready"`
	Why                *reason `json:"why,omitempty"`
	Registered         bool    `json:"registered"`
	Generation         int64   `json:"heartbeat_generation"`
	Sequence           int64   `json:"heartbeat_sequence"`
	BootID             string  `json:"boot_id"`
	StorageID          string  `json:"storage_id"`
	Status             string  `json:"status"`
	LeaseEpoch         int64   `json:"lease_epoch"`
	LeaseLeft          string  `json:"lease_left"`
	SPIFFEID           string  `json:"spiffe_id"`
	Fingerprint        string  `json:"certificate_fingerprint,omitempty"`
	CertificateExpires string  `json:"certificate_expires_at,omitempty"`
	CertificateRenews  string  `json:"certificate_renewed_from,omitempty"`
	CertificateLost    *reason `json:"certificate_lost,omitempty"`
	Skew               string  `json:"clock_skew"`
	AssignmentsVersion int64   `json:"assignments_version"`
	Waiting            int     `json:"tenants_waiting"`
	Guarded            int     `json:"open"`
	Used               int     `json:"tenants_used"`
	Engines            int     `json:"engines_open"`
	Sessions           int     `json:"sessions"`
}

type tenant struct {
	Tenant      string  `json:"tenant"`
	Role        string  `json:"role"`
	State       string  `json:"state"`
	Migration   string  `json:"migration,omitempty"`
	Generation  int64   `json:"generation"`
	Version     int64   `json:"placement_version"`
	Revision    int64   `json:"revision"`
	SnapshotAge string  `json:"snapshot_age,omitempty"`
	Copy        string  `json:"copy"`
	Used        bool    `json:"used"`
	Engine      bool    `json:"engine_open"`
	Sessions    int     `json:"sessions"`
	MayWrite    bool    `json:"may_write"`
	Write       *reason `json:"write_denied,omitempty"`
	MayRead     bool    `json:"may_read"`
	Read        *reason `json:"read_denied,omitempty"`
	Failed      *reason `json:"failed,omitempty"`
}

func nodeOf(s relay.Status) node {
	return node{
		Node: s.Node, Region: s.Region, Version: s.Version, Ready: s.Ready(), Why: reasonOf(s.Why), Registered: s.Registered,
		Generation: s.Generation, Sequence: s.Sequence, BootID: s.BootID, StorageID: s.StorageID, Status: s.NodeStatus,
		LeaseEpoch: s.LeaseEpoch, LeaseLeft: lasting(s.LeaseLeft), SPIFFEID: s.Identity.SPIFFEID, Fingerprint: s.Identity.Fingerprint,
		CertificateExpires: instant(s.Identity.NotAfter), CertificateRenews: instant(s.Identity.RenewAt),
		CertificateLost: reasonOf(s.Identity.Lost), Skew: lasting(s.Skew), AssignmentsVersion: s.AssignmentsVersion,
		Waiting: s.Waiting, Guarded: s.Guarded, Used: s.Rooms, Engines: s.Engines, Sessions: s.Sessions,
	}
}

func tenantOf(t relay.TenantStatus) tenant {
	out := tenant{
		Tenant: t.Tenant, Role: t.Role.String(), State: t.State.String(), Migration: t.Migration, Generation: t.Generation,
		Version: t.Version, Revision: t.Revision, Used: t.Used, Engine: t.Engine, Sessions: t.Sessions, Copy: copyOf(t.Copy), MayWrite: t.Write == nil, Write: reasonOf(t.Write),
		MayRead: t.Read == nil, Read: reasonOf(t.Read), Failed: reasonOf(t.Failed),
	}
	if t.SnapshotAge >= 0 {
		out.SnapshotAge = lasting(t.SnapshotAge)
	}
	return out
}

func copyOf(c placement.Copy) string {
	switch {
	case !c.Present:
		return "none"
	case c.Fenced:
		return fmt.Sprintf("of generation %d, fenced at version %d", c.Stamp, c.FenceVersion)
	}
	return fmt.Sprintf("of generation %d", c.Stamp)
}

// reasonOf shows a refusal without its cause, which is for the log.
func reasonOf(err error) *reason {
	if err == nil {
		return nil
	}
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.Internal && f.Slug != "unexpected_answer" && f.Slug != "engine_damaged" {
		return &reason{Slug: fault.SlugOf(err), Detail: "the node failed; its log says how"}
	}
	return &reason{Slug: f.Slug, Detail: f.Detail, Cure: f.Cure}
}

func lasting(d time.Duration) string { return d.Round(time.Millisecond).String() }

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
