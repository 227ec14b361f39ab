package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/entitlement"
	port "berth/ports/store"
)

type customerRow struct {
	bun.BaseModel `bun:"table:customers,alias:c"`

	ID        string  `bun:"id,pk"`
	Name      string  `bun:"name"`
	CreatedAt instant `bun:"created_at"`
}

func customerTable() table[entitlement.Customer, customerRow] {
	return table[entitlement.Customer, customerRow]{
		thing: "customer", key: "id",
		row: always(func(v entitlement.Customer) customerRow {
			return customerRow{ID: v.ID, Name: v.Name, CreatedAt: instant(v.CreatedAt)}
		}),
		value: always(func(r customerRow) entitlement.Customer {
			return entitlement.Customer{ID: r.ID, Name: r.Name, CreatedAt: time.Time(r.CreatedAt)}
		}),
	}
}

type customers struct {
	aggregate[entitlement.Customer, customerRow]
}

func (c customers) List(ctx context.Context, p port.Page) ([]entitlement.Customer, error) {
	return c.page(ctx, p, whole)
}

type licenseRow struct {
	bun.BaseModel `bun:"table:licenses,alias:l"`

	ID               string  `bun:"id,pk"`
	Customer         string  `bun:"customer"`
	Environment      string  `bun:"environment"`
	Status           string  `bun:"status"`
	Enforcement      string  `bun:"enforcement"`
	ExpiresAt        instant `bun:"expires_at"`
	Grace            int64   `bun:"grace"` // nanoseconds
	QuotaApps        int64   `bun:"quota_apps"`
	QuotaReplicas    int64   `bun:"quota_replicas"`
	QuotaMilliCPU    int64   `bun:"quota_milli_cpu"`
	QuotaMemoryBytes int64   `bun:"quota_memory_bytes"`
	KeyHash          []byte  `bun:"key_hash"`
	Revision         int64   `bun:"revision"`
	CreatedAt        instant `bun:"created_at"`
	ChangedAt        instant `bun:"changed_at"`
}

func licenseTable() table[*entitlement.License, licenseRow] {
	return table[*entitlement.License, licenseRow]{
		thing: "license", key: "id", row: always(licenseRowOf), value: licenseRow.value,
	}
}

func licenseRowOf(v *entitlement.License) licenseRow {
	r := v.Record()
	return licenseRow{
		ID: r.ID, Customer: r.Customer, Environment: string(r.Environment), Status: string(r.Status),
		Enforcement: string(r.Enforcement), ExpiresAt: instant(r.ExpiresAt), Grace: int64(r.Grace),
		QuotaApps: r.Quota.Apps, QuotaReplicas: r.Quota.Replicas, QuotaMilliCPU: r.Quota.MilliCPU,
		QuotaMemoryBytes: r.Quota.MemoryBytes, KeyHash: r.KeyHash[:], Revision: r.Revision,
		CreatedAt: instant(r.CreatedAt), ChangedAt: instant(r.ChangedAt),
	}
}

func (r licenseRow) value() (*entitlement.License, error) {
	hash, err := bytes32(r.KeyHash)
	return entitlement.RestoreLicense(entitlement.LicenseRecord{
		ID: r.ID, Customer: r.Customer, Environment: entitlement.Environment(r.Environment),
		Status: entitlement.LicenseStatus(r.Status), Enforcement: entitlement.Enforcement(r.Enforcement),
		ExpiresAt: time.Time(r.ExpiresAt), Grace: time.Duration(r.Grace),
		Quota: entitlement.Usage{
			Apps: r.QuotaApps, Replicas: r.QuotaReplicas, MilliCPU: r.QuotaMilliCPU, MemoryBytes: r.QuotaMemoryBytes,
		},
		KeyHash: hash, Revision: r.Revision, CreatedAt: time.Time(r.CreatedAt), ChangedAt: time.Time(r.ChangedAt),
	}), err
}

type licenses struct {
	aggregate[*entitlement.License, licenseRow]
}

func (l licenses) List(ctx context.Context, customer string, p port.Page) ([]*entitlement.License, error) {
	return l.page(ctx, p, matching("customer", customer))
}

// matching is a filter by one column; none where the value is empty.
func matching(column, value string) shape {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if value == "" {
			return q
		}
		return q.Where("? = ?", bun.Ident(column), value)
	}
}

type entitlementRow struct {
	bun.BaseModel `bun:"table:license_apps,alias:e"`

	License     string  `bun:"license,pk"`
	App         string  `bun:"app,pk"`
	ExpiresAt   instant `bun:"expires_at"`
	Versions    string  `bun:"versions"`
	GrantedAt   instant `bun:"granted_at"`
	WithdrawnAt instant `bun:"withdrawn_at"`
}

func entitlementRowOf(v entitlement.Entitlement) entitlementRow {
	return entitlementRow{
		License: v.License, App: v.App, ExpiresAt: instant(v.ExpiresAt), Versions: v.Versions,
		GrantedAt: instant(v.GrantedAt), WithdrawnAt: instant(v.WithdrawnAt),
	}
}

func (r entitlementRow) value() entitlement.Entitlement {
	return entitlement.Entitlement{
		License: r.License, App: r.App, ExpiresAt: time.Time(r.ExpiresAt), Versions: r.Versions,
		GrantedAt: time.Time(r.GrantedAt), WithdrawnAt: time.Time(r.WithdrawnAt),
	}
}

type entitlements struct{ t *Tx }

func (e entitlements) Put(ctx context.Context, es []entitlement.Entitlement) error {
	return put(ctx, e.t, "license, app", each(es, entitlementRowOf), func(r entitlementRow) [3]string {
		return [3]string{r.License, r.App}
	})
}

func (e entitlements) Get(ctx context.Context, license, app string) (entitlement.Entitlement, error) {
	row, found, err := one[entitlementRow](ctx, e.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("license = ?", license).Where("app = ?", app)
	})
	if err == nil && !found {
		return entitlement.Entitlement{}, port.Missing("entitlement")
	}
	return row.value(), err
}

func (e entitlements) OfLicense(ctx context.Context, license string) ([]entitlement.Entitlement, error) {
	rows, err := many[entitlementRow](ctx, e.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("license = ?", license).OrderExpr("app")
	})
	return each(rows, entitlementRow.value), err
}

// put writes rows whether or not there are such, all or none. A key that is named twice is written as named last.
func put[R any](ctx context.Context, t *Tx, key string, rows []R, of func(R) [3]string) error {
	if err := t.writing(); err != nil {
		return err
	}
	at, last := map[[3]string]int{}, make([]R, 0, len(rows))
	for _, row := range rows {
		if i, named := at[of(row)]; named {
			last[i] = row
			continue
		}
		at[of(row)] = len(last)
		last = append(last, row)
	}
	return inParts(last, func(part []R) error { return upsert(ctx, t, key, part) })
}
