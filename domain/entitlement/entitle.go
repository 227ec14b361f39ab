package entitlement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Bounds of a license's apps.
const (
	MaxApps     = 1000 // entitled at a time
	MaxRows     = 4000 // withdrawn ones included, which are never forgotten
	maxVersions = 200  // bytes of a constraint
)

// Entitled is one app that is to be on a license.
type Entitled struct {
	App       string
	ExpiresAt *time.Time // nil: with the license; never is not to be had, and zero is not never
	Versions  string     // semver constraint; empty: any
}

// Entitle makes wanted the apps of the license, and returns the rows to put: those that are new, changed or withdrawn. An
// app that was withdrawn and is wanted again stands as if it never had been off. current is all that is stored of the
// license. Where it already is so there are no rows, and no revision. It names every app that is wrong, as apps[n].
//
// Faults: Invalid invalid_id, app_repeated, versions_invalid, expiry_invalid, too_many_apps; Conflict license_revoked;
// Exhausted revision_exhausted, entitlements_exhausted.
func (l *License) Entitle(current []Entitlement, wanted []Entitled, now time.Time) ([]Entitlement, error) {
	at := ident.Instant(now)
	held := make(map[string]Entitlement, len(current))
	for _, e := range current {
		held[e.App] = e
	}
	if err := checkWanted(held, wanted, at); err != nil {
		return nil, err
	}
	rows := l.rows(held, wanted, at)
	if len(rows) == 0 {
		return nil, nil
	}
	if err := l.canChange(); err != nil {
		return nil, err
	}
	if err := countRows(held, rows); err != nil {
		return nil, err
	}
	l.changed(now)
	return rows, nil
}

// rows returns what differs between what is held and what is wanted, by app.
func (l *License) rows(held map[string]Entitlement, wanted []Entitled, at time.Time) []Entitlement {
	var rows []Entitlement
	stays := make(map[string]bool, len(wanted))
	for _, w := range wanted {
		stays[w.App] = true
		was, known := held[w.App]
		row := Entitlement{License: l.record.ID, App: w.App, ExpiresAt: w.until(), Versions: w.Versions, GrantedAt: at}
		if known {
			row.GrantedAt = was.GrantedAt
		}
		if !known || !row.same(was) {
			rows = append(rows, row)
		}
	}
	for app, was := range held {
		if !stays[app] && was.WithdrawnAt.IsZero() {
			was.WithdrawnAt = at
			rows = append(rows, was)
		}
	}
	slices.SortFunc(rows, func(a, b Entitlement) int { return strings.Compare(a.App, b.App) })
	return rows
}

func checkWanted(held map[string]Entitlement, wanted []Entitled, now time.Time) error {
	if len(wanted) > MaxApps {
		return fault.New(fault.Invalid, "too_many_apps", "a license entitles to at most %d apps", MaxApps).At("apps")
	}
	var errs []*fault.Error
	seen := make(map[string]bool, len(wanted))
	for i, w := range wanted {
		field := fmt.Sprintf("apps[%d]", i)
		errs = append(errs, ident.Check(field+".app", w.App),
			must(!seen[w.App], "app_repeated", field+".app", "each app is named once"),
			w.checkExpiry(field, held[w.App], now), checkVersions(field, w.Versions))
		seen[w.App] = true
	}
	return fault.All(errs...)
}

// checkExpiry lets an expiry that has passed stand where it is in force already, so that what was read can be written.
func (w Entitled) checkExpiry(field string, was Entitlement, now time.Time) *fault.Error {
	if w.ExpiresAt == nil || !was.ExpiresAt.IsZero() && w.until().Equal(was.ExpiresAt) {
		return nil
	}
	if err := checkExpiry(w.until(), now); err != nil {
		return err.At(field + ".expires_at")
	}
	return nil
}

func checkVersions(field, constraint string) *fault.Error {
	if constraint == "" {
		return nil
	}
	bad := fault.New(fault.Invalid, "versions_invalid", `not a range of versions such as ">=1.2.0 <2.0.0", "^1.2.0" or "~1.2.0"`).
		At(field + ".versions")
	if len(constraint) > maxVersions {
		return bad
	}
	if _, err := semver.NewConstraint(constraint); err != nil {
		return bad
	}
	return nil
}

// countRows bounds what a license drags along for ever.
func countRows(held map[string]Entitlement, rows []Entitlement) error {
	total := len(held)
	for _, r := range rows {
		if _, known := held[r.App]; !known {
			total++
		}
	}
	if total > MaxRows {
		return fault.New(fault.Exhausted, "entitlements_exhausted",
			"%d apps have been on this license over time, which is the most there can be", MaxRows).
			Curable("make another license")
	}
	return nil
}

// same compares by the instants, whatever way a store gives them back.
func (e Entitlement) same(o Entitlement) bool {
	return e.License == o.License && e.App == o.App && e.Versions == o.Versions && e.ExpiresAt.Equal(o.ExpiresAt) &&
		e.GrantedAt.Equal(o.GrantedAt) && e.WithdrawnAt.Equal(o.WithdrawnAt)
}

// until is what is kept of an expiry.
func (w Entitled) until() time.Time {
	if w.ExpiresAt == nil {
		return time.Time{}
	}
	return ident.Instant(*w.ExpiresAt)
}
