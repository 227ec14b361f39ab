package store

import (
	"encoding/json"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
)

// What has no columns of its own is kept as JSON in these forms, whose names stay when those of the records change.

type parameterForm struct {
	Name             string                 `json:"name"`
	Type             delivery.ParameterType `json:"type"`
	Default          string                 `json:"default,omitempty"`
	HasDefault       bool                   `json:"has_default,omitempty"`
	Required         bool                   `json:"required,omitempty"`
	Secret           bool                   `json:"secret,omitempty"`
	CustomerSettable bool                   `json:"customer_settable,omitempty"`
	Pattern          string                 `json:"pattern,omitempty"`
	Values           []string               `json:"values,omitempty"`
}

type requirementForm struct {
	App      string `json:"app"`
	Versions string `json:"versions,omitempty"`
}

type choiceForm struct {
	App        string            `json:"app"`
	Version    string            `json:"version,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

type differenceForm struct {
	App    string `json:"app"`
	What   string `json:"what"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

type blobForm struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

type sealForm struct {
	Parameter string `json:"parameter"`
	Secret    string `json:"secret"`
	Key       string `json:"key"`
	SHA256    string `json:"sha256,omitempty"`
}

type usageForm struct {
	Apps        int64 `json:"apps"`
	Replicas    int64 `json:"replicas"`
	MilliCPU    int64 `json:"milli_cpu"`
	MemoryBytes int64 `json:"memory_bytes"`
}

type desiredAppForm struct {
	App        string            `json:"app"`
	Version    string            `json:"version"`
	Release    string            `json:"release"`
	Manifests  blobForm          `json:"manifests"`
	Images     []string          `json:"images,omitempty"`
	Objects    []string          `json:"objects,omitempty"`
	Requires   []string          `json:"requires,omitempty"`
	Seals      []sealForm        `json:"seals,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Usage      usageForm         `json:"usage"`
	Since      int64             `json:"since"`
	Retry      int64             `json:"retry,omitempty"`
	Suspended  bool              `json:"suspended,omitempty"`
	RunUntil   instant           `json:"run_until,omitzero"`
	Removed    bool              `json:"removed,omitempty"`
}

func parameterFormOf(v delivery.Parameter) parameterForm       { return parameterForm(v) }
func (f parameterForm) value() delivery.Parameter              { return delivery.Parameter(f) }
func requirementFormOf(v delivery.Requirement) requirementForm { return requirementForm(v) }
func (f requirementForm) value() delivery.Requirement          { return delivery.Requirement(f) }
func choiceFormOf(v delivery.Choice) choiceForm                { return choiceForm(v) }
func (f choiceForm) value() delivery.Choice                    { return delivery.Choice(f) }
func differenceFormOf(v delivery.Difference) differenceForm    { return differenceForm(v) }
func (f differenceForm) value() delivery.Difference            { return delivery.Difference(f) }

func sealFormOf(v delivery.Seal) sealForm { return sealForm(v) }
func (f sealForm) value() delivery.Seal   { return delivery.Seal(f) }

func desiredAppFormOf(v delivery.DesiredApp) desiredAppForm {
	return desiredAppForm{
		App: v.App, Version: v.Version, Release: v.Release, Manifests: blobForm(v.Manifests), Images: v.Images,
		Objects: v.Objects, Requires: v.Requires, Seals: each(v.Seals, sealFormOf), Parameters: v.Parameters, Usage: usageForm(v.Usage),
		Since: v.Since, Retry: v.Retry, Suspended: v.Suspended, RunUntil: instant(v.RunUntil), Removed: v.Removed,
	}
}

func (f desiredAppForm) value() delivery.DesiredApp {
	return delivery.DesiredApp{
		App: f.App, Version: f.Version, Release: f.Release, Manifests: delivery.Blob(f.Manifests), Images: f.Images,
		Objects: f.Objects, Requires: f.Requires, Seals: each(f.Seals, sealForm.value), Parameters: f.Parameters,
		Usage: entitlement.Usage(f.Usage), Since: f.Since, Retry: f.Retry, Suspended: f.Suspended,
		RunUntil: time.Time(f.RunUntil), Removed: f.Removed,
	}
}

// each converts a list; one of nothing is nil.
func each[A, B any](from []A, convert func(A) B) []B {
	if len(from) == 0 {
		return nil
	}
	out := make([]B, 0, len(from))
	for _, a := range from {
		out = append(out, convert(a))
	}
	return out
}

// IsZero says whether a document leaves the time out.
func (i instant) IsZero() bool { return time.Time(i).IsZero() }

// MarshalJSON writes a time as it is in a column.
func (i instant) MarshalJSON() ([]byte, error) { return json.Marshal(micros(time.Time(i))) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (i *instant) UnmarshalJSON(b []byte) error {
	var at int64
	if err := json.Unmarshal(b, &at); err != nil {
		return err
	}
	*i = instant(time.UnixMicro(at).UTC())
	return nil
}
