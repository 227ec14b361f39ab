package desired

import (
	"context"

	"berth/domain/delivery"
	"berth/ports/store"
)

// Deployments lists the deployments of a license, by install id; of every license where it is empty.
func (d *Desired) Deployments(ctx context.Context, license string, p store.Page) (store.List[delivery.DeploymentRecord], error) {
	var out store.List[delivery.DeploymentRecord]
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		list, err := store.Listed(p, func(p store.Page) ([]*delivery.Deployment, error) {
			return r.Deployments.List(ctx, license, p)
		}, func(v *delivery.Deployment) string { return v.Record().InstallID })
		out = store.List[delivery.DeploymentRecord]{Next: list.Next}
		for _, v := range list.Items {
			out.Items = append(out.Items, v.Record())
		}
		return err
	})
	return out, err
}

// Deployment returns a deployment as it stands. Fault: NotFound deployment_not_found.
func (d *Desired) Deployment(ctx context.Context, install string) (DeploymentView, error) {
	var out DeploymentView
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		deployment, err := r.Deployments.Get(ctx, install)
		if err != nil {
			return err
		}
		head, err := r.DesiredStates.Get(ctx, install)
		if err != nil {
			return err
		}
		out = DeploymentView{Deployment: deployment.Record(), Head: head.Record()}
		agent, err := agentOf(ctx, r, install)
		if agent != nil {
			record := agent.Record()
			out.Agent = &record
		}
		return err
	})
	return out, err
}
