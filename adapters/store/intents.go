package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/delivery"
	port "berth/ports/store"
)

type intentRow struct {
	bun.BaseModel `bun:"table:intents,alias:i"`

	ID        string  `bun:"id,pk"`
	InstallID string  `bun:"install_id"`
	License   string  `bun:"license"`
	App       string  `bun:"app"`
	Action    string  `bun:"action"`
	Version   string  `bun:"version"`
	From      string  `bun:"from_version"`
	State     string  `bun:"state"`
	Revision  int64   `bun:"revision"`
	Waived    string  `bun:"waived"` // JSON
	Detail    string  `bun:"detail"`
	CreatedAt instant `bun:"created_at"`
	ChangedAt instant `bun:"changed_at"`
	EndedAt   instant `bun:"ended_at"`
}

func intentTable() table[*delivery.Intent, intentRow] {
	return table[*delivery.Intent, intentRow]{thing: "intent", key: "id", row: intentRowOf, value: intentRow.value}
}

func intentRowOf(v *delivery.Intent) (intentRow, error) {
	r := v.Record()
	var d document
	return intentRow{
		ID: r.ID, InstallID: r.InstallID, License: r.License, App: r.App, Action: string(r.Action), Version: r.Version,
		From: r.From, State: string(r.State), Revision: r.Revision, Waived: writeList(&d, r.Waived), Detail: r.Detail,
		CreatedAt: instant(r.CreatedAt), ChangedAt: instant(r.ChangedAt), EndedAt: instant(r.EndedAt),
	}, d.err
}

func (r intentRow) value() (*delivery.Intent, error) {
	var d document
	return delivery.RestoreIntent(delivery.IntentRecord{
		ID: r.ID, InstallID: r.InstallID, License: r.License, App: r.App, Action: delivery.Action(r.Action),
		Version: r.Version, From: r.From, State: delivery.IntentState(r.State), Revision: r.Revision,
		Waived: readList[string](&d, r.Waived), Detail: r.Detail, CreatedAt: time.Time(r.CreatedAt),
		ChangedAt: time.Time(r.ChangedAt), EndedAt: time.Time(r.EndedAt),
	}), d.err
}

type intents struct {
	aggregate[*delivery.Intent, intentRow]
}

func (i intents) OfInstall(ctx context.Context, install, before string, limit int) ([]*delivery.Intent, error) {
	return i.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		if before != "" {
			q = q.Where("id < ?", before)
		}
		return q.Where("install_id = ?", install).OrderExpr("id DESC").Limit(int64(max(limit, 1)))
	})
}

func (i intents) InFlight(ctx context.Context, install string) ([]*delivery.Intent, error) {
	return i.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("install_id = ?", install).Where("ended_at IS NULL").OrderExpr("id")
	})
}

type packageRow struct {
	bun.BaseModel `bun:"table:delivery_packages,alias:p"`

	ID            string  `bun:"id,pk"`
	InstallID     string  `bun:"install_id"`
	Revision      int64   `bun:"revision"`
	ContentSHA256 string  `bun:"content_sha256"`
	ContentSize   int64   `bun:"content_size"`
	CreatedAt     instant `bun:"created_at"`
	ApplyBefore   instant `bun:"apply_before"`
	ExpiresAt     instant `bun:"expires_at"`
	FetchedAt     instant `bun:"fetched_at"`
}

func packageTable() table[delivery.PackageRecord, packageRow] {
	return table[delivery.PackageRecord, packageRow]{
		thing: "package", key: "id",
		row: always(func(v delivery.PackageRecord) packageRow {
			return packageRow{
				ID: v.ID, InstallID: v.InstallID, Revision: v.Revision, ContentSHA256: v.Content.SHA256,
				ContentSize: v.Content.Size, CreatedAt: instant(v.CreatedAt), ApplyBefore: instant(v.ApplyBefore),
				ExpiresAt: instant(v.ExpiresAt), FetchedAt: instant(v.FetchedAt),
			}
		}),
		value: always(func(r packageRow) delivery.PackageRecord {
			return delivery.PackageRecord{
				ID: r.ID, InstallID: r.InstallID, Revision: r.Revision,
				Content:   delivery.Blob{SHA256: r.ContentSHA256, Size: r.ContentSize},
				CreatedAt: time.Time(r.CreatedAt), ApplyBefore: time.Time(r.ApplyBefore), ExpiresAt: time.Time(r.ExpiresAt),
				FetchedAt: time.Time(r.FetchedAt),
			}
		}),
	}
}

type packages struct {
	aggregate[delivery.PackageRecord, packageRow]
}

func (p packages) OfInstall(ctx context.Context, install string, at port.Page) ([]delivery.PackageRecord, error) {
	return p.page(ctx, at, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("install_id = ?", install) })
}
