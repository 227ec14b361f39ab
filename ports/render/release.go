package render

import (
	"context"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// Request is a release, to be rendered with settled parameters.
type Request struct {
	Release   delivery.Release
	Source    []byte // the object that the release names
	Namespace string
	Values    map[string]string // delivery.Settle
	Versions  map[string]string // Job.Versions
}

// Release renders a release: what a renderer makes of its source, and beside a chart with secret parameters the Secret
// that the chart is given the name of (existingSecret). Faults: those of Renderer; Invalid source_kind_unknown.
func (r Renderers) Release(ctx context.Context, in Request) ([]Document, error) {
	renderer, ok := r[in.Release.Kind]
	if !ok {
		return nil, fault.New(fault.Invalid, "source_kind_unknown", "there is no renderer for %q", in.Release.Kind)
	}
	docs, err := renderer.Render(ctx, in.job())
	if err != nil || in.Release.Kind != delivery.SourceHelm {
		return docs, err
	}
	if secret, any := delivery.ParametersSecret(in.Release.App, in.Release.Parameters); any {
		docs = append(docs, secret)
	}
	return docs, nil
}

func (in Request) job() Job {
	chart := in.Release.Kind == delivery.SourceHelm
	values := map[string]Value{}
	for _, p := range in.Release.Parameters {
		text, settled := in.Values[p.Name]
		switch {
		case p.Secret && chart:
			values["existingSecret"] = Value{Value: delivery.ParametersSecretName(in.Release.App)}
		case p.Secret:
			values[p.Name] = Value{Value: "", Secret: true}
		case settled:
			values[p.Name] = Value{Value: p.Decode(text)}
		case !chart: // a chart has values of its own
			values[p.Name] = Value{}
		}
	}
	return Job{Source: in.Source, Release: in.Release.App, Namespace: in.Namespace, Values: values, Versions: in.Versions}
}
