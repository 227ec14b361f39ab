package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
)

type backupRow struct {
	bun.BaseModel `bun:"table:tenant_backups,alias:b"`

	Tenant       string  `bun:"tenant,pk"`
	Node         string  `bun:"relay_node"`
	Generation   int64   `bun:"generation"`
	ManifestRoot string  `bun:"manifest_root"`
	LastSequence int64   `bun:"last_sequence"`
	At           instant `bun:"at"`
}

type backups struct{ t *Tx }

func (b backups) Get(ctx context.Context, tenant string) (*placement.Backup, error) {
	r, found, err := one[backupRow](ctx, b.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant = ?", tenant)
	})
	if err != nil || !found {
		return nil, err
	}
	return &placement.Backup{
		Tenant: r.Tenant, Node: r.Node, Generation: r.Generation,
		Manifest: placement.Manifest{Root: r.ManifestRoot, LastSequence: r.LastSequence}, At: time.Time(r.At),
	}, nil
}

func (b backups) Put(ctx context.Context, v placement.Backup) error {
	return upsert(ctx, b.t, "tenant", []backupRow{{
		Tenant: v.Tenant, Node: v.Node, Generation: v.Generation, ManifestRoot: v.Manifest.Root,
		LastSequence: v.Manifest.LastSequence, At: instant(v.At),
	}})
}
