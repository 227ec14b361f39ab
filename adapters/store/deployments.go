package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/delivery"
	port "berth/ports/store"
)

type deploymentRow struct {
	bun.BaseModel `bun:"table:deployments,alias:d"`

	InstallID    string  `bun:"install_id,pk"`
	License      string  `bun:"license"`
	ReviewAt     instant `bun:"review_at"`
	Customer     string  `bun:"customer"`
	Namespace    string  `bun:"namespace"`
	ConfigMaps   bool    `bun:"config_maps"`
	GateOpen     bool    `bun:"gate_open"`
	GateNote     string  `bun:"gate_note"`
	CreatedAt    instant `bun:"created_at"`
	ChangedAt    instant `bun:"changed_at"`
	IngressHosts string  `bun:"ingress_hosts"`     // JSON
	Selected     string  `bun:"selected_services"` // JSON
}

func deploymentTable() table[*delivery.Deployment, deploymentRow] {
	return table[*delivery.Deployment, deploymentRow]{
		thing: "deployment", key: "install_id", row: deploymentRowOf, value: deploymentRow.value,
	}
}

func deploymentRowOf(v *delivery.Deployment) (deploymentRow, error) {
	r := v.Record()
	var d document
	return deploymentRow{
		InstallID: r.InstallID, License: r.License, ReviewAt: instant(r.ReviewAt), Customer: r.Customer,
		Namespace: r.Namespace, ConfigMaps: r.ConfigMaps, GateOpen: r.GateOpen, GateNote: r.GateNote,
		CreatedAt: instant(r.CreatedAt), ChangedAt: instant(r.ChangedAt),
		IngressHosts: writeList(&d, r.IngressHosts), Selected: writeList(&d, each(r.Selected, choiceFormOf)),
	}, d.err
}

func (r deploymentRow) value() (*delivery.Deployment, error) {
	var d document
	return delivery.RestoreDeployment(delivery.DeploymentRecord{
		InstallID: r.InstallID, Customer: r.Customer, License: r.License, Namespace: r.Namespace,
		IngressHosts: readList[string](&d, r.IngressHosts), ConfigMaps: r.ConfigMaps,
		Selected: each(readList[choiceForm](&d, r.Selected), choiceForm.value), GateOpen: r.GateOpen, GateNote: r.GateNote,
		ReviewAt: time.Time(r.ReviewAt), CreatedAt: time.Time(r.CreatedAt), ChangedAt: time.Time(r.ChangedAt),
	}), d.err
}

type deployments struct {
	aggregate[*delivery.Deployment, deploymentRow]
}

func (d deployments) List(ctx context.Context, license string, p port.Page) ([]*delivery.Deployment, error) {
	return d.page(ctx, p, matching("license", license))
}

func (d deployments) Due(ctx context.Context, now time.Time, limit int) ([]*delivery.Deployment, error) {
	return d.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("review_at <= ?", micros(now)).OrderExpr("review_at, install_id").Limit(int64(max(limit, 1)))
	})
}

func (d deployments) Review(ctx context.Context, license string, at time.Time) error {
	if at.IsZero() {
		return d.t.writing()
	}
	_, err := d.t.change(ctx, `UPDATE deployments SET review_at = ?0 WHERE license = ?1
		AND (review_at IS NULL OR review_at > ?0)`, micros(at), license)
	return err
}
