// Package exchange is what the renderer of charts and its child say to one another: a job on the child's standard input,
// an answer on its standard output, each one JSON value.
package exchange

// MaxJob bounds a job and MaxAnswer an answer, in bytes of JSON.
const (
	MaxJob    = 8 << 20
	MaxAnswer = 8 << 20
)

// Job is one rendering.
type Job struct {
	Chart       []byte         `json:"chart"` // packaged
	Release     string         `json:"release"`
	Namespace   string         `json:"namespace"`
	Values      map[string]any `json:"values"` // nested; text, whole numbers and booleans
	KubeVersion string         `json:"kube_version"`
	Limits      Limits         `json:"limits"`
}

// Limits are what the child takes for itself before it reads a chart.
type Limits struct {
	Memory  int64 `json:"memory"`  // bytes of data, beside what the process has before it begins; 0: no limit
	CPU     int64 `json:"cpu"`     // seconds; 0: no limit
	Output  int   `json:"output"`  // bytes of all that is rendered
	Content int64 `json:"content"` // bytes of all that is unpacked
}

// Answer is what was rendered, or why it was not.
type Answer struct {
	Files  []File `json:"files,omitempty"` // by name
	Slug   string `json:"slug,omitempty"`  // a fault's: chart_invalid, chart_impure, chart_dependency_missing, manifest_too_large
	Detail string `json:"detail,omitempty"`
	Cure   string `json:"cure,omitempty"`
}

// File is what one template became.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}
