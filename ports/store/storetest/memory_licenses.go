package storetest

import (
	"context"
	"math"

	"berth/domain/entitlement"
	"berth/ports/store"
)

func customerKind() kind[entitlement.Customer, entitlement.Customer] {
	return kind[entitlement.Customer, entitlement.Customer]{
		thing: "customer", tree: func(s *state) *tree[entitlement.Customer] { return &s.customers },
		key:    func(r entitlement.Customer) string { return r.ID },
		record: self[entitlement.Customer], restore: self[entitlement.Customer],
	}
}

type customers struct {
	aggregate[entitlement.Customer, entitlement.Customer]
}

func (c customers) List(_ context.Context, p store.Page) ([]entitlement.Customer, error) {
	return c.page(p, anything)
}

func licenseKind() kind[*entitlement.License, entitlement.LicenseRecord] {
	return kind[*entitlement.License, entitlement.LicenseRecord]{
		thing: "license", tree: func(s *state) *tree[entitlement.LicenseRecord] { return &s.licenses },
		key:    func(r entitlement.LicenseRecord) string { return r.ID },
		record: (*entitlement.License).Record, restore: entitlement.RestoreLicense,
	}
}

type licenses struct {
	aggregate[*entitlement.License, entitlement.LicenseRecord]
}

func (l licenses) List(_ context.Context, customer string, p store.Page) ([]*entitlement.License, error) {
	return l.page(p, func(r entitlement.LicenseRecord) bool { return customer == "" || r.Customer == customer }, customer)
}

type entitlements struct{ *tx }

func entitlementKey(e entitlement.Entitlement) string { return compound(e.License, e.App) }

func (e entitlements) Put(_ context.Context, es []entitlement.Entitlement) error {
	return putAll(e.tx, &e.state.entitlements, es, entitlementKey)
}

func (e entitlements) Get(_ context.Context, license, app string) (entitlement.Entitlement, error) {
	return getOne(e.tx, e.state.entitlements, "entitlement", license, app)
}

func (e entitlements) OfLicense(_ context.Context, license string) ([]entitlement.Entitlement, error) {
	return spanOf(e.tx, e.state.entitlements, license)
}

type wrappedSecrets struct{ *tx }

func (w wrappedSecrets) Create(_ context.Context, name string, wrapped []byte) error {
	return addOne(w.tx, &w.state.wrapped, "wrapped_secret", wrapped, name)
}

func (w wrappedSecrets) Get(_ context.Context, name string) ([]byte, error) {
	return getOne(w.tx, w.state.wrapped, "wrapped_secret", name)
}

// putAll writes records, all or none.
func putAll[R any](t *tx, at *tree[R], records []R, key func(R) string) error {
	if err := t.writing(); err != nil {
		return err
	}
	next := *at
	for _, r := range records {
		r, err := adopt(r)
		if err != nil {
			return err
		}
		next = next.put(key(r), r)
	}
	*at = next
	return nil
}

// addOne adds what never changes.
func addOne[R any](t *tx, at *tree[R], thing string, r R, keys ...string) error {
	if err := t.writing(keys...); err != nil {
		return err
	}
	r, err := adopt(r)
	if err != nil {
		return err
	}
	if at.has(compound(keys...)) {
		return store.Taken(thing)
	}
	*at = at.put(compound(keys...), r)
	return nil
}

func getOne[R any](t *tx, at tree[R], thing string, keys ...string) (none R, err error) {
	if err := t.reading(keys...); err != nil {
		return none, err
	}
	r, found := at.get(compound(keys...))
	if !found {
		return none, store.Missing(thing)
	}
	return own(r), nil
}

// spanOf returns what is kept under the first parts of its key.
func spanOf[R any](t *tx, at tree[R], keys ...string) ([]R, error) {
	if err := t.reading(keys...); err != nil {
		return nil, err
	}
	return owned(at.span(within(keys...), "", math.MaxInt)), nil
}

func owned[R any](from []R) []R {
	for i := range from {
		from[i] = own(from[i])
	}
	return from
}
