package market

import (
	"context"

	"berth/domain/entitlement"
	"berth/ports/store"
)

// License is the caller's license with what all of its deployments use of the quota.
type License struct {
	entitlement.LicenseRecord // without the hash of the key
	Used                      entitlement.Usage
	Apps                      int // on the license
}

// License returns the caller's license.
func (m *Market) License(ctx context.Context, c Caller) (License, error) {
	var out License
	err := m.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		license, err := r.Licenses.Get(ctx, c.license)
		if err != nil {
			return err
		}
		out = License{LicenseRecord: license.Record()}
		out.KeyHash = [32]byte{}
		if out.Used, err = r.DesiredStates.Usage(ctx, c.license); err != nil {
			return err
		}
		list, err := r.Entitlements.OfLicense(ctx, c.license)
		out.Apps = len(facts{entitlements: list}.listed())
		return err
	})
	return out, err
}
