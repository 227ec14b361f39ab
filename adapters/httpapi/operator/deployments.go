package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
)

// DeploymentPath is a deployment in a path.
type DeploymentPath struct {
	Deployment string `path:"deployment" maxLength:"64"`
}

// DeploymentAppPath is an app of a deployment in a path.
type DeploymentAppPath struct {
	DeploymentPath
	App string `path:"app" maxLength:"63"`
}

type deploymentOut struct{ Body contract.Deployment }

func (d Deps) deployments(api huma.API) {
	huma.Register(api, op(identity.RoleOperator, "create-deployment", "POST", "/deployments",
		"Define an installation and the services of its first install", httpapi.Created), d.createDeployment)
	huma.Register(api, op(identity.RoleViewer, "list-deployments", "GET", "/deployments", "List the deployments", httpapi.OK), d.listDeployments)
	huma.Register(api, op(identity.RoleViewer, "get-deployment", "GET", "/deployments/{deployment}", "Show a deployment and what it is to run",
		httpapi.OK), func(ctx context.Context, in *DeploymentPath) (*deploymentOut, error) {
		return deploymentAnswer(d.Desired.Deployment(ctx, in.Deployment))
	})
	huma.Register(api, op(identity.RoleOperator, "select-services", "PUT", "/deployments/{deployment}/selected-services",
		"Choose the selected services anew: what is new is installed, and what is no longer among them is removed", httpapi.OK), d.selectServices)
	huma.Register(api, op(identity.RoleOperator, "set-parameters", "PUT", "/deployments/{deployment}/apps/{app}/parameters",
		"Set what an app is rendered with; secrets that are not given stay", httpapi.OK), d.setParameters)
	huma.Register(api, op(identity.RoleOperator, "set-schema-gate", "POST", "/deployments/{deployment}/schema-gate",
		"Let customers' own upgrades through to releases that need schema migrations, or refuse them", httpapi.OK), d.schemaGate)
	d.desiredStates(api)
	d.agents(api)
}

func (d Deps) createDeployment(ctx context.Context, in *struct{ Body contract.NewDeployment }) (*deploymentOut, error) {
	selected, err := choices(in.Body.SelectedServices)
	if err != nil {
		return nil, err
	}
	return deploymentAnswer(d.Desired.CreateDeployment(ctx, desired.CreateDeploymentRequest{
		Actor: actor(ctx), Customer: in.Body.Customer, License: in.Body.License, Namespace: in.Body.Namespace,
		IngressHosts: in.Body.IngressHosts, ConfigMaps: in.Body.ConfigMaps, Selected: selected,
	}))
}

type listDeploymentsIn struct {
	httpapi.Paging
	License string `query:"license" maxLength:"64" doc:"Of this license only"`
}

func (d Deps) listDeployments(ctx context.Context, in *listDeploymentsIn) (*struct{ Body contract.Deployments }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Desired.Deployments(ctx, in.License, p)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Deployments }{contract.Deployments{
		Deployments: httpapi.Each(list.Items, deployment), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func (d Deps) selectServices(ctx context.Context, in *struct {
	DeploymentPath
	Body contract.SelectedServices
}) (*deploymentOut, error) {
	selected, err := choices(in.Body.SelectedServices)
	if err != nil {
		return nil, err
	}
	return deploymentAnswer(d.Desired.SelectServices(ctx, desired.SelectServicesRequest{
		Actor: actor(ctx), Install: in.Deployment, Selected: selected,
	}))
}

func (d Deps) setParameters(ctx context.Context, in *struct {
	DeploymentAppPath
	Body contract.NewParameters
}) (*deploymentOut, error) {
	plain, sealed, err := httpapi.Parameters(in.Body.Parameters)
	if err != nil {
		return nil, err
	}
	return deploymentAnswer(d.Desired.SetParameters(ctx, desired.SetParametersRequest{
		Actor: actor(ctx), Install: in.Deployment, App: in.App, Parameters: plain, Sealed: sealed,
	}))
}

func (d Deps) schemaGate(ctx context.Context, in *struct {
	DeploymentPath
	Body contract.SchemaGate
}) (*deploymentOut, error) {
	r, err := d.Desired.SchemaGate(ctx, desired.SchemaGateRequest{
		Actor: actor(ctx), Install: in.Deployment, Open: in.Body.Open, Note: in.Body.Note,
	})
	if err != nil {
		return nil, err
	}
	return &deploymentOut{deployment(r)}, nil
}

func choices(selected []contract.SelectedService) ([]delivery.Choice, error) {
	var wrong []*fault.Error
	out := make([]delivery.Choice, 0, len(selected))
	for _, s := range selected {
		values, sealed, err := httpapi.Parameters(s.Parameters)
		if f, ok := fault.As(err); ok {
			wrong = append(wrong, f)
		}
		if len(sealed) > 0 {
			wrong = append(wrong, fault.New(fault.Invalid, "parameter_invalid", "%s is given a sealed value, which services are not selected with", s.App).
				At("body.selected_services").Curable("set it as a parameter of the app, once that is in the deployment"))
		}
		out = append(out, delivery.Choice{App: s.App, Version: s.Version, Parameters: values})
	}
	return out, fault.All(wrong...)
}

func deploymentAnswer(v desired.DeploymentView, err error) (*deploymentOut, error) {
	if err != nil {
		return nil, err
	}
	out := deployment(v.Deployment)
	out.Revision, out.Frozen = v.Head.Revision, v.Head.Frozen
	out.Apps = httpapi.Each(v.Head.Apps, desiredApp)
	if v.Agent != nil {
		out.Agent = v.Agent.ID
	}
	return &deploymentOut{out}, nil
}

func deployment(r delivery.DeploymentRecord) contract.Deployment {
	return contract.Deployment{
		InstallID: r.InstallID, Customer: r.Customer, License: r.License, Namespace: r.Namespace, IngressHosts: r.IngressHosts,
		ConfigMaps: r.ConfigMaps, SchemaGate: contract.SchemaGate{Open: r.GateOpen, Note: r.GateNote},
		SelectedServices: httpapi.Each(r.Selected, func(c delivery.Choice) contract.SelectedService {
			s := contract.SelectedService{App: c.App, Version: c.Version}
			for name, value := range c.Parameters {
				if s.Parameters == nil {
					s.Parameters = map[string]any{}
				}
				s.Parameters[name] = value
			}
			return s
		}),
		CreatedAt: r.CreatedAt, ChangedAt: r.ChangedAt,
	}
}
