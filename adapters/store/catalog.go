package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/delivery"
	port "berth/ports/store"
)

type appRow struct {
	bun.BaseModel `bun:"table:apps,alias:a"`

	ID        string  `bun:"id,pk"`
	Name      string  `bun:"name"`
	CreatedAt instant `bun:"created_at"`
}

func appTable() table[delivery.App, appRow] {
	return table[delivery.App, appRow]{
		thing: "app", key: "id",
		row: always(func(v delivery.App) appRow {
			return appRow{ID: v.ID, Name: v.Name, CreatedAt: instant(v.CreatedAt)}
		}),
		value: always(appRow.value),
	}
}

func (r appRow) value() delivery.App {
	return delivery.App{ID: r.ID, Name: r.Name, CreatedAt: time.Time(r.CreatedAt)}
}

type apps struct {
	aggregate[delivery.App, appRow]
}

func (a apps) List(ctx context.Context, p port.Page) ([]delivery.App, error) {
	return a.page(ctx, p, whole)
}

//nolint:gochecknoglobals // immutable
var readApps = newBatch(`SELECT id, name, created_at FROM apps WHERE id IN ({})`, "?")

func (a apps) Named(ctx context.Context, ids []string) ([]delivery.App, error) {
	var out []delivery.App
	err := readKeys(ctx, a.t, readApps, distinct(ids), func(rows *sql.Rows) error {
		var r appRow
		err := rows.Scan(&r.ID, &r.Name, &r.CreatedAt)
		out = append(out, r.value())
		return err
	})
	slices.SortFunc(out, func(a, b delivery.App) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

func distinct(keys []string) []string { return slices.Compact(slices.Sorted(slices.Values(keys))) }

type releaseRow struct {
	bun.BaseModel `bun:"table:app_releases,alias:r"`

	App        string  `bun:"app,pk"`
	Version    string  `bun:"version,pk"`
	SchemaGate bool    `bun:"schema_gate"`
	Requires   string  `bun:"requires"` // JSON, as the other lists
	Digest     string  `bun:"digest"`
	Kind       string  `bun:"kind"`
	Source     string  `bun:"source"`
	CreatedAt  instant `bun:"created_at"`
	Externals  string  `bun:"externals"`
	Images     string  `bun:"images"`
	Parameters string  `bun:"parameters"`
}

func releaseRowOf(v delivery.Release) (releaseRow, error) {
	var d document
	return releaseRow{
		App: v.App, Version: v.Version, SchemaGate: v.SchemaGate, Requires: writeList(&d, each(v.Requires, requirementFormOf)),
		Digest: v.Digest, Kind: string(v.Kind), Source: v.Source, CreatedAt: instant(v.CreatedAt),
		Externals: writeList(&d, v.Externals), Images: writeList(&d, v.Images),
		Parameters: writeList(&d, each(v.Parameters, parameterFormOf)),
	}, d.err
}

func (r releaseRow) value() (delivery.Release, error) {
	var d document
	return delivery.Release{
		App: r.App, Version: r.Version, Digest: r.Digest, Kind: delivery.SourceKind(r.Kind), Source: r.Source,
		Parameters: each(readList[parameterForm](&d, r.Parameters), parameterForm.value),
		Requires:   each(readList[requirementForm](&d, r.Requires), requirementForm.value),
		Externals:  readList[string](&d, r.Externals), SchemaGate: r.SchemaGate, Images: readList[string](&d, r.Images),
		CreatedAt: time.Time(r.CreatedAt),
	}, d.err
}

type releases struct{ t *Tx }

func (r releases) Create(ctx context.Context, v delivery.Release) error {
	row, err := releaseRowOf(v)
	return add(ctx, r.t, "release", row, err)
}

// add adds what never changes, made with err.
func add[R any](ctx context.Context, t *Tx, thing string, row R, err error) error {
	if err := t.writing(); err != nil {
		return err
	}
	if err != nil {
		return t.fault(err)
	}
	n, err := insert(ctx, t, []R{row})
	if err == nil && n == 0 {
		return port.Taken(thing)
	}
	return err
}

func (r releases) Get(ctx context.Context, app, version string) (delivery.Release, error) {
	row, found, err := one[releaseRow](ctx, r.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("app = ?", app).Where("version = ?", version)
	})
	switch {
	case err != nil:
		return delivery.Release{}, err
	case !found:
		return delivery.Release{}, port.Missing("release")
	}
	v, err := row.value()
	return v, r.t.fault(err)
}

func (r releases) OfApp(ctx context.Context, app string, p port.Page) ([]delivery.Release, error) {
	rows, err := many[releaseRow](ctx, r.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return paged(q.Where("app = ?", app), "version", p)
	})
	if err != nil {
		return nil, err
	}
	return convert(r.t, rows, releaseRow.value)
}

//nolint:gochecknoglobals // immutable
var readOutlines = newBatch(`SELECT app, version, requires, schema_gate FROM app_releases WHERE app IN ({})`, "?")

func (r releases) Outlines(ctx context.Context, apps []string) ([]port.ReleaseOutline, error) {
	var out []port.ReleaseOutline
	err := readKeys(ctx, r.t, readOutlines, distinct(apps), func(rows *sql.Rows) error {
		var o port.ReleaseOutline
		var requires string
		if err := rows.Scan(&o.App, &o.Version, &requires, &o.SchemaGate); err != nil {
			return err
		}
		var d document
		o.Requires = each(readList[requirementForm](&d, requires), requirementForm.value)
		out = append(out, o)
		return d.err
	})
	slices.SortFunc(out, func(a, b port.ReleaseOutline) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Version, b.Version))
	})
	return out, err
}

type registryRow struct {
	bun.BaseModel `bun:"table:registries,alias:r"`

	Host           string  `bun:"host,pk"`
	CredentialsRef string  `bun:"credentials_ref"`
	CA             string  `bun:"ca"`
	MirrorOf       string  `bun:"mirror_of"`
	PlainHTTP      bool    `bun:"plain_http"`
	CreatedAt      instant `bun:"created_at"`
}

func registryTable() table[delivery.Registry, registryRow] {
	return table[delivery.Registry, registryRow]{
		thing: "registry", key: "host",
		row: always(func(v delivery.Registry) registryRow {
			return registryRow{
				Host: v.Host, CredentialsRef: v.CredentialsRef, CA: v.CA, MirrorOf: v.MirrorOf, PlainHTTP: v.PlainHTTP,
				CreatedAt: instant(v.CreatedAt),
			}
		}),
		value: always(func(r registryRow) delivery.Registry {
			return delivery.Registry{
				Host: r.Host, CredentialsRef: r.CredentialsRef, CA: r.CA, MirrorOf: r.MirrorOf, PlainHTTP: r.PlainHTTP,
				CreatedAt: time.Time(r.CreatedAt),
			}
		}),
	}
}

type registries struct {
	aggregate[delivery.Registry, registryRow]
}

func (r registries) List(ctx context.Context, p port.Page) ([]delivery.Registry, error) {
	return r.page(ctx, p, whole)
}

func (r registries) Remove(ctx context.Context, host string) error { return r.remove(ctx, host) }
