// Package registry is what Berth asks of OCI registries: whether an image exists, by what digest and for which platforms
// (E4), and the bytes of a chart. Only registries that an operator registered are ever spoken to, also by redirect.
package registry

import (
	"context"

	"berth/domain/delivery"
)

// Image is an image as a registry has it.
type Image struct {
	Reference string   // as it was asked for
	Pinned    string   // host/repository@sha256:…, with the host that references name, not the mirror's
	Platforms []string // "linux/amd64", sorted; of an index each of its manifests, of a single image its own
}

// Images tells what is in registries. Its methods are safe for concurrent use, bounded in time and in number, and may
// answer from a short memory of what exists; a miss or a failure is asked for anew.
type Images interface {
	// Resolve looks an image up by its reference, with a tag or a digest. Faults: Invalid image_reference_invalid (also
	// for one without tag and digest); Invalid registry_unknown for a host that is none of the registries; NotFound
	// image_missing where the registry answers that it has none; Unavailable image_check_unavailable for everything else,
	// such as no answer, 401, 403, 429, 500, a redirect to another host, an answer that is too large or makes no sense.
	Resolve(ctx context.Context, registries []delivery.Registry, reference string) (Image, error)
}

// Charts fetches packaged charts.
type Charts interface {
	// Chart returns the packaged chart (a gzipped tar) at oci://host/repository:version or @sha256:…, checked against its
	// digest. Faults: those of Resolve, with NotFound chart_missing and Unavailable chart_unavailable; Invalid
	// chart_too_large; Invalid chart_invalid for what is no chart.
	Chart(ctx context.Context, registries []delivery.Registry, reference string) ([]byte, error)
}
