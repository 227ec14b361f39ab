package agent

import (
	"context"
	"encoding/base64"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
)

type enrollIn struct {
	Body contract.AgentEnrol

	source string
}

// Resolve keeps where the request came from.
func (in *enrollIn) Resolve(ctx huma.Context) []error {
	in.source = httpapi.Source(ctx)
	return nil
}

func (d Deps) enroll(ctx context.Context, in *enrollIn) (*struct{ Body contract.AgentEnrolled }, error) {
	b := in.Body
	public, wrongKey := decoded("body.public_key", b.PublicKey)
	signature, wrongSignature := decoded("body.seal_key_signature", b.SealKeySignature)
	if err := fault.All(wrongKey, wrongSignature); err != nil {
		return nil, err
	}
	out, err := d.Desired.Enroll(ctx, desired.EnrollRequest{
		Token: b.Token, LicenseKey: b.LicenseKey, Source: in.source, Enrolment: delivery.Enrolment{
			PublicKey: public, SealKey: b.SealKey, SealKeySignature: signature, ClusterUID: b.Cluster.UID,
			ClusterVersion: b.Cluster.Version, Platforms: b.Cluster.Platforms,
		},
	})
	if err != nil {
		return nil, d.refusal(in.source, err)
	}
	return &struct{ Body contract.AgentEnrolled }{contract.AgentEnrolled{
		AgentID: out.AgentID, InstallID: out.InstallID, MinimumRevision: out.MinimumRevision,
		TrustAnchors: contract.TrustAnchors{Keys: httpapi.Each(out.TrustAnchors, func(a desired.TrustAnchor) contract.TrustAnchor {
			return contract.TrustAnchor{KID: a.KID, Purpose: string(a.Purpose), PublicKey: a.PublicKey, VerifyUntil: a.VerifyUntil}
		})},
		Poll: contract.AgentPolling{Wait: out.Wait.String(), Interval: out.Interval.String()},
	}}, nil
}

// decoded reads base64url without padding.
func decoded(field, text string) ([]byte, *fault.Error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "base64_invalid", "this is base64url without padding").At(field)
	}
	return raw, nil
}

func (d Deps) report(ctx context.Context, in *struct{ Body contract.AgentReport }) (*struct{}, error) {
	r := delivery.Report{
		Sequence: in.Body.Sequence, Observed: in.Body.ObservedRevision, Drift: in.Body.Drift, Version: in.Body.Agent.Version,
		Apps: httpapi.Each(in.Body.Apps, func(a contract.AgentReportedApp) delivery.AppReport {
			return delivery.AppReport{
				App: a.App, Version: a.Version, Outcome: delivery.Outcome(a.Outcome), Detail: a.Detail, Failures: a.Failures, Digest: a.Digest,
			}
		}),
	}
	return nil, d.Desired.Report(ctx, desired.ReportRequest{Caller: callerOf(ctx), Report: r})
}

func (d Deps) prove(ctx context.Context, in *struct{ Body contract.AgentProof }) (*struct{}, error) {
	return nil, d.Desired.Prove(ctx, desired.ProveRequest{Caller: callerOf(ctx), DesiredState: in.Body.DesiredState})
}
