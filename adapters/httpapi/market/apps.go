package market

import (
	"context"
	"encoding/base64"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/quantity"
)

func (d Deps) apps(ctx context.Context, _ *struct{}) (*struct{ Body contract.MarketApps }, error) {
	list, err := d.Market.Apps(ctx, requestOf(ctx).caller)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.MarketApps }{contract.MarketApps{Apps: httpapi.Each(list, app)}}, nil
}

func app(l market.Listed) contract.MarketApp {
	return contract.MarketApp{
		App: l.App, Name: l.Name, Versions: l.Versions, State: string(l.State), Deployed: deployed(l.Reported), Desired: l.Desired,
		Suspended: l.Suspended, UpgradeAvailable: l.UpgradeAvailable,
		Blocked: httpapi.Each(l.Blocked, func(f *fault.Error) contract.MarketBlock {
			return contract.MarketBlock{Slug: f.Slug, Detail: f.Detail, Cure: f.Cure}
		}),
	}
}

func deployed(r *delivery.Reported) *contract.MarketDeployed {
	if r == nil {
		return nil
	}
	return &contract.MarketDeployed{
		Version: r.Version, Health: string(r.Health), Detail: r.Detail, Revision: r.Revision, ReportedAt: r.ReportedAt, Stale: r.Stale,
	}
}

func (d Deps) license(ctx context.Context, _ *struct{}) (*struct{ Body contract.MarketLicense }, error) {
	l, err := d.Market.License(ctx, requestOf(ctx).caller)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.MarketLicense }{contract.MarketLicense{
		ID: l.ID, Customer: l.Customer, Environment: string(l.Environment), Status: string(l.Status), Enforce: string(l.Enforcement),
		ExpiresAt: l.ExpiresAt, Grace: l.Grace.String(), Apps: l.Apps, Quota: usage(l.Quota), Used: usage(l.Used),
	}}, nil
}

func (d Deps) agent(ctx context.Context, _ *struct{}) (*struct{ Body contract.MarketAgent }, error) {
	a, err := d.Market.Agent(ctx, requestOf(ctx).caller)
	if err != nil {
		return nil, err
	}
	encoded := base64.RawURLEncoding.EncodeToString
	return &struct{ Body contract.MarketAgent }{contract.MarketAgent{
		AgentID: a.ID, InstallID: a.InstallID, PublicKey: encoded(a.PublicKey), SealKey: a.SealKey, SealKeySignature: encoded(a.SealProof),
	}}, nil
}

func usage(u entitlement.Usage) contract.MarketUsage {
	return contract.MarketUsage{
		Apps: u.Apps, Replicas: u.Replicas, CPU: quantity.FormatMilliCPU(u.MilliCPU), Memory: quantity.FormatBytes(u.MemoryBytes),
	}
}

type installationIn struct {
	AppPath
	Body contract.NewInstallation
}

func (d Deps) installation(ctx context.Context, in *installationIn) (*struct{ Body contract.Installation }, error) {
	o, err := d.Market.SetInstallation(ctx, market.InstallationRequest{
		Caller: requestOf(ctx).caller, App: in.App, Installed: in.Body.Installed, Version: in.Body.Version,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Installation }{contract.Installation{
		App: o.App, Installed: o.Installed, Version: o.InstalledAs, InstalledAt: moment(o.InstalledAt),
	}}, nil
}
