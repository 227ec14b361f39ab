// Package render is how a release's source becomes Kubernetes objects (D2). Rendering is a pure function of the source
// and the values: no network, no clock, no randomness, no cluster. What comes out is judged by domain/delivery.
package render

import (
	"context"

	"berth/domain/delivery"
)

// Job is one rendering.
type Job struct {
	Source    []byte            // manifests: the canonical JSON of {name: yaml}; helm: the packaged chart
	Release   string            // name of the app: a chart's release name
	Namespace string            // that everything is to be in
	Values    map[string]Value  // by parameter
	Versions  map[string]string // what a chart may ask of the cluster: "kubernetes"
}

// Value is a parameter's typed value. Of a secret one only its place is wanted: the renderer leaves an empty string there
// and says where (manifests only; charts take existingSecret).
type Value struct {
	Value  any // string, int64 or bool; nil: declared, and without a value: manifests leave out the field that it would be
	Secret bool
}

// Document is one object.
type Document = delivery.Document

// Renderers are the renderers by the kind of source.
type Renderers map[delivery.SourceKind]Renderer

// Renderer renders sources of one kind. Its methods are safe for concurrent use and bounded in time, memory and size.
type Renderer interface {
	// Render returns the objects in the order of the source: files by name, documents as they come, a List taken apart.
	// Faults: Invalid with every bad document named in Errors, by file and line: manifest_invalid, manifest_too_large,
	// manifest_ambiguous (duplicate keys, anchors, aliases, tags), parameter_unknown, chart_invalid, chart_dependency_missing,
	// chart_impure, chart_too_slow; Unavailable render_unavailable where the machine could not.
	Render(ctx context.Context, job Job) ([]Document, error)
}
