package desired

import (
	"context"

	"berth/domain/audit"
	"berth/domain/delivery"
)

// SchemaGateRequest opens or closes the schema gate of a deployment.
type SchemaGateRequest struct {
	Actor   audit.Actor
	Install string
	Open    bool
	Note    string // why
}

// SchemaGate lets customers' own upgrades through to releases that need schema migrations, or refuses them again (E8).
// Faults: NotFound deployment_not_found; Invalid note_required, text_out_of_bounds.
func (d *Desired) SchemaGate(ctx context.Context, in SchemaGateRequest) (delivery.DeploymentRecord, error) {
	var out delivery.DeploymentRecord
	err := d.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		deployment, err := w.Deployments.Get(ctx, in.Install)
		if err != nil {
			return err
		}
		before := deployment.Record()
		if err := deployment.Gate(in.Open, in.Note, w.now); err != nil {
			return err
		}
		if err := w.Deployments.Save(ctx, deployment); err != nil {
			return err
		}
		out = deployment.Record()
		w.hint(in.Install)
		return w.note(ctx, "deployment.schema_gate", in.Install, map[string]string{
			"before": gateText(before), "after": gateText(out), "note": in.Note,
		})
	})
	return out, err
}

func gateText(d delivery.DeploymentRecord) string {
	return map[bool]string{true: "open", false: "closed"}[d.GateOpen]
}
