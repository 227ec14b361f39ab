package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"berth/domain/authorization"
	port "berth/ports/store"
)

type changeRow struct {
	bun.BaseModel `bun:"table:tenant_authorization_changes,alias:c"`

	Tenant          string `bun:"tenant,pk"`
	Revision        int64  `bun:"revision,pk"`
	Part            int64  `bun:"part,pk"`
	Parts           int64  `bun:"parts"`
	Kind            string `bun:"kind"`
	Status          string `bun:"status"`
	PrincipalID     string `bun:"principal"`
	PrincipalKind   string `bun:"principal_kind"`
	PrincipalRole   string `bun:"principal_role"`
	PrincipalStatus string `bun:"principal_status"`
	Route           string `bun:"route"`
	HandleDigest    []byte `bun:"handle_digest"`
	HandlePrincipal string `bun:"handle_principal"`
	HandleRoute     string `bun:"handle_route"`
	HandleStatus    string `bun:"handle_status"`
}

func changeRowOf(tenant string, c authorization.Change) changeRow {
	return changeRow{
		Tenant: tenant, Revision: c.Revision, Part: int64(c.Part), Parts: int64(c.Parts), Kind: string(c.Kind),
		Status: string(c.Status), PrincipalID: c.Principal.ID, PrincipalKind: string(c.Principal.Kind),
		PrincipalRole: string(c.Principal.Role), PrincipalStatus: string(c.Principal.Status), Route: c.Route,
		HandleDigest: c.Handle.SHA256[:], HandlePrincipal: c.Handle.Principal, HandleRoute: c.Handle.Route,
		HandleStatus: string(c.Handle.Status),
	}
}

func (r changeRow) value() (authorization.Change, error) {
	digest, err := bytes32(r.HandleDigest)
	return authorization.Change{
		Revision: r.Revision, Part: int(r.Part), Parts: int(r.Parts), Kind: authorization.ChangeKind(r.Kind),
		Status: authorization.TenantStatus(r.Status),
		Principal: authorization.PrincipalView{
			ID: r.PrincipalID, Kind: authorization.Kind(r.PrincipalKind), Role: authorization.Role(r.PrincipalRole),
			Status: authorization.Status(r.PrincipalStatus),
		},
		Route: r.Route,
		Handle: authorization.HandleView{
			SHA256: digest, Principal: r.HandlePrincipal, Route: r.HandleRoute, Status: authorization.Status(r.HandleStatus),
		},
	}, err
}

type changes struct{ t *Tx }

func (c changes) Append(ctx context.Context, tenant string, cs []authorization.Change) error {
	if err := c.t.writing(); err != nil {
		return err
	}
	type place struct{ revision, part int64 }
	rows, keys, named := make([]changeRow, 0, len(cs)), make(tuples, 0, len(cs)), map[place]bool{}
	for _, v := range cs {
		row := changeRowOf(tenant, v)
		rows, keys = append(rows, row), append(keys, []any{row.Tenant, row.Revision, row.Part})
		named[place{row.Revision, row.Part}] = true
	}
	existing, err := c.t.existing(ctx, "tenant_authorization_changes", "tenant, revision, part", keys)
	if err != nil {
		return err
	}
	if existing > 0 || len(named) < len(rows) {
		return port.Taken("change")
	}
	for part := range slices.Chunk(rows, perStatement) {
		if err := insertAll(ctx, c.t, part); err != nil {
			return err
		}
	}
	return nil
}

func (c changes) Since(ctx context.Context, tenant string, from int64, limit int) ([]authorization.Change, error) {
	rows, err := many[changeRow](ctx, c.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant = ?", tenant).Where("revision > ?", from).OrderExpr("revision, part").Limit(int64(max(limit, 1)))
	})
	if err != nil {
		return nil, err
	}
	return convert(c.t, rows, changeRow.value)
}

func (c changes) Drop(ctx context.Context, tenant string, floor int64) error {
	_, err := c.t.change(ctx, "DELETE FROM tenant_authorization_changes WHERE tenant = ? AND revision <= ?", tenant, floor)
	return err
}
