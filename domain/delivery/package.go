package delivery

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// The bounds of a package's life.
const (
	MinPackageLife = time.Minute
	MaxPackageLife = 30 * 24 * time.Hour
)

// PackagePlan describes a package that is to be (K1).
type PackagePlan struct {
	ID        string
	InstallID string
	Revision  int64
	Content   Blob
	ApplyIn   time.Duration // how long the enrolment token within works
	FetchIn   time.Duration // how long the link works
}

// NewPackage makes a package that was not fetched yet. Invalid, each problem named: expiry_out_of_range for a life
// outside MinPackageLife to MaxPackageLife; package_revision_missing where nothing was signed yet.
func NewPackage(p PackagePlan, now time.Time) (PackageRecord, error) {
	now = ident.Instant(now)
	if err := fault.All(
		checkLife("apply_within", p.ApplyIn), checkLife("fetch_within", p.FetchIn), checkPackaged(p),
	); err != nil {
		return PackageRecord{}, err
	}
	return PackageRecord{
		ID: p.ID, InstallID: p.InstallID, Revision: p.Revision, Content: p.Content, CreatedAt: now,
		ApplyBefore: now.Add(p.ApplyIn), ExpiresAt: now.Add(p.FetchIn),
	}, nil
}

// Fetch notes that the link was used. Gone package_fetched, package_expired: expiry is checked here, at use.
func (p PackageRecord) Fetch(now time.Time) (PackageRecord, error) {
	switch {
	case !p.FetchedAt.IsZero():
		return p, gonePackage("package_fetched", "the link was used already")
	case !now.Before(p.ExpiresAt):
		return p, gonePackage("package_expired", "the link has expired")
	}
	p.FetchedAt = ident.Instant(now)
	return p, nil
}

func gonePackage(slug, detail string) error {
	return fault.New(fault.Gone, slug, "%s", detail).Curable("ask for a new package")
}

func checkLife(field string, life time.Duration) *fault.Error {
	if life >= MinPackageLife && life <= MaxPackageLife {
		return nil
	}
	return fault.New(fault.Invalid, "expiry_out_of_range", "must lie between %s and %s", MinPackageLife, MaxPackageLife).At(field)
}

func checkPackaged(p PackagePlan) *fault.Error {
	if p.Revision > 0 && p.Content.Size > 0 {
		return nil
	}
	return fault.New(fault.Invalid, "package_revision_missing", "there is no desired state to put into a package yet")
}
