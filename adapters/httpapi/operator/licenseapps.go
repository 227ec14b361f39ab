package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/licensing"
	"berth/domain/entitlement"
	"berth/domain/identity"
)

type entitledOut struct{ Body contract.EntitledApps }

func (d Deps) licenseApps(api huma.API) {
	huma.Register(api, op(identity.RoleViewer, "get-license-apps", "GET", "/licenses/{license}/apps", "Show the apps of a license", httpapi.OK),
		func(ctx context.Context, in *LicensePath) (*entitledOut, error) {
			return entitledApps(d.Licensing.Apps(ctx, in.License))
		})
	huma.Register(api, op(identity.RoleOperator, "put-license-apps", "PUT", "/licenses/{license}/apps", "Say which apps are on a license", httpapi.OK),
		func(ctx context.Context, in *struct {
			LicensePath
			Body contract.LicenseApps
		}) (*entitledOut, error) {
			return entitledApps(d.Licensing.Entitle(ctx, licensing.EntitleRequest{
				LicenseRequest: in.request(ctx),
				Apps: httpapi.Each(in.Body.Apps, func(a contract.LicenseApp) entitlement.Entitled {
					return entitlement.Entitled{App: a.App, ExpiresAt: a.ExpiresAt, Versions: a.Versions}
				}),
			}))
		})
}

func entitledApps(e licensing.Entitled, err error) (*entitledOut, error) {
	if err != nil {
		return nil, err
	}
	return &entitledOut{contract.EntitledApps{
		Revision: e.Revision, Apps: httpapi.Each(e.Apps, entitledApp), Withdrawn: httpapi.Each(e.Withdrawn, entitledApp),
	}}, nil
}

func entitledApp(e entitlement.Entitlement) contract.EntitledApp {
	return contract.EntitledApp{
		App: e.App, ExpiresAt: when(e.ExpiresAt), Versions: e.Versions, GrantedAt: e.GrantedAt, WithdrawnAt: when(e.WithdrawnAt),
	}
}
