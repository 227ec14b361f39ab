package entitlement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Bounds of a license's times.
const (
	DefaultGrace = 7 * 24 * time.Hour
	MaxGrace     = 10 * 365 * 24 * time.Hour
	maxYears     = 100 // that an expiry may be ahead
)

type event string

const (
	suspend event = "suspend"
	resume  event = "resume"
	revoke  event = "revoke"
)

// edges is the machine of a license's status; revoked is final.
var edges = []struct { //nolint:gochecknoglobals // the state machine
	from  LicenseStatus
	event event
	to    LicenseStatus
}{
	{LicenseActive, suspend, LicenseSuspended},
	{LicenseSuspended, resume, LicenseActive},

	{LicenseActive, revoke, LicenseRevoked},
	{LicenseSuspended, revoke, LicenseRevoked},
}

// Edge is one line of a state diagram.
type Edge struct{ From, Event, To string }

// Diagram is the state machine of a license's status.
func Diagram() []Edge {
	out := make([]Edge, 0, len(edges))
	for _, e := range edges {
		out = append(out, Edge{string(e.from), string(e.event), string(e.to)})
	}
	return out
}

// License is a customer's license. Whether its key is the right one, what it entitles to and until when, is asked of it.
type License struct{ record LicenseRecord }

// LicenseSpec describes a license to be made.
type LicenseSpec struct {
	ID          string // given by the control plane
	Customer    string
	Environment Environment
	Enforcement Enforcement
	ExpiresAt   time.Time     // after now, at most 100 years ahead; never is not to be had, and zero is not never
	Grace       time.Duration // whole seconds, up to MaxGrace; zero is none
	Quota       Usage         // every part at least 1
	KeyHash     [32]byte
}

// NewLicense makes an active license at revision 1. It names every field that is wrong. Faults: Invalid invalid_id,
// environment_invalid, enforce_invalid, expiry_invalid, grace_invalid, out_of_range; Internal license_key_missing.
func NewLicense(s LicenseSpec, now time.Time) (*License, error) {
	if s.KeyHash == [32]byte{} {
		return nil, fault.New(fault.Internal, "license_key_missing", "a license without a key can not be made")
	}
	at := ident.Instant(now)
	s.ExpiresAt = ident.Instant(s.ExpiresAt)
	if err := s.check(at); err != nil {
		return nil, err
	}
	return &License{LicenseRecord{
		ID: s.ID, Customer: s.Customer, Environment: s.Environment, Status: LicenseActive, Enforcement: s.Enforcement,
		ExpiresAt: s.ExpiresAt, Grace: s.Grace, Quota: s.Quota, KeyHash: s.KeyHash,
		Revision: 1, CreatedAt: at, ChangedAt: at,
	}}, nil
}

// RestoreLicense makes a license of what was stored.
func RestoreLicense(record LicenseRecord) *License { return &License{record} }

// Record returns what is to be stored.
func (l *License) Record() LicenseRecord { return l.record }

func (s LicenseSpec) check(now time.Time) error {
	return together(
		fault.All(
			must(made(s.ID), "invalid_id", "id", "an id is 1 to 63 of a-z, 0-9 and '_'"),
			ident.Check("customer", s.Customer),
			must(s.Environment == Production || s.Environment == Development, "environment_invalid", "environment",
				`must be "PROD" or "DEV"`),
			checkEnforcement(s.Enforcement), checkExpiry(s.ExpiresAt, now), checkGrace(s.Grace)),
		checkQuota(s.Quota))
}

// together flattens faults that may hold several parts into one that names each.
func together(errs ...error) error {
	var all []*fault.Error
	for _, err := range errs {
		f, ok := fault.As(err)
		switch {
		case !ok:
		case len(f.Errors) > 0:
			all = append(all, f.Errors...)
		default:
			all = append(all, f)
		}
	}
	return fault.All(all...)
}

func checkEnforcement(e Enforcement) *fault.Error {
	return must(e == Enforce || e == Observe, "enforce_invalid", "enforce", `must be "enforce" or "observe"`)
}

func checkExpiry(at, now time.Time) *fault.Error {
	ok := at.After(now) && !at.After(now.AddDate(maxYears, 0, 0))
	return must(ok, "expiry_invalid", "expires_at", "must lie ahead, and at most 100 years")
}

func checkGrace(d time.Duration) *fault.Error {
	ok := d >= 0 && d <= MaxGrace && d%time.Second == 0
	return must(ok, "grace_invalid", "grace", `must be whole seconds between "0s" and "87600h"`)
}

// Amendment is what is to be changed of a license's terms; nil leaves a term as it is.
type Amendment struct {
	ExpiresAt   *time.Time
	Grace       *time.Duration
	Enforcement *Enforcement
	Quota       *Usage
}

// Amend changes terms, and says whether that changed anything: terms that are in force already make no revision, also
// an expiry that has passed. Renewing is amending the expiry. Faults: those of NewLicense; Conflict license_revoked;
// Exhausted revision_exhausted.
func (l *License) Amend(a Amendment, now time.Time) (changed bool, err error) {
	to, err := a.apply(l.record, ident.Instant(now))
	if err != nil {
		return false, err
	}
	if to == l.record {
		return false, nil
	}
	if err := l.canChange(); err != nil {
		return false, err
	}
	l.record = to
	l.changed(now)
	return true, nil
}

func (a Amendment) apply(r LicenseRecord, now time.Time) (LicenseRecord, error) {
	var expiry, grace, enforcement *fault.Error
	var quota error
	if a.ExpiresAt != nil && !a.ExpiresAt.Equal(r.ExpiresAt) {
		r.ExpiresAt = ident.Instant(*a.ExpiresAt)
		expiry = checkExpiry(r.ExpiresAt, now)
	}
	if a.Grace != nil {
		r.Grace = *a.Grace
		grace = checkGrace(r.Grace)
	}
	if a.Enforcement != nil {
		r.Enforcement = *a.Enforcement
		enforcement = checkEnforcement(r.Enforcement)
	}
	if a.Quota != nil {
		r.Quota = *a.Quota
		quota = checkQuota(r.Quota)
	}
	return r, together(fault.All(expiry, grace, enforcement), quota)
}

// Rotate puts another key in place of the present one, which is refused from then on. Faults: Conflict license_revoked;
// Exhausted revision_exhausted; Internal license_key_missing.
func (l *License) Rotate(hash [32]byte, now time.Time) error {
	if hash == ([32]byte{}) {
		return fault.New(fault.Internal, "license_key_missing", "a license without a key can not be made")
	}
	if err := l.canChange(); err != nil {
		return err
	}
	l.record.KeyHash = hash
	l.changed(now)
	return nil
}

// Suspend stops in enforce mode all that runs on the license, until Resume. Faults: Conflict license_status_conflict;
// Exhausted revision_exhausted.
func (l *License) Suspend(now time.Time) error { return l.step(suspend, now) }

// Resume ends a suspension. Faults: Conflict license_status_conflict; Exhausted revision_exhausted.
func (l *License) Resume(now time.Time) error { return l.step(resume, now) }

// Revoke stops all that runs on the license, in either mode and for good. Faults: Conflict license_status_conflict;
// Exhausted revision_exhausted.
func (l *License) Revoke(now time.Time) error { return l.step(revoke, now) }

func (l *License) step(e event, now time.Time) error {
	for _, edge := range edges {
		if edge.from == l.record.Status && edge.event == e {
			if err := l.countable(); err != nil {
				return err
			}
			l.record.Status = edge.to
			l.changed(now)
			return nil
		}
	}
	return fault.New(fault.Conflict, "license_status_conflict", "a license that is %s has no step %q", l.record.Status, e)
}

// canChange refuses to change what is final.
func (l *License) canChange() error {
	if l.record.Status == LicenseRevoked {
		return fault.New(fault.Conflict, "license_revoked", "the license is revoked, which is final").
			Curable("make another license")
	}
	return l.countable()
}

func (l *License) countable() error {
	if l.record.Revision >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "revision_exhausted", "the license's revision can not grow any more")
	}
	return nil
}

func (l *License) changed(now time.Time) {
	l.record.Revision++
	l.record.ChangedAt = ident.Instant(now)
}
