package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	port "berth/ports/store"
)

type desiredRow struct {
	bun.BaseModel `bun:"table:desired_states,alias:h"`

	InstallID        string  `bun:"install_id,pk"`
	Revision         int64   `bun:"revision"`
	Digest           string  `bun:"digest"`
	Frozen           bool    `bun:"frozen"`
	License          string  `bun:"license"`
	UsageApps        int64   `bun:"usage_apps"`
	UsageReplicas    int64   `bun:"usage_replicas"`
	UsageMilliCPU    int64   `bun:"usage_milli_cpu"`
	UsageMemoryBytes int64   `bun:"usage_memory_bytes"`
	Proven           int64   `bun:"proven"`
	Claimed          int64   `bun:"claimed"`
	At               instant `bun:"at"`
	Token            string  `bun:"token"`
	Apps             string  `bun:"apps"` // JSON
}

func desiredTable() table[*delivery.Desired, desiredRow] {
	return table[*delivery.Desired, desiredRow]{
		thing: "desired_state", key: "install_id", row: desiredRowOf, value: desiredRow.value,
	}
}

func desiredRowOf(v *delivery.Desired) (desiredRow, error) {
	r := v.Record()
	var d document
	return desiredRow{
		InstallID: r.InstallID, Revision: r.Revision, Digest: r.Digest, Frozen: r.Frozen, License: r.License,
		UsageApps: r.Usage.Apps, UsageReplicas: r.Usage.Replicas, UsageMilliCPU: r.Usage.MilliCPU,
		UsageMemoryBytes: r.Usage.MemoryBytes, Proven: r.Proven, Claimed: r.Claimed, At: instant(r.At), Token: r.Token,
		Apps: writeList(&d, each(r.Apps, desiredAppFormOf)),
	}, d.err
}

func (r desiredRow) value() (*delivery.Desired, error) {
	var d document
	return delivery.RestoreDesired(delivery.DesiredRecord{
		InstallID: r.InstallID, License: r.License, Revision: r.Revision,
		Apps: each(readList[desiredAppForm](&d, r.Apps), desiredAppForm.value), Digest: r.Digest, Token: r.Token,
		Usage: entitlement.Usage{
			Apps: r.UsageApps, Replicas: r.UsageReplicas, MilliCPU: r.UsageMilliCPU, MemoryBytes: r.UsageMemoryBytes,
		},
		At: time.Time(r.At), Frozen: r.Frozen, Proven: r.Proven, Claimed: r.Claimed,
	}), d.err
}

type desiredStates struct {
	aggregate[*delivery.Desired, desiredRow]
}

// Usage is answered by an index alone, whatever the size of the desired states.
func (d desiredStates) Usage(ctx context.Context, license string) (sum entitlement.Usage, err error) {
	rows, err := d.t.query(ctx, `SELECT CAST(coalesce(sum(usage_apps), 0) AS BIGINT),
		CAST(coalesce(sum(usage_replicas), 0) AS BIGINT), CAST(coalesce(sum(usage_milli_cpu), 0) AS BIGINT),
		CAST(coalesce(sum(usage_memory_bytes), 0) AS BIGINT) FROM desired_states WHERE license = ?`, license)
	if err != nil {
		return sum, d.t.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&sum.Apps, &sum.Replicas, &sum.MilliCPU, &sum.MemoryBytes); err != nil {
			return entitlement.Usage{}, d.t.fault(err)
		}
	}
	return sum, d.t.fault(rows.Err())
}

type revisionRow struct {
	bun.BaseModel `bun:"table:desired_state_revisions,alias:r"`

	InstallID   string  `bun:"install_id,pk"`
	Revision    int64   `bun:"revision,pk"`
	At          instant `bun:"at"`
	ActorKind   string  `bun:"actor_kind"`
	ActorID     string  `bun:"actor_id"`
	ActorSource string  `bun:"actor_source"`
	Reason      string  `bun:"reason"`
	Digest      string  `bun:"digest"`
	Diff        string  `bun:"diff"` // JSON
	Token       string  `bun:"token"`
	Apps        string  `bun:"apps"` // JSON
}

func revisionRowOf(v delivery.Revision) (revisionRow, error) {
	var d document
	return revisionRow{
		InstallID: v.InstallID, Revision: v.Revision, At: instant(v.At), ActorKind: string(v.Actor.Kind),
		ActorID: v.Actor.ID, ActorSource: v.Actor.Source, Reason: v.Reason, Digest: v.Digest,
		Diff: writeList(&d, each(v.Diff, differenceFormOf)), Token: v.Token,
		Apps: writeList(&d, each(v.Apps, desiredAppFormOf)),
	}, d.err
}

func (r revisionRow) value() (delivery.Revision, error) {
	var d document
	return delivery.Revision{
		InstallID: r.InstallID, Revision: r.Revision, At: time.Time(r.At),
		Actor:  audit.Actor{Kind: audit.ActorKind(r.ActorKind), ID: r.ActorID, Source: r.ActorSource},
		Reason: r.Reason, Diff: each(readList[differenceForm](&d, r.Diff), differenceForm.value),
		Apps: each(readList[desiredAppForm](&d, r.Apps), desiredAppForm.value), Digest: r.Digest, Token: r.Token,
	}, d.err
}

type revisions struct{ t *Tx }

func (v revisions) Append(ctx context.Context, r delivery.Revision) error {
	row, err := revisionRowOf(r)
	return add(ctx, v.t, "revision", row, err)
}

func (v revisions) Get(ctx context.Context, install string, revision int64) (delivery.Revision, error) {
	row, found, err := one[revisionRow](ctx, v.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("install_id = ?", install).Where("revision = ?", revision)
	})
	switch {
	case err != nil:
		return delivery.Revision{}, err
	case !found:
		return delivery.Revision{}, port.Missing("revision")
	}
	r, err := row.value()
	return r, v.t.fault(err)
}

func (v revisions) Before(ctx context.Context, install string, revision int64, limit int) ([]delivery.Revision, error) {
	rows, err := many[revisionRow](ctx, v.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		if revision != 0 {
			q = q.Where("revision < ?", revision)
		}
		return q.ExcludeColumn("apps", "token").Where("install_id = ?", install).OrderExpr("revision DESC").Limit(int64(max(limit, 1)))
	})
	if err != nil {
		return nil, err
	}
	return convert(v.t, rows, revisionRow.value)
}
