package desired_test

import (
	"context"
	"strings"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

func (w *world) prepare(by delivery.Chooser, c delivery.Choice) (desired.Prepared, error) {
	w.t.Helper()
	var deployment delivery.DeploymentRecord
	w.view(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, install)
		if err == nil {
			deployment = d.Record()
		}
		return err
	})
	prepared, errs := w.Prepare(w.ctx, desired.PrepareRequest{Deployment: deployment, Choice: c, By: by})
	return prepared, fault.All(errs...)
}

// Every object says the namespace of its deployment, whether or not its author did, and is known by its name.
func TestPreparedObjectsHaveTheirNamespace(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	prepared, err := w.prepare(delivery.ByOperator, choice("db", "1.0.0"))
	w.must(err)
	docs, err := delivery.Decode(prepared.Objects[0])
	w.must(err)
	if strings.Join(prepared.App.Objects, " ") != "Deployment/db Secret/db" || len(docs) != 2 {
		t.Errorf("it is %v", prepared.App.Objects)
	}
	for _, doc := range docs {
		if meta, _ := doc.Object["metadata"].(map[string]any); meta["namespace"] != "acme" {
			t.Errorf("an object is in %v", meta["namespace"])
		}
	}
}

// What a customer sets changes no object, image or account, whatever was found when the release was tried; an operator may.
func TestCustomersReachNoIdentity(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	image := host + "/odd:1.0.0"
	w.images.Put(image)
	source, errs := delivery.EncodeFiles(map[string]string{"a.yaml": strings.NewReplacer("APP", "${name}", "IMAGE", image).
		Replace(workload[:strings.Index(workload, `"env"`)] + workload[strings.Index(workload, `"securityContext":{"allow`):])})
	w.must(fault.All(errs...))
	r, err := delivery.NewRelease(delivery.Release{
		App: "odd", Version: "1.0.0", Kind: delivery.SourceManifests, Source: delivery.Digest(source), Images: []string{image},
		Parameters: []delivery.Parameter{
			{Name: "replicas", Type: delivery.ParameterInt, Default: "1", HasDefault: true, CustomerSettable: true},
			{Name: "name", Type: delivery.ParameterString, Default: "odd", HasDefault: true, CustomerSettable: true},
		},
	}, noon)
	w.must(err)
	w.do(func(ctx context.Context, roles *store.Roles) error {
		w.must(roles.Objects.Put(ctx, source))
		return roles.Releases.Create(ctx, r)
	})
	_, err = w.prepare(delivery.ByCustomer, choice("odd", "1.0.0", "replicas", "3"))
	w.must(err)
	_, err = w.prepare(delivery.ByCustomer, choice("odd", "1.0.0", "replicas", "3", "name", "odd"))
	w.must(err)
	_, err = w.prepare(delivery.ByOperator, choice("odd", "1.0.0", "name", "even"))
	w.must(err)
	_, err = w.prepare(delivery.ByCustomer, choice("odd", "1.0.0", "name", "even"))
	w.refused(err, fault.Invalid, "parameter_reaches_identity")
}

// No answer holds more objects than fit into one; those of one app are told by themselves, and of a tombstone there are none.
func TestRenderedObjectsAreBounded(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "1.0.0"), choice("blog", "1.0.0"))
	apps := w.head().Apps
	rendered, err := w.Rendered(w.ctx, install, apps)
	w.must(err)
	if len(rendered) != 2 || len(rendered["blog"]) != 2 {
		t.Errorf("%v", rendered)
	}
	apps[0].Removed = true
	if rendered, err = w.Rendered(w.ctx, install, apps); err != nil || len(rendered) != 1 {
		t.Errorf("with a tombstone %v, %v", rendered, err)
	}
	apps[1].Manifests.Size = desired.MaxRendered + 1
	_, err = w.Rendered(w.ctx, install, apps)
	w.refused(err, fault.Invalid, "objects_too_large")
}
