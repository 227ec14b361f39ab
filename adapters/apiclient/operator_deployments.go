package apiclient

import (
	"context"
	"net/http"
	"net/url"

	"berth/adapters/contract"
)

// CreateDeployment makes an installation, whose first revision holds the selected services.
func (o Operator) CreateDeployment(ctx context.Context, in contract.NewDeployment) (contract.Deployment, error) {
	return post[contract.Deployment](ctx, o.c, api+"/deployments", in)
}

// Deployment shows a deployment as it stands.
func (o Operator) Deployment(ctx context.Context, install string) (contract.Deployment, error) {
	return get[contract.Deployment](ctx, o.c, deployment(install, ""), nil)
}

// Deployments lists deployments by install id: those of a license, or all where license is empty.
func (o Operator) Deployments(ctx context.Context, license string, p Page) (contract.Deployments, error) {
	q := p.query()
	if license != "" {
		q.Set("license", license)
	}
	return get[contract.Deployments](ctx, o.c, api+"/deployments", q)
}

// SelectServices chooses the selected services of a deployment anew, as a whole.
func (o Operator) SelectServices(ctx context.Context, install string, in contract.SelectedServices) (contract.Deployment, error) {
	return send[contract.Deployment](ctx, o.c, http.MethodPut, deployment(install, "/selected-services"), in)
}

// SetParameters renders an app of a deployment anew with other parameters; what is not given has its default again.
func (o Operator) SetParameters(ctx context.Context, install, app string, in contract.NewParameters) (contract.Deployment, error) {
	return send[contract.Deployment](ctx, o.c, http.MethodPut, deployment(install, "/apps")+seg(app)+"/parameters", in)
}

// SchemaGate opens or closes the schema gate of a deployment.
func (o Operator) SchemaGate(ctx context.Context, install string, in contract.SchemaGate) (contract.Deployment, error) {
	return post[contract.Deployment](ctx, o.c, deployment(install, "/schema-gate"), in)
}

// DesiredState shows a revision of a deployment; the present one where revision is 0.
func (o Operator) DesiredState(ctx context.Context, install string, revision int64) (contract.DesiredState, error) {
	q := url.Values{}
	if revision > 0 {
		q.Set("revision", number(revision))
	}
	return get[contract.DesiredState](ctx, o.c, deployment(install, "/desired-state"), q)
}

// DesiredHistory lists the revisions of a deployment below one, the newest first; from the newest where before is 0.
func (o Operator) DesiredHistory(ctx context.Context, install string, before int64, limit int) (contract.DesiredHistory, error) {
	q := Page{Limit: limit}.query()
	if before > 0 {
		q.Set("before", number(before))
	}
	return get[contract.DesiredHistory](ctx, o.c, deployment(install, "/desired-state/history"), q)
}

// Leap goes beyond whatever revision was proved, after the database was restored from an older copy.
func (o Operator) Leap(ctx context.Context, install, note string) (contract.DesiredState, error) {
	return post[contract.DesiredState](ctx, o.c, deployment(install, "/desired-state/leap"), contract.Leap{Note: note})
}

// ReleaseQuarantine lets the agent try an app again that failed.
func (o Operator) ReleaseQuarantine(ctx context.Context, install, app string) (contract.DesiredState, error) {
	return post[contract.DesiredState](ctx, o.c, deployment(install, "/apps")+seg(app)+"/release-quarantine", nil)
}

// AgentState shows the agent of a deployment and what it reported.
func (o Operator) AgentState(ctx context.Context, install string) (contract.AgentState, error) {
	return get[contract.AgentState](ctx, o.c, deployment(install, "/agent"), nil)
}

// ResetEnrolment forgets the agent of a deployment, so that another may enrol.
func (o Operator) ResetEnrolment(ctx context.Context, install string) error {
	_, err := o.c.do(ctx, call{method: http.MethodPost, path: deployment(install, "/agent/reset-enrolment")})
	return err
}

// CreatePackage makes a delivery package; the answer shows its link once.
func (o Operator) CreatePackage(ctx context.Context, install string, in contract.NewPackage) (contract.Package, error) {
	return post[contract.Package](ctx, o.c, deployment(install, "/packages"), in)
}

func deployment(install, path string) string { return api + "/deployments" + seg(install) + path }
