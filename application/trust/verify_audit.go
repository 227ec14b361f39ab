package trust

import (
	"context"
	"errors"

	"berth/domain/audit"
	"berth/ports/store"
)

// AuditVerdict says whether the audit chain is whole up to the head that it had when the verifying began.
type AuditVerdict struct {
	Whole   bool
	Entries int64        // how many are as they were sealed
	Head    audit.Head   // the last of those
	Broken  *audit.Break // where it is not whole; nil where it is
}

// VerifyAudit reads the whole audit log in pages, each in a view of its own, and checks every link. Memory is bounded by
// a page. Entries that are added meanwhile are left to the next run. A chain that is broken is a verdict, not an error.
func (t *Trust) VerifyAudit(ctx context.Context) (AuditVerdict, error) {
	head, beyond, err := t.auditHead(ctx)
	if err != nil {
		return AuditVerdict{}, err
	}
	end, err := t.verifyTo(ctx, head)
	if err == nil {
		err = audit.CheckEnd(end, head)
	}
	if err == nil && beyond {
		err = &audit.Break{Sequence: head.Sequence + 1, Damage: audit.DamageExtended}
	}
	verdict := AuditVerdict{Whole: err == nil, Entries: end.Sequence, Head: end}
	if err != nil && !errors.As(err, &verdict.Broken) {
		return AuditVerdict{}, err
	}
	return verdict, nil
}

// auditHead returns the head of the log, and whether there is an entry behind it at the same time.
func (t *Trust) auditHead(ctx context.Context) (head audit.Head, beyond bool, err error) {
	err = t.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if head, err = r.Audit.Head(ctx); err != nil {
			return err
		}
		more, err := r.Audit.Range(ctx, head.Sequence, 1)
		beyond = len(more) > 0
		return err
	})
	return head, beyond, err
}

// verifyTo returns the head of the last good entry up to known. The error is a *audit.Break or the store's.
func (t *Trust) verifyTo(ctx context.Context, known audit.Head) (audit.Head, error) {
	var end audit.Head
	for end.Sequence < known.Sequence {
		var entries []audit.Entry
		err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			entries, err = r.Audit.Range(ctx, end.Sequence, int(min(store.MaxPage, known.Sequence-end.Sequence)))
			return err
		})
		if err != nil || len(entries) == 0 {
			return end, err
		}
		if end, err = audit.VerifyFrom(end, entries); err != nil {
			return end, err
		}
	}
	return end, nil
}
