package desired

import (
	"context"
	"maps"
	"slices"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/ports/store"
)

// SelectServicesRequest says what the selected services of a deployment are from now on.
type SelectServicesRequest struct {
	Actor    audit.Actor
	Install  string
	Selected []delivery.Choice // secret parameters among the others, in the clear
}

// SelectServices chooses the selected services anew. What is new among them, or chosen otherwise than before, is put into
// the desired state; what no longer is among them is removed from it; what was chosen so already is left as it is, whatever
// became of it since. Faults: as of CreateDeployment; NotFound deployment_not_found; Conflict dependents_remain.
func (d *Desired) SelectServices(ctx context.Context, in SelectServicesRequest) (DeploymentView, error) {
	return again(d, func() (DeploymentView, error) { return d.selectServices(ctx, in) })
}

func (d *Desired) selectServices(ctx context.Context, in SelectServicesRequest) (DeploymentView, error) {
	s, err := d.situation(ctx, in.Install)
	if err != nil {
		return DeploymentView{}, err
	}
	before := s.Deployment.Record().Selected
	tried := delivery.RestoreDeployment(s.Deployment.Record())
	if err := tried.Select(in.Selected, s.Entitlements, s.Now); err != nil {
		return DeploymentView{}, err
	}
	ready, err := d.ready(ctx, s, selection(s, before, in.Selected))
	if err != nil {
		return DeploymentView{}, err
	}
	selected := asSelected(in.Selected, ready.chosen)
	published, err := d.Publish(ctx, Proposal{
		Install: in.Install, Actor: in.Actor, Reason: "selected services", Quota: true,
		Decide: ready.decide, Objects: ready.objects, Secrets: ready.secrets,
		Within: func(ctx context.Context, r *store.Roles, step Step) error {
			if err := step.Deployment.Select(selected, step.Entitlements, step.Now); err != nil {
				return err
			}
			after := selectedText(step.Deployment.Record().Selected)
			return r.Audit.Append(ctx, audit.Draft{
				At: step.Now, Actor: in.Actor, Action: "deployment.services_selected", Subject: subject(in.Install),
				Detail: map[string]string{"before": selectedText(before), "after": after},
			})
		},
	})
	if err != nil {
		return DeploymentView{}, err
	}
	return d.view(ctx, in.Install, published)
}

// selection is what selecting anew changes.
func selection(s Situation, before, after []delivery.Choice) change {
	c := change{licensed: true}
	for _, choice := range after {
		i := slices.IndexFunc(before, func(b delivery.Choice) bool { return b.App == choice.App })
		if i < 0 || before[i].Version != choice.Version || !maps.Equal(before[i].Parameters, choice.Parameters) {
			c.put = append(c.put, wanted{Choice: s.staying(choice)})
		}
	}
	for _, choice := range before {
		app, there := s.Head.App(choice.App)
		stays := slices.ContainsFunc(after, func(a delivery.Choice) bool { return a.App == choice.App })
		if !stays && there && !app.Removed {
			c.remove = append(c.remove, choice.App)
		}
	}
	return c
}

// staying gives a choice without a version the one that the app has already: choosing parameters is no upgrade.
func (s Situation) staying(c delivery.Choice) delivery.Choice {
	if app, there := s.Head.App(c.App); there && !app.Removed && c.Version == "" {
		c.Version = app.Version
	}
	return c
}

// situation reads a deployment's situation in a view of its own.
func (d *Desired) situation(ctx context.Context, install string) (Situation, error) {
	now := d.Clock.Now()
	var s Situation
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		s, err = read(ctx, r, install, now, false)
		return err
	})
	return s, err
}

// view is a deployment after a change.
func (d *Desired) view(ctx context.Context, install string, p Published) (DeploymentView, error) {
	out, err := d.Deployment(ctx, install)
	out.Head = p.Head
	return out, err
}
