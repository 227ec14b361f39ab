package operator

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
)

func (d Deps) agents(api huma.API) {
	huma.Register(api, op(identity.RoleViewer, "get-agent", "GET", "/deployments/{deployment}/agent",
		"Show the agent of a deployment, the key that secrets are sealed to, and what it reported", httpapi.OK),
		func(ctx context.Context, in *DeploymentPath) (*struct{ Body contract.AgentState }, error) {
			v, err := d.Desired.Agent(ctx, in.Deployment)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.AgentState }{agentState(v)}, nil
		})
	huma.Register(api, op(identity.RoleAdmin, "reset-enrolment", "POST", "/deployments/{deployment}/agent/reset-enrolment",
		"Forget the agent of a deployment, so that another may enrol", httpapi.NoContent),
		func(ctx context.Context, in *DeploymentPath) (*struct{}, error) {
			return nil, d.Desired.ResetEnrolment(ctx, desired.ResetEnrolmentRequest{Actor: actor(ctx), Install: in.Deployment})
		})
	huma.Register(api, showing(op(identity.RoleOperator, "create-package", "POST", "/deployments/{deployment}/packages",
		"Make a delivery package, whose link works once", httpapi.Created), "download_url"), d.createPackage)
}

func agentState(v desired.AgentView) contract.AgentState {
	a := v.Agent
	return contract.AgentState{
		AgentID: a.ID, InstallID: a.InstallID, PublicKey: base64.RawURLEncoding.EncodeToString(a.PublicKey), SealKey: a.SealKey,
		SealKeySignature: base64.RawURLEncoding.EncodeToString(a.SealProof),
		Cluster:          contract.AgentCluster{UID: a.ClusterUID, Version: a.ClusterInfo, Platforms: a.Platforms}, Version: a.Version,
		EnrolledAt: a.EnrolledAt, SeenAt: a.SeenAt, Sequence: a.Sequence, ObservedRevision: a.Observed, Revision: v.Head.Revision,
		Gaps: a.Gaps, Interleaved: a.Interleaved, Drift: a.Drift,
		UnreadSecrets: httpapi.Each(v.Unread, func(s delivery.SecretValue) contract.UnreadSecret {
			return contract.UnreadSecret{App: s.App, Parameter: s.Parameter}
		}),
		Apps: httpapi.Each(v.Observe, func(o delivery.Observation) contract.ReportedState { return reportedState(v.Head, o) }),
	}
}

func reportedState(head delivery.DesiredRecord, o delivery.Observation) contract.ReportedState {
	i := slices.IndexFunc(head.Apps, func(a delivery.DesiredApp) bool { return a.App == o.App })
	return contract.ReportedState{
		App: o.App, Version: o.Version, Outcome: string(o.Outcome), Detail: o.Detail, Failures: o.Failures, Revision: o.Revision,
		ReportedAt: instant(o.ReportedAt), Quarantined: i >= 0 && o.InQuarantine(head.Apps[i]), Installed: o.Installed,
	}
}

func (d Deps) createPackage(ctx context.Context, in *struct {
	DeploymentPath
	Body contract.NewPackage
}) (*struct{ Body contract.Package }, error) {
	applyIn, wrongApply := life("body.apply_within", in.Body.ApplyWithin)
	fetchIn, wrongFetch := life("body.fetch_within", in.Body.FetchWithin)
	if err := fault.All(wrongApply, wrongFetch); err != nil {
		return nil, err
	}
	p, err := d.Desired.CreatePackage(ctx, desired.CreatePackageRequest{
		Actor: actor(ctx), Install: in.Deployment, WithImages: in.Body.WithImages, ApplyIn: applyIn, FetchIn: fetchIn,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Package }{contract.Package{
		ID: p.ID, DownloadURL: p.DownloadURL, ExpiresAt: p.ExpiresAt, ApplyBefore: p.ApplyBefore, Revision: p.Revision,
		SHA256: p.Content.SHA256, Size: p.Content.Size,
	}}, nil
}

func life(field string, text *string) (*time.Duration, *fault.Error) {
	if text == nil {
		return nil, nil
	}
	life, err := time.ParseDuration(*text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "expiry_out_of_range", "this is a duration such as 24h").At(field)
	}
	return &life, nil
}

// instant is a time that may not be there.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
