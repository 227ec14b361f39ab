package licensing

import (
	"context"

	"berth/domain/entitlement"
	"berth/ports/store"
)

// LicenseView is a license and what all its deployments use of its quota.
type LicenseView struct {
	License entitlement.LicenseRecord // without the hash of its key
	Used    entitlement.Usage
}

// License returns a license. Fault: NotFound license_not_found.
func (l *Licensing) License(ctx context.Context, id string) (LicenseView, error) {
	var out LicenseView
	err := l.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		license, err := r.Licenses.Get(ctx, id)
		if err != nil {
			return err
		}
		out.License = withoutHash(license)
		out.Used, err = r.DesiredStates.Usage(ctx, id)
		return err
	})
	if err != nil {
		return LicenseView{}, err
	}
	return out, nil
}

// LicensesRequest asks for the licenses of a customer; of every customer where it is empty.
type LicensesRequest struct {
	Customer string
	Page     store.Page
}

// Licenses lists licenses without the hashes of their keys, by id.
func (l *Licensing) Licenses(ctx context.Context, in LicensesRequest) (store.List[entitlement.LicenseRecord], error) {
	var out store.List[entitlement.LicenseRecord]
	err := l.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		page, err := store.Listed(in.Page, func(p store.Page) ([]*entitlement.License, error) {
			return r.Licenses.List(ctx, in.Customer, p)
		}, func(l *entitlement.License) string { return l.Record().ID })
		out = store.List[entitlement.LicenseRecord]{Next: page.Next}
		for _, license := range page.Items {
			out.Items = append(out.Items, withoutHash(license))
		}
		return err
	})
	return out, err
}
