package desired

import (
	"context"
	"maps"
	"slices"
	"strings"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// SetParametersRequest sets what an app is rendered with.
type SetParametersRequest struct {
	Actor      audit.Actor
	Install    string
	App        string
	Parameters map[string]string // all that are chosen; secret ones in the clear before an agent has enrolled
	Sealed     map[string][]byte // secret ones sealed to the agent's seal key
}

// SetParameters renders an app anew with other parameters; those that are not given have their defaults again. Secrets
// that are not given stay (D3). Faults: those of Prepare; NotFound deployment_not_found, app_not_deployed; Conflict
// secret_must_be_sealed, agent_not_enrolled, quota_exceeded; those of Publish.
func (d *Desired) SetParameters(ctx context.Context, in SetParametersRequest) (DeploymentView, error) {
	return again(d, func() (DeploymentView, error) { return d.setParameters(ctx, in) })
}

func (d *Desired) setParameters(ctx context.Context, in SetParametersRequest) (DeploymentView, error) {
	s, err := d.situation(ctx, in.Install)
	if err != nil {
		return DeploymentView{}, err
	}
	app, there := s.Head.App(in.App)
	if !there || app.Removed {
		return DeploymentView{}, fault.New(fault.NotFound, "app_not_deployed", "%q is not among the apps of this deployment", in.App)
	}
	choice := delivery.Choice{App: in.App, Version: app.Version, Parameters: in.Parameters}
	ready, err := d.ready(ctx, s, change{put: []wanted{{Choice: choice, sealed: in.Sealed}}})
	if err != nil {
		return DeploymentView{}, err
	}
	published, err := d.Publish(ctx, Proposal{
		Install: in.Install, Actor: in.Actor, Reason: "parameters of " + in.App, Quota: true,
		Decide: ready.decide, Objects: ready.objects, Secrets: ready.secrets,
		Within: func(ctx context.Context, r *store.Roles, step Step) error {
			adjust(step, ready.chosen[0])
			return r.Audit.Append(ctx, audit.Draft{
				At: step.Now, Actor: in.Actor, Action: "deployment.parameters_set", Subject: subject(in.Install),
				Detail: map[string]string{
					"app": in.App, "before": parametersText(app.Parameters), "after": parametersText(ready.put[0].Parameters),
					"secrets": SecretNames(ready.secrets),
				},
			})
		},
	})
	if err != nil {
		return DeploymentView{}, err
	}
	return d.view(ctx, in.Install, published)
}

// adjust keeps the selected services in step with what was set, with the version as it was chosen there.
func adjust(step Step, choice delivery.Choice) {
	for _, selected := range step.Deployment.Record().Selected {
		if selected.App == choice.App {
			choice.Version = selected.Version
			step.Deployment.Adjust(choice, step.Now)
		}
	}
}

// parametersText is what is told of parameters: none of them is secret.
func parametersText(parameters map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		out = append(out, name+"="+parameters[name])
	}
	return short(strings.Join(out, " "))
}

// SecretNames names secrets that were set, as the audit log does it, and tells nothing of them.
func SecretNames(values []delivery.SecretValue) string {
	var out []string
	for _, v := range values {
		out = append(out, v.Parameter)
	}
	return short(strings.Join(out, " "))
}
