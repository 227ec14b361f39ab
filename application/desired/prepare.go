package desired

import (
	"context"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// PrepareRequest asks for an app as it is to run.
type PrepareRequest struct {
	Deployment delivery.DeploymentRecord
	Choice     delivery.Choice // with a version
	By         delivery.Chooser
	// Keep are the parameters that the app has at present. Those that the release still declares, and that Choice does
	// not set, are kept.
	Keep      map[string]string
	Platforms []string               // of the cluster; none: not known, and any will do
	Secrets   []delivery.SecretValue // that are set with the same change
}

// Prepared is an app ready to be put into a desired state.
type Prepared struct {
	App     delivery.DesiredApp
	Objects [][]byte // to be stored with it
	Release delivery.Release
}

// Prepare makes of a choice what is to run: the release with its parameters settled, rendered, judged by what this
// deployment allows, each image looked up and pinned. It changes nothing. All that stands against it is told together:
// NotFound version_unknown; Invalid parameter_…, manifest_…, ingress_host_refused, registry_unknown, image_missing,
// platform_unsupported; Unavailable image_check_unavailable, render_unavailable.
func (d *Desired) Prepare(ctx context.Context, in PrepareRequest) (Prepared, []*fault.Error) {
	return Prepared{}, []*fault.Error{fault.New(fault.Unavailable, "render_unavailable", "there is no renderer yet")}
}
