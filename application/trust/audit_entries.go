package trust

import (
	"context"

	"berth/domain/audit"
	"berth/ports/store"
)

// AuditEntriesRequest asks for a page of the audit log.
type AuditEntriesRequest struct {
	Subject string // such as "tenant/acme"; empty for all
	After   int64  // the last sequence that was seen; 0 for the beginning
	Limit   int
}

// AuditPage is a page of the audit log, by sequence.
type AuditPage struct {
	Entries []audit.Entry
	Next    int64 // the sequence to ask after for what follows; 0 at the end
}

// AuditEntries lists the audit log, or what it says of one subject.
func (t *Trust) AuditEntries(ctx context.Context, in AuditEntriesRequest) (AuditPage, error) {
	size := store.ListSize(in.Limit)
	var out AuditPage
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if in.Subject == "" {
			out.Entries, err = r.Audit.Range(ctx, in.After, size+1)
		} else {
			out.Entries, err = r.Audit.About(ctx, in.Subject, in.After, size+1)
		}
		return err
	})
	if err != nil {
		return AuditPage{}, err
	}
	if len(out.Entries) > size {
		out.Entries = out.Entries[:size]
		out.Next = out.Entries[size-1].Sequence
	}
	return out, nil
}
