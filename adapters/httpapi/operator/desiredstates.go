package operator

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/identity"
)

type desiredOut struct{ Body contract.DesiredState }

func (d Deps) desiredStates(api huma.API) {
	huma.Register(api, op(identity.RoleViewer, "get-desired-state", "GET", "/deployments/{deployment}/desired-state",
		"Show what a deployment is to run, now or in an earlier revision", httpapi.OK), d.desiredState)
	huma.Register(api, op(identity.RoleViewer, "list-desired-states", "GET", "/deployments/{deployment}/desired-state/history",
		"List the revisions of a deployment's desired state, newest first", httpapi.OK), d.desiredHistory)
	huma.Register(api, op(identity.RoleAdmin, "leap-desired-state", "POST", "/deployments/{deployment}/desired-state/leap",
		"Go beyond every revision that was proved, after an older copy of the database was restored", httpapi.OK),
		func(ctx context.Context, in *struct {
			DeploymentPath
			Body contract.Leap
		}) (*desiredOut, error) {
			_, err := d.Desired.Leap(ctx, desired.LeapRequest{Actor: actor(ctx), Install: in.Deployment, Note: in.Body.Note})
			return d.present(ctx, in.Deployment, err)
		})
	huma.Register(api, op(identity.RoleOperator, "release-quarantine", "POST", "/deployments/{deployment}/apps/{app}/release-quarantine",
		"Let the agent try once more what failed", httpapi.OK), func(ctx context.Context, in *DeploymentAppPath) (*desiredOut, error) {
		_, err := d.Desired.ReleaseQuarantine(ctx, desired.ReleaseQuarantineRequest{Actor: actor(ctx), Install: in.Deployment, App: in.App})
		return d.present(ctx, in.Deployment, err)
	})
}

// present is the desired state after a change, or why there was none.
func (d Deps) present(ctx context.Context, install string, failed error) (*desiredOut, error) {
	if failed != nil {
		return nil, failed
	}
	return d.desiredState(ctx, &desiredStateIn{DeploymentPath: DeploymentPath{install}})
}

type desiredStateIn struct {
	DeploymentPath
	Revision int64  `query:"revision" minimum:"0" maximum:"9007199254740991" doc:"Absent: the present one"`
	Objects  bool   `query:"objects" doc:"With the rendered objects of each app"`
	App      string `query:"app" maxLength:"63" doc:"Of this app alone"`
}

func (d Deps) desiredState(ctx context.Context, in *desiredStateIn) (*desiredOut, error) {
	r, head, err := d.Desired.DesiredState(ctx, in.Deployment, in.Revision)
	if err != nil {
		return nil, err
	}
	out := revision(r)
	out.Current, out.Token = r.Revision == head.Revision, r.Token
	if out.Current {
		out.Frozen, out.Proven, out.Claimed = head.Frozen, head.Proven, head.Claimed
	}
	apps := r.Apps
	if in.App != "" {
		apps = slices.DeleteFunc(slices.Clone(apps), func(a delivery.DesiredApp) bool { return a.App != in.App })
	}
	if out.Apps = httpapi.Each(apps, desiredApp); in.Objects {
		err = d.withObjects(ctx, in.Deployment, apps, out.Apps)
	}
	if err != nil {
		return nil, err
	}
	return &desiredOut{out}, nil
}

func (d Deps) withObjects(ctx context.Context, install string, apps []delivery.DesiredApp, out []contract.DesiredApp) error {
	rendered, err := d.Desired.Rendered(ctx, install, apps)
	shown := identity.CheckRole(operatorOf(ctx).Role, identity.RoleOperator) == nil
	for i, app := range apps {
		if docs, ok := rendered[app.App]; ok {
			out[i].Objects = httpapi.Each(docs, func(doc delivery.Document) map[string]any { return redacted(doc, shown) })
		}
	}
	return err
}

// redacted hides what a Secret holds from who may only look (§9).
func redacted(doc delivery.Document, shown bool) map[string]any {
	if shown || doc.Object["kind"] != "Secret" {
		return doc.Object
	}
	for _, field := range []string{"data", "stringData"} {
		values, ok := doc.Object[field].(map[string]any)
		if !ok {
			continue
		}
		hidden := map[string]any{}
		for key := range values {
			hidden[key] = "redacted"
		}
		doc.Object[field] = hidden
	}
	return doc.Object
}

type desiredHistoryIn struct {
	DeploymentPath
	Before int64 `query:"before" minimum:"0" maximum:"9007199254740991" doc:"next of the page before; absent for the newest"`
	Limit  int   `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

func (d Deps) desiredHistory(ctx context.Context, in *desiredHistoryIn) (*struct{ Body contract.DesiredHistory }, error) {
	list, next, err := d.Desired.History(ctx, in.Deployment, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.DesiredHistory{Revisions: httpapi.Each(list, revision), Next: next}
	if in.Before == 0 && len(list) > 0 {
		out.Revisions[0].Current = true // the head's: each revision is made with it
	}
	return &struct{ Body contract.DesiredHistory }{out}, nil
}

func revision(r delivery.Revision) contract.DesiredState {
	return contract.DesiredState{
		InstallID: r.InstallID, Revision: r.Revision, At: r.At, Actor: string(r.Actor.Kind) + "/" + r.Actor.ID, Reason: r.Reason,
		Digest: r.Digest, Diff: httpapi.Each(r.Diff, func(x delivery.Difference) contract.Difference { return contract.Difference(x) }),
	}
}

func desiredApp(a delivery.DesiredApp) contract.DesiredApp {
	return contract.DesiredApp{
		App: a.App, Version: a.Version, Release: a.Release, Manifests: contract.Blob(a.Manifests), Images: a.Images,
		Requires: a.Requires, Parameters: a.Parameters, Usage: usage(a.Usage), Since: a.Since, Retry: a.Retry,
		Seals:     httpapi.Each(a.Seals, func(s delivery.Seal) contract.DesiredSeal { return contract.DesiredSeal(s) }),
		Suspended: a.Suspended, RunUntil: instant(a.RunUntil), Removed: a.Removed,
	}
}
