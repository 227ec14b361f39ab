package operator

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

func (d Deps) audit(api huma.API) {
	huma.Register(api, op(identity.RoleViewer, "list-audit", "GET", "/audit", "Read the audit log, oldest first", httpapi.OK), d.listAudit)
	huma.Register(api, op(identity.RoleViewer, "verify-audit", "GET", "/audit/verify", "Check that the audit log is whole", httpapi.OK), d.verifyAudit)
}

type auditIn struct {
	httpapi.Paging
	Subject string `query:"subject" maxLength:"256" doc:"Such as tenant/acme; absent for all"`
}

func (d Deps) listAudit(ctx context.Context, in *auditIn) (*struct{ Body contract.AuditEntries }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if p.After != "" {
		if after, err = strconv.ParseInt(p.After, 10, 64); err != nil || after < 0 {
			return nil, fault.New(fault.Invalid, "invalid_cursor", "a cursor is the next of a page before").At("query.cursor")
		}
	}
	list, err := d.Trust.AuditEntries(ctx, trust.AuditEntriesRequest{Subject: in.Subject, After: after, Limit: p.Limit})
	if err != nil {
		return nil, err
	}
	out := contract.AuditEntries{Entries: httpapi.Each(list.Entries, entry)}
	if list.Next != 0 {
		out.Next = httpapi.Cursor(strconv.FormatInt(list.Next, 10))
	}
	return &struct{ Body contract.AuditEntries }{out}, nil
}

func entry(e audit.Entry) contract.AuditEntry {
	return contract.AuditEntry{
		Sequence: e.Sequence, At: e.At, Actor: contract.Actor{Kind: string(e.Actor.Kind), ID: e.Actor.ID, Source: e.Actor.Source},
		Action: e.Action, Subject: e.Subject, Detail: e.Detail,
		Previous: hex.EncodeToString(e.Previous[:]), Hash: hex.EncodeToString(e.Hash[:]),
	}
}

func (d Deps) verifyAudit(ctx context.Context, _ *struct{}) (*struct{ Body contract.AuditVerdict }, error) {
	v, err := d.Trust.VerifyAudit(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.AuditVerdict{Whole: v.Whole, Entries: v.Entries, Head: hex.EncodeToString(v.Head.Hash[:])}
	if v.Broken != nil {
		out.BrokenAt, out.Reason = v.Broken.Sequence, v.Broken.Error()
	}
	return &struct{ Body contract.AuditVerdict }{out}, nil
}
