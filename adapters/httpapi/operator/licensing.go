package operator

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/licensing"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/quantity"
)

type customerOut struct{ Body contract.Customer }

func (d Deps) customers(api huma.API) {
	huma.Register(api, op(identity.RoleOperator, "create-customer", "POST", "/customers", "Define a customer", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewCustomer }) (*customerOut, error) {
			c, err := d.Licensing.CreateCustomer(ctx, licensing.CreateCustomerRequest{Actor: actor(ctx), ID: in.Body.ID, Name: in.Body.Name})
			if err != nil {
				return nil, err
			}
			return &customerOut{contract.Customer(c)}, nil
		})
	huma.Register(api, op(identity.RoleViewer, "list-customers", "GET", "/customers", "List the customers", httpapi.OK),
		func(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Customers }, error) {
			p, err := in.Page()
			if err != nil {
				return nil, err
			}
			list, err := d.Licensing.Customers(ctx, p)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.Customers }{contract.Customers{
				Customers: httpapi.Each(list.Items, func(c entitlement.Customer) contract.Customer { return contract.Customer(c) }),
				Next:      httpapi.Cursor(list.Next),
			}}, nil
		})
	huma.Register(api, op(identity.RoleViewer, "get-customer", "GET", "/customers/{customer}", "Show a customer", httpapi.OK),
		func(ctx context.Context, in *struct {
			Customer string `path:"customer" maxLength:"63"`
		}) (*customerOut, error) {
			c, err := d.Licensing.Customer(ctx, in.Customer)
			if err != nil {
				return nil, err
			}
			return &customerOut{contract.Customer(c)}, nil
		})
}

type licenseOut struct{ Body contract.License }

// LicensePath is a license in a path.
type LicensePath struct {
	License string `path:"license" maxLength:"64"`
}

func (p LicensePath) request(ctx context.Context) licensing.LicenseRequest {
	return licensing.LicenseRequest{Actor: actor(ctx), License: p.License}
}

func (d Deps) licenses(api huma.API) {
	huma.Register(api, showing(op(identity.RoleOperator, "create-license", "POST", "/licenses", "Make a license and its key", httpapi.Created),
		"license_key"), d.createLicense)
	huma.Register(api, op(identity.RoleViewer, "list-licenses", "GET", "/licenses", "List the licenses", httpapi.OK), d.listLicenses)
	huma.Register(api, op(identity.RoleViewer, "get-license", "GET", "/licenses/{license}", "Show a license and what of it is used", httpapi.OK),
		func(ctx context.Context, in *LicensePath) (*licenseOut, error) {
			v, err := d.Licensing.License(ctx, in.License)
			if err != nil {
				return nil, err
			}
			out, used := license(v.License), usage(v.Used)
			out.Used = &used
			return &licenseOut{out}, nil
		})
	huma.Register(api, op(identity.RoleOperator, "change-license", "PATCH", "/licenses/{license}", "Renew a license, or change its terms", httpapi.OK), d.changeLicense)
	huma.Register(api, showing(op(identity.RoleOperator, "rotate-license-key", "POST", "/licenses/{license}/rotate-key",
		"Give a license another key; the present one is refused from then on", httpapi.OK), "license_key"),
		func(ctx context.Context, in *LicensePath) (*licenseOut, error) {
			return keyed(d.Licensing.RotateKey(ctx, in.request(ctx)))
		})
	d.licenseEvents(api)
	d.licenseApps(api)
}

func (d Deps) licenseEvents(api huma.API) {
	for _, e := range []struct {
		role              identity.Role
		id, step, summary string
		do                func(context.Context, licensing.LicenseRequest) (entitlement.LicenseRecord, error)
	}{
		{identity.RoleOperator, "suspend-license", "suspend", "Suspend what runs on a license, in enforce mode", d.Licensing.Suspend},
		{identity.RoleOperator, "resume-license", "resume", "Resume what runs on a license", d.Licensing.Resume},
		{identity.RoleAdmin, "revoke-license", "revoke", "Revoke a license for good", d.Licensing.Revoke},
	} {
		huma.Register(api, op(e.role, e.id, "POST", "/licenses/{license}/"+e.step, e.summary, httpapi.OK),
			func(ctx context.Context, in *LicensePath) (*licenseOut, error) {
				r, err := e.do(ctx, in.request(ctx))
				if err != nil {
					return nil, err
				}
				return &licenseOut{license(r)}, nil
			})
	}
}

func (d Deps) createLicense(ctx context.Context, in *struct{ Body contract.NewLicense }) (*licenseOut, error) {
	q, errQuota := quota(in.Body.Quota)
	g, errGrace := grace(in.Body.Grace)
	if err := fault.All(append(errQuota, errGrace)...); err != nil {
		return nil, err
	}
	return keyed(d.Licensing.CreateLicense(ctx, licensing.CreateLicenseRequest{
		Actor: actor(ctx), Customer: in.Body.Customer, Environment: entitlement.Environment(in.Body.Environment),
		Enforcement: entitlement.Enforcement(in.Body.Enforce), ExpiresAt: in.Body.ExpiresAt, Grace: g, Quota: q,
	}))
}

func (d Deps) changeLicense(ctx context.Context, in *struct {
	LicensePath
	Body contract.LicenseChange
}) (*licenseOut, error) {
	change := licensing.AmendRequest{LicenseRequest: in.request(ctx)}
	change.ExpiresAt = in.Body.ExpiresAt
	var errs []*fault.Error
	if in.Body.Quota != nil {
		q, err := quota(*in.Body.Quota)
		change.Quota, errs = &q, err
	}
	if in.Body.Grace != nil {
		g, err := grace(*in.Body.Grace)
		change.Grace, errs = g, append(errs, err)
	}
	if in.Body.Enforce != nil {
		change.Enforcement = new(entitlement.Enforcement(*in.Body.Enforce))
	}
	if err := fault.All(errs...); err != nil {
		return nil, err
	}
	r, err := d.Licensing.Amend(ctx, change)
	if err != nil {
		return nil, err
	}
	return &licenseOut{license(r)}, nil
}

func (d Deps) listLicenses(ctx context.Context, in *struct {
	httpapi.Paging
	Customer string `query:"customer" maxLength:"63"`
}) (*struct{ Body contract.Licenses }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Licensing.Licenses(ctx, licensing.LicensesRequest{Customer: in.Customer, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Licenses }{contract.Licenses{
		Licenses: httpapi.Each(list.Items, license), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func keyed(k licensing.KeyedLicense, err error) (*licenseOut, error) {
	if err != nil {
		return nil, err
	}
	out := license(k.License)
	out.LicenseKey = k.Clear
	return &licenseOut{out}, nil
}

func license(r entitlement.LicenseRecord) contract.License {
	return contract.License{
		ID: r.ID, Customer: r.Customer, Environment: string(r.Environment), Status: string(r.Status), Enforce: string(r.Enforcement),
		ExpiresAt: r.ExpiresAt, Grace: r.Grace.String(), Quota: contract.Quota(usage(r.Quota)), Revision: r.Revision,
		CreatedAt: r.CreatedAt, ChangedAt: r.ChangedAt,
	}
}

func usage(u entitlement.Usage) contract.MarketUsage {
	return contract.MarketUsage{
		Apps: u.Apps, Replicas: u.Replicas, CPU: quantity.FormatMilliCPU(u.MilliCPU), Memory: quantity.FormatBytes(u.MemoryBytes),
	}
}

// quota reads the quantities; what they may be is for the domain to say.
func quota(q contract.Quota) (entitlement.Usage, []*fault.Error) {
	cpu, errCPU := quantity.MilliCPU(q.CPU)
	memory, errMemory := quantity.Bytes(q.Memory)
	return entitlement.Usage{Apps: q.Apps, Replicas: q.Replicas, MilliCPU: cpu, MemoryBytes: memory},
		[]*fault.Error{named(errCPU, "quota.cpu"), named(errMemory, "quota.memory")}
}

func named(err *fault.Error, field string) *fault.Error {
	if err == nil {
		return nil
	}
	return err.At(field)
}

// grace reads a duration; nil where none is said.
func grace(text string) (*time.Duration, *fault.Error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "grace_invalid", "this is no duration").At("grace").Curable("write it like 72h or 30m; 0s is none")
	}
	return &d, nil
}
