package node

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/fleet"
	"berth/domain/authorization"
	"berth/domain/placement"
)

// MigrationPath is the migration in a path.
type MigrationPath struct {
	Migration string `path:"migration" maxLength:"64"`
}

func (p MigrationPath) report(ctx context.Context, generation int64) fleet.Report {
	c := callerOf(ctx)
	return fleet.Report{Caller: c.Caller, Ticket: c.ticket, Migration: p.Migration, Generation: generation}
}

type nothing struct{}

func (d Deps) reports(api huma.API) {
	huma.Register(api, op(authorization.OpPrepared, "POST", "/migrations/{migration}/prepared", "The base was copied ahead", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			MigrationPath
			Body contract.Prepared
		}) (*nothing, error) {
			return done(d.Fleet.Prepared(ctx, fleet.PreparedRequest{
				Report: in.report(ctx, in.Body.Generation), BaseSequence: in.Body.BaseSequence,
			}))
		})
	huma.Register(api, op(authorization.OpQuiesced, "POST", "/migrations/{migration}/quiesced", "Every write is refused and drained (P3)", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			MigrationPath
			Body contract.Quiesced
		}) (*nothing, error) {
			return done(d.Fleet.Quiesced(ctx, fleet.QuiescedRequest{
				Report:   in.report(ctx, in.Body.Generation),
				Manifest: placement.Manifest{Root: in.Body.ManifestRoot, LastSequence: in.Body.LastSequence},
			}))
		})
	huma.Register(api, op(authorization.OpCopied, "POST", "/migrations/{migration}/copied", "The snapshot is verified and durable here (P4)", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			MigrationPath
			Body contract.Copied
		}) (*nothing, error) {
			return done(d.Fleet.Copied(ctx, fleet.CopiedRequest{
				Report:   in.report(ctx, in.Body.Generation),
				Manifest: placement.Manifest{Root: in.Body.ManifestRoot, LastSequence: in.Body.LastSequence},
			}))
		})
	huma.Register(api, op(authorization.OpDrained, "POST", "/migrations/{migration}/drained", "The last connection is closed, the copy sealed (P7)", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			MigrationPath
			Body contract.Drained
		}) (*nothing, error) {
			return done(d.Fleet.Drained(ctx, fleet.DrainedRequest{Report: in.report(ctx, in.Body.Generation)}))
		})
	huma.Register(api, op(authorization.OpFailed, "POST", "/migrations/{migration}/failed", "The step can not be done", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			MigrationPath
			Body contract.Failed
		}) (*nothing, error) {
			return done(d.Fleet.ReportFailure(ctx, fleet.FailureReport{
				Report: in.report(ctx, in.Body.Generation), Step: in.Body.Step, Reason: in.Body.Reason,
			}))
		})
}

func done(err error) (*nothing, error) {
	if err != nil {
		return nil, err
	}
	return &nothing{}, nil
}
