package apiclient

import (
	"context"
	"net/http"

	"berth/adapters/contract"
)

// CreateCustomer defines a customer.
func (o Operator) CreateCustomer(ctx context.Context, in contract.NewCustomer) (contract.Customer, error) {
	return post[contract.Customer](ctx, o.c, api+"/customers", in)
}

// Customer shows a customer.
func (o Operator) Customer(ctx context.Context, customer string) (contract.Customer, error) {
	return get[contract.Customer](ctx, o.c, api+"/customers"+seg(customer), nil)
}

// Customers lists customers by id.
func (o Operator) Customers(ctx context.Context, p Page) (contract.Customers, error) {
	return get[contract.Customers](ctx, o.c, api+"/customers", p.query())
}

// CreateLicense makes a license; the answer shows its key once.
func (o Operator) CreateLicense(ctx context.Context, in contract.NewLicense) (contract.License, error) {
	return post[contract.License](ctx, o.c, api+"/licenses", in)
}

// License shows a license and what is used of it.
func (o Operator) License(ctx context.Context, license string) (contract.License, error) {
	return get[contract.License](ctx, o.c, api+"/licenses"+seg(license), nil)
}

// Licenses lists licenses by id: those of a customer, or all where customer is empty.
func (o Operator) Licenses(ctx context.Context, customer string, p Page) (contract.Licenses, error) {
	q := p.query()
	if customer != "" {
		q.Set("customer", customer)
	}
	return get[contract.Licenses](ctx, o.c, api+"/licenses", q)
}

// ChangeLicense renews a license or changes its terms.
func (o Operator) ChangeLicense(ctx context.Context, license string, in contract.LicenseChange) (contract.License, error) {
	return send[contract.License](ctx, o.c, http.MethodPatch, api+"/licenses"+seg(license), in)
}

// RotateLicenseKey makes another key of a license and ends the one before; the answer shows it once.
func (o Operator) RotateLicenseKey(ctx context.Context, license string) (contract.License, error) {
	return post[contract.License](ctx, o.c, api+"/licenses"+seg(license)+"/rotate-key", nil)
}

// SuspendLicense suspends a license, and at once what runs by it.
func (o Operator) SuspendLicense(ctx context.Context, license string) (contract.License, error) {
	return post[contract.License](ctx, o.c, api+"/licenses"+seg(license)+"/suspend", nil)
}

// ResumeLicense ends a suspension.
func (o Operator) ResumeLicense(ctx context.Context, license string) (contract.License, error) {
	return post[contract.License](ctx, o.c, api+"/licenses"+seg(license)+"/resume", nil)
}

// RevokeLicense ends a license for good.
func (o Operator) RevokeLicense(ctx context.Context, license string) (contract.License, error) {
	return post[contract.License](ctx, o.c, api+"/licenses"+seg(license)+"/revoke", nil)
}

// LicenseApps shows the apps of a license.
func (o Operator) LicenseApps(ctx context.Context, license string) (contract.EntitledApps, error) {
	return get[contract.EntitledApps](ctx, o.c, api+"/licenses"+seg(license)+"/apps", nil)
}

// SetLicenseApps says which apps are on a license, as a whole.
func (o Operator) SetLicenseApps(ctx context.Context, license string, in contract.LicenseApps) (contract.EntitledApps, error) {
	return send[contract.EntitledApps](ctx, o.c, http.MethodPut, api+"/licenses"+seg(license)+"/apps", in)
}
