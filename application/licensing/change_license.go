package licensing

import (
	"context"

	"berth/domain/audit"
	"berth/domain/entitlement"
)

// LicenseRequest names a license that something is to be done to.
type LicenseRequest struct {
	Actor   audit.Actor
	License string
}

// AmendRequest changes terms of a license; what is nil stays.
type AmendRequest struct {
	LicenseRequest
	entitlement.Amendment
}

// Amend changes the terms of a license. Terms that are in force already change nothing, and are not audited. Faults: those
// of entitlement.License.Amend; NotFound license_not_found.
func (l *Licensing) Amend(ctx context.Context, in AmendRequest) (entitlement.LicenseRecord, error) {
	return l.change(ctx, in.LicenseRequest, "license.amended", func(_ context.Context, w *work, license *entitlement.License) (bool, error) {
		return license.Amend(in.Amendment, w.now)
	})
}

// Suspend stops all that runs on a license in enforce mode, until Resume. Faults: Conflict license_status_conflict;
// NotFound license_not_found.
func (l *Licensing) Suspend(ctx context.Context, in LicenseRequest) (entitlement.LicenseRecord, error) {
	return l.change(ctx, in, "license.suspended", func(_ context.Context, w *work, license *entitlement.License) (bool, error) {
		return true, license.Suspend(w.now)
	})
}

// Resume ends a suspension. Faults: as of Suspend.
func (l *Licensing) Resume(ctx context.Context, in LicenseRequest) (entitlement.LicenseRecord, error) {
	return l.change(ctx, in, "license.resumed", func(_ context.Context, w *work, license *entitlement.License) (bool, error) {
		return true, license.Resume(w.now)
	})
}

// Revoke stops all that runs on a license, in either mode and for good. Faults: as of Suspend.
func (l *Licensing) Revoke(ctx context.Context, in LicenseRequest) (entitlement.LicenseRecord, error) {
	return l.change(ctx, in, "license.revoked", func(_ context.Context, w *work, license *entitlement.License) (bool, error) {
		return true, license.Revoke(w.now)
	})
}

// RotateKey gives a license another key; the present one is refused from then on. Faults: Conflict license_revoked;
// NotFound license_not_found; those of CreateLicense for the key.
func (l *Licensing) RotateKey(ctx context.Context, in LicenseRequest) (KeyedLicense, error) {
	clear, hash, p, err := l.newKey(ctx, in.License)
	if err != nil {
		return KeyedLicense{}, err
	}
	r, err := l.change(ctx, in, "license.key_rotated", func(ctx context.Context, w *work, license *entitlement.License) (bool, error) {
		if err := license.Rotate(hash, w.now); err != nil {
			return false, err
		}
		return true, l.still(ctx, w, p)
	})
	if err != nil {
		return KeyedLicense{}, err
	}
	return KeyedLicense{License: r, Clear: clear}, nil
}

// change lets do change a license, and audits what it made of it where it says that it changed something.
func (l *Licensing) change(ctx context.Context, in LicenseRequest, action string,
	do func(context.Context, *work, *entitlement.License) (changed bool, err error),
) (entitlement.LicenseRecord, error) {
	var out entitlement.LicenseRecord
	err := l.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		license, err := w.Licenses.Get(ctx, in.License)
		if err != nil {
			return err
		}
		before := withoutHash(license)
		changed, err := do(ctx, w, license)
		out = withoutHash(license)
		if err != nil || !changed {
			return err
		}
		if err := w.changed(ctx, license); err != nil {
			return err
		}
		return w.note(ctx, action, "license/"+in.License, changedDetail(before, out))
	})
	if err != nil {
		return entitlement.LicenseRecord{}, err
	}
	return out, nil
}
