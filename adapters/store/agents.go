package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/delivery"
	port "berth/ports/store"
)

type agentRow struct {
	bun.BaseModel `bun:"table:agents,alias:a"`

	ID          string  `bun:"id,pk"`
	InstallID   string  `bun:"install_id"`
	PublicKey   []byte  `bun:"public_key"`
	Instance    string  `bun:"instance"`
	Before      string  `bun:"previous_instance"`
	Interleaved int64   `bun:"interleaved"`
	Sequence    int64   `bun:"sequence"`
	Observed    int64   `bun:"observed"`
	Gaps        int64   `bun:"gaps"`
	SeenAt      instant `bun:"seen_at"`
	EnrolledAt  instant `bun:"enrolled_at"`
	SealKey     string  `bun:"seal_key"`
	SealProof   []byte  `bun:"seal_proof"`
	ClusterUID  string  `bun:"cluster_uid"`
	ClusterInfo string  `bun:"cluster_info"`
	Version     string  `bun:"version"`
	Platforms   string  `bun:"platforms"` // JSON
	Drift       string  `bun:"drift"`     // JSON
}

func agentTable() table[*delivery.Agent, agentRow] {
	return table[*delivery.Agent, agentRow]{thing: "agent", key: "id", row: agentRowOf, value: agentRow.value}
}

func agentRowOf(v *delivery.Agent) (agentRow, error) {
	r := v.Record()
	var d document
	return agentRow{
		ID: r.ID, InstallID: r.InstallID, PublicKey: held(r.PublicKey), Instance: r.Instance, Before: r.Before,
		Interleaved: r.Interleaved, Sequence: r.Sequence, Observed: r.Observed, Gaps: r.Gaps, SeenAt: instant(r.SeenAt),
		EnrolledAt: instant(r.EnrolledAt), SealKey: r.SealKey, SealProof: held(r.SealProof), ClusterUID: r.ClusterUID, ClusterInfo: r.ClusterInfo,
		Version: r.Version, Platforms: writeList(&d, r.Platforms), Drift: writeList(&d, r.Drift),
	}, d.err
}

func (r agentRow) value() (*delivery.Agent, error) {
	var d document
	return delivery.RestoreAgent(delivery.AgentRecord{
		ID: r.ID, InstallID: r.InstallID, PublicKey: r.PublicKey, SealKey: r.SealKey, SealProof: r.SealProof, ClusterUID: r.ClusterUID,
		ClusterInfo: r.ClusterInfo, Platforms: readList[string](&d, r.Platforms), Version: r.Version,
		EnrolledAt: time.Time(r.EnrolledAt), Sequence: r.Sequence, Observed: r.Observed, Gaps: r.Gaps, Instance: r.Instance,
		Before: r.Before, Interleaved: r.Interleaved, SeenAt: time.Time(r.SeenAt), Drift: readList[string](&d, r.Drift),
	}), d.err
}

type agents struct {
	aggregate[*delivery.Agent, agentRow]
}

// Save looks for another agent of the deployment first: the database would answer with an error, which on Postgres ends
// the transaction.
func (a agents) Save(ctx context.Context, v *delivery.Agent) error {
	if err := a.t.writing(); err != nil {
		return err
	}
	rivals, err := a.t.number(ctx, `SELECT count(*) FROM agents WHERE install_id = ?1 AND id <> ?0
		AND EXISTS (SELECT 1 FROM agents WHERE id = ?0)`, v.Record().ID, v.Record().InstallID)
	switch {
	case err != nil:
		return err
	case rivals > 0:
		return port.Taken("agent")
	}
	return a.aggregate.Save(ctx, v)
}

func (a agents) OfInstall(ctx context.Context, install string) (*delivery.Agent, error) {
	found, err := a.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("install_id = ?", install) })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, port.Missing("agent")
	}
	return found[0], nil
}

func (a agents) Remove(ctx context.Context, id string) error { return a.remove(ctx, id) }

type observationRow struct {
	bun.BaseModel `bun:"table:observations,alias:o"`

	InstallID   string  `bun:"install_id,pk"`
	App         string  `bun:"app,pk"`
	Version     string  `bun:"version"`
	Outcome     string  `bun:"outcome"`
	Detail      string  `bun:"detail"`
	Failures    string  `bun:"failures"` // JSON
	Revision    int64   `bun:"revision"`
	Digest      string  `bun:"digest"`
	ReportedAt  instant `bun:"reported_at"`
	Installed   bool    `bun:"installed"`
	InstalledAt instant `bun:"installed_at"`
	InstalledAs string  `bun:"installed_as"`
	Reached     string  `bun:"reached"`
	Quarantined int64   `bun:"quarantined"`
}

func (d *document) observation(v delivery.Observation) observationRow {
	return observationRow{
		InstallID: v.InstallID, App: v.App, Version: v.Version, Outcome: string(v.Outcome), Detail: v.Detail,
		Failures: writeList(d, v.Failures), Revision: v.Revision, Digest: v.Digest, ReportedAt: instant(v.ReportedAt),
		Installed: v.Installed, InstalledAt: instant(v.InstalledAt), InstalledAs: v.InstalledAs, Reached: v.Reached,
		Quarantined: v.Quarantined,
	}
}

func (r observationRow) value() (delivery.Observation, error) {
	var d document
	return delivery.Observation{
		InstallID: r.InstallID, App: r.App, Version: r.Version, Outcome: delivery.Outcome(r.Outcome), Detail: r.Detail,
		Failures: readList[string](&d, r.Failures), Revision: r.Revision, Digest: r.Digest,
		ReportedAt: time.Time(r.ReportedAt), Installed: r.Installed, InstalledAt: time.Time(r.InstalledAt),
		InstalledAs: r.InstalledAs, Reached: r.Reached, Quarantined: r.Quarantined,
	}, d.err
}

type observations struct{ t *Tx }

func (o observations) Put(ctx context.Context, os []delivery.Observation) error {
	if err := o.t.writing(); err != nil {
		return err
	}
	var d document
	rows := each(os, d.observation)
	if d.err != nil {
		return o.t.fault(d.err)
	}
	return put(ctx, o.t, "install_id, app", rows, func(r observationRow) [3]string { return [3]string{r.InstallID, r.App} })
}

func (o observations) OfInstall(ctx context.Context, install string) ([]delivery.Observation, error) {
	rows, err := many[observationRow](ctx, o.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("install_id = ?", install).OrderExpr("app")
	})
	if err != nil {
		return nil, err
	}
	return convert(o.t, rows, observationRow.value)
}
