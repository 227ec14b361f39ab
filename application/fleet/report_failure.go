package fleet

import (
	"context"
	"strings"
	"unicode/utf8"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// FailureReport says that a node can not do its step.
type FailureReport struct {
	Report
	Step   string // 1 to 64 bytes
	Reason string // 1 to 512 bytes
}

// ReportFailure takes the word of source or target and ends the migration where it still can end (P6).
// Faults: NotFound not_found; Invalid invalid_text; Conflict generation_stale, migration_superseded.
func (f *Fleet) ReportFailure(ctx context.Context, in FailureReport) error {
	return f.report(ctx, in.Report, authorization.OpFailed, func(ctx context.Context, w *work, mv *move) error {
		if err := fault.All(text("step", in.Step, 64), text("reason", in.Reason, 512)); err != nil {
			return err
		}
		if err := mv.migration.Reported(mv.Parties, in.reporter(), in.Step, in.Reason, w.now); err != nil {
			return err
		}
		return w.save(ctx, mv, "migration.failed", map[string]string{"step": in.Step, "reason": in.Reason})
	})
}

func text(field, s string, most int) *fault.Error {
	if s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_text", "must be 1 to %d bytes of UTF-8", most).At(field)
}
