package desired

import (
	"context"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// ReleaseQuarantineRequest asks to try once more what failed.
type ReleaseQuarantineRequest struct {
	Actor   audit.Actor
	Install string
	App     string
}

// ReleaseQuarantine lets the agent try an app again as it is desired (G5). Faults: NotFound deployment_not_found,
// app_not_deployed; Conflict app_not_quarantined; those of Publish.
func (d *Desired) ReleaseQuarantine(ctx context.Context, in ReleaseQuarantineRequest) (Published, error) {
	return d.Publish(ctx, Proposal{
		Install: in.Install, Actor: in.Actor, Reason: "quarantine of " + in.App + " released",
		Decide: func(s Situation) (delivery.Edit, error) {
			app, there := s.Head.App(in.App)
			if there && !app.Removed && !s.Observation(in.App).InQuarantine(app) {
				return delivery.Edit{}, fault.New(fault.Conflict, "app_not_quarantined", "%q did not fail as it is desired now", in.App)
			}
			return delivery.Edit{Retry: []string{in.App}}, nil
		},
		Within: func(ctx context.Context, r *store.Roles, step Step) error {
			o := step.Observation(in.App)
			before := o.Quarantined
			o.Quarantined = 0
			if err := r.Observations.Put(ctx, []delivery.Observation{o}); err != nil {
				return err
			}
			return r.Audit.Append(ctx, audit.Draft{
				At: step.Now, Actor: in.Actor, Action: "app.quarantine_released", Subject: subject(in.Install),
				Detail: map[string]string{"app": in.App, "before": number(before), "after": "0", "outcome": string(o.Outcome)},
			})
		},
	})
}
