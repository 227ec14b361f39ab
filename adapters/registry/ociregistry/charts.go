package ociregistry

import (
	"bytes"
	"context"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"berth/domain/delivery"
	"berth/domain/fault"
)

const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

	// maxChart is the most that a release's source may have.
	maxChart = 1 << 20
)

// Chart is registry.Charts's.
func (c *Client) Chart(ctx context.Context, registries []delivery.Registry, reference string) ([]byte, error) {
	text, ok := strings.CutPrefix(reference, "oci://")
	if !ok {
		return nil, fault.New(fault.Invalid, "image_reference_invalid", "a chart's reference starts with oci://").
			Curable("write oci://host/repository:version")
	}
	ref, bad := delivery.ParseImage(text)
	if bad != nil {
		return nil, bad
	}
	from, bad := delivery.RegistryOf(registries, ref.Host)
	if bad != nil {
		return nil, bad
	}
	var packaged []byte
	err := c.look(ctx, registries, target{from, ref, ofCharts}, func(ctx context.Context, s *session) (err error) {
		packaged, err = s.chart(ctx)
		return err
	})
	return packaged, err
}

func (s *session) chart(ctx context.Context) ([]byte, error) {
	found, err := s.manifest(ctx)
	if err != nil {
		return nil, err
	}
	content, err := s.chartLayer(ctx, found)
	if err != nil {
		return nil, err
	}
	packaged, err := s.blob(ctx, content.Digest)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if len(packaged) > maxChart {
		return nil, tooLarge(int64(len(packaged)))
	}
	return packaged, nil
}

func tooLarge(size int64) *fault.Error {
	return fault.New(fault.Invalid, "chart_too_large", "the chart has %d bytes, and %d are allowed", size, maxChart)
}

// chartLayer returns the one layer in which a chart is.
func (s *session) chartLayer(ctx context.Context, found *remote.Descriptor) (v1.Descriptor, error) {
	none := fault.New(fault.Invalid, "chart_invalid", "%s/%s is no Helm chart", s.ref.Host, s.ref.Repository).
		Curable("push it with helm push")
	if err := unambiguous(found); err != nil {
		return v1.Descriptor{}, s.failed(ctx, err)
	}
	if !found.MediaType.IsImage() {
		return v1.Descriptor{}, none
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
	if err != nil {
		return v1.Descriptor{}, s.failed(ctx, err)
	}
	isContent := func(d v1.Descriptor) bool { return d.MediaType == chartContent }
	at := slices.IndexFunc(manifest.Layers, isContent)
	if manifest.Config.MediaType != chartConfig || at < 0 || slices.ContainsFunc(manifest.Layers[at+1:], isContent) {
		return v1.Descriptor{}, none
	}
	if manifest.Layers[at].Size > maxChart {
		return v1.Descriptor{}, tooLarge(manifest.Layers[at].Size)
	}
	return manifest.Layers[at], nil
}
