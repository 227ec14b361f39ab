package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/delivery"
	port "berth/ports/store"
)

type secretValueRow struct {
	bun.BaseModel `bun:"table:secret_values,alias:s"`

	InstallID  string  `bun:"install_id,pk"`
	App        string  `bun:"app,pk"`
	Parameter  string  `bun:"parameter,pk"`
	Custody    string  `bun:"custody"`
	Ciphertext []byte  `bun:"ciphertext"`
	Recipient  string  `bun:"recipient"`
	SetAt      instant `bun:"set_at"`
}

func secretValueRowOf(v delivery.SecretValue) secretValueRow {
	return secretValueRow{
		InstallID: v.InstallID, App: v.App, Parameter: v.Parameter, Custody: string(v.Custody), Ciphertext: held(v.Text),
		Recipient: v.Recipient, SetAt: instant(v.SetAt),
	}
}

func (r secretValueRow) value() delivery.SecretValue {
	return delivery.SecretValue{
		InstallID: r.InstallID, App: r.App, Parameter: r.Parameter, Custody: delivery.Custody(r.Custody),
		Text: r.Ciphertext, Recipient: r.Recipient, SetAt: time.Time(r.SetAt),
	}
}

type secretValues struct{ t *Tx }

func (s secretValues) Put(ctx context.Context, vs []delivery.SecretValue) error {
	return put(ctx, s.t, "install_id, app, parameter", each(vs, secretValueRowOf), func(r secretValueRow) [3]string {
		return [3]string{r.InstallID, r.App, r.Parameter}
	})
}

func (s secretValues) OfInstall(ctx context.Context, install string) ([]delivery.SecretValue, error) {
	rows, err := many[secretValueRow](ctx, s.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("install_id = ?", install).OrderExpr("app, parameter")
	})
	return each(rows, secretValueRow.value), err
}

//nolint:gochecknoglobals // immutable
var (
	addWrapped  = newBatch("INSERT INTO wrapped_secrets (name, wrapped) VALUES {} ON CONFLICT DO NOTHING", "(?, ?)")
	readWrapped = newBatch("SELECT wrapped FROM wrapped_secrets WHERE name = {}", "?")
)

type wrappedSecrets struct{ t *Tx }

func (w wrappedSecrets) Create(ctx context.Context, name string, wrapped []byte) error {
	n, err := writeRows(ctx, w.t, addWrapped, []string{name}, func(args []any, name string) []any {
		return append(args, name, held(wrapped))
	})
	if err == nil && n == 0 {
		return port.Taken("wrapped_secret")
	}
	return err
}

func (w wrappedSecrets) Get(ctx context.Context, name string) (wrapped []byte, err error) {
	found, err := blob(ctx, w.t, readWrapped, &wrapped, name)
	if err == nil && !found {
		return nil, port.Missing("wrapped_secret")
	}
	return wrapped, err
}
