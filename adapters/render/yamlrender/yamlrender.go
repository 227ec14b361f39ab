// Package yamlrender renders releases of plain YAML. A scalar whose whole text is ${name} is replaced by the typed value
// of the parameter, in the decoded document and never in its text, so that no value can become structure (D2); $${name}
// stands for the text ${name}, and a ${name} within longer text is left as it is.
package yamlrender

import (
	"context"
	"maps"
	"slices"

	"berth/adapters/render/yamldoc"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// maxFaults is how many faults are told of one source.
const maxFaults = 100

// Renderer renders manifests. The zero value is ready.
type Renderer struct{}

var _ render.Renderer = Renderer{}

// Render is as render.Renderer has it.
func (Renderer) Render(ctx context.Context, job render.Job) ([]render.Document, error) {
	files, err := delivery.DecodeFiles(job.Source)
	if err != nil {
		return nil, err
	}
	var docs []render.Document
	var faults []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ctx.Err() != nil {
			return nil, fault.New(fault.Unavailable, "render_unavailable", "the request ended before its rendering").Because(ctx.Err())
		}
		found, errs := yamldoc.Parse(name, []byte(files[name]))
		for _, d := range found {
			d, wrong := substitute(d, job.Values)
			docs, errs = append(docs, d), append(errs, wrong...)
		}
		faults = append(faults, errs...)
	}
	if len(faults) > 0 {
		return nil, fault.All(faults[:min(len(faults), maxFaults)]...)
	}
	return docs, nil
}
