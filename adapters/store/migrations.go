package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
	port "berth/ports/store"
)

type migrationRow struct {
	bun.BaseModel `bun:"table:placement_migrations,alias:m"`

	ID             string                  `bun:"id,pk"`
	Tenant         string                  `bun:"tenant"`
	Recovery       bool                    `bun:"recovery"`
	Source         string                  `bun:"source"`
	Target         string                  `bun:"target"`
	Rehome         string                  `bun:"rehome"`
	State          status[placement.Phase] `bun:"state"`
	Ended          bool                    `bun:"ended"` // of the state, for indexes
	Generation     int64                   `bun:"generation"`
	SourcePrepared bool                    `bun:"source_prepared"`
	TargetPrepared bool                    `bun:"target_prepared"`
	BaseSequence   int64                   `bun:"base_sequence"`
	ManifestRoot   string                  `bun:"manifest_root"`
	LastSequence   int64                   `bun:"last_sequence"`
	StartedAt      instant                 `bun:"started_at"`
	ChangedAt      instant                 `bun:"changed_at"`
	EndedAt        instant                 `bun:"ended_at"`
	Deadline       instant                 `bun:"deadline"`
	Notes          string                  `bun:"notes"`
}

// notes is what people read of a migration; no query looks into it. Times are microseconds since 1970.
type notes struct {
	Steps   []note    `json:"steps,omitempty"`
	Failure *failure  `json:"failure,omitempty"`
	Loss    *dataLoss `json:"data_loss,omitempty"`
}

type note struct {
	Name   string `json:"name"`
	At     int64  `json:"at"`
	Detail string `json:"detail"`
}

type failure struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

type dataLoss struct {
	LastBackupAt int64 `json:"last_backup_at"`
	LastSequence int64 `json:"last_sequence"`
}

func migrationTable() table[*placement.Migration, migrationRow] {
	return table[*placement.Migration, migrationRow]{thing: "migration", key: "id", row: migrationRowOf, value: migrationRow.value}
}

func migrationRowOf(v *placement.Migration) (migrationRow, error) {
	r := v.Record()
	notes, err := encodeNotes(r)
	return migrationRow{
		ID: r.ID, Tenant: r.Tenant, Recovery: r.Kind == placement.Recovery, Source: r.Source, Target: r.Target,
		Rehome: r.Rehome, State: status[placement.Phase]{r.State}, Ended: v.Ended(), Generation: r.Generation,
		SourcePrepared: r.SourcePrepared, TargetPrepared: r.TargetPrepared, BaseSequence: r.BaseSequence,
		ManifestRoot: r.ManifestRoot, LastSequence: r.LastSequence, StartedAt: instant(r.StartedAt),
		ChangedAt: instant(r.ChangedAt), EndedAt: instant(r.EndedAt), Deadline: instant(r.Deadline), Notes: notes,
	}, err
}

func encodeNotes(r placement.MigrationRecord) (string, error) {
	var n notes
	var texts []string
	for _, s := range r.Steps {
		n.Steps = append(n.Steps, note{s.Name, micros(s.At), s.Detail})
		texts = append(texts, s.Name, s.Detail)
	}
	if f := r.Failure; f != nil {
		n.Failure = &failure{f.Step, f.Reason}
		texts = append(texts, f.Step, f.Reason)
	}
	if l := r.DataLoss; l != nil {
		n.Loss = &dataLoss{micros(l.LastBackupAt), l.LastSequence}
	}
	return encode(n, texts...)
}

func (r migrationRow) value() (*placement.Migration, error) {
	n, err := decode[notes](r.Notes)
	record := placement.MigrationRecord{
		ID: r.ID, Tenant: r.Tenant, Source: r.Source, Target: r.Target, Rehome: r.Rehome, State: r.State.v,
		Generation: r.Generation, SourcePrepared: r.SourcePrepared, TargetPrepared: r.TargetPrepared,
		BaseSequence: r.BaseSequence, ManifestRoot: r.ManifestRoot, LastSequence: r.LastSequence,
		StartedAt: time.Time(r.StartedAt), ChangedAt: time.Time(r.ChangedAt),
		EndedAt: time.Time(r.EndedAt), Deadline: time.Time(r.Deadline),
	}
	if r.Recovery {
		record.Kind = placement.Recovery
	}
	for _, s := range n.Steps {
		record.Steps = append(record.Steps, placement.Step{Name: s.Name, At: time.UnixMicro(s.At).UTC(), Detail: s.Detail})
	}
	if n.Failure != nil {
		record.Failure = &placement.Failure{Step: n.Failure.Step, Reason: n.Failure.Reason}
	}
	if n.Loss != nil {
		record.DataLoss = &placement.DataLoss{LastBackupAt: time.UnixMicro(n.Loss.LastBackupAt).UTC(), LastSequence: n.Loss.LastSequence}
	}
	return placement.RestoreMigration(record), err
}

type migrations struct {
	aggregate[*placement.Migration, migrationRow]
}

func (m migrations) OfTenant(ctx context.Context, tenant string, p port.Page) ([]*placement.Migration, error) {
	return m.page(ctx, p, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("tenant = ?", tenant) })
}

func (m migrations) Running(ctx context.Context, p port.Page) ([]*placement.Migration, error) {
	return m.page(ctx, p, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("NOT ended") })
}

func (m migrations) RunningFrom(ctx context.Context, node string) (int, error) {
	n, err := m.t.number(ctx, "SELECT count(*) FROM placement_migrations WHERE NOT ended AND source = ?", node)
	return int(n), err
}
