package catalog

import (
	"context"
	"encoding/base64"
	"strings"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// source is what a release is rendered from, as it is stored.
func (c *Catalog) source(ctx context.Context, in CreateReleaseRequest, registries []delivery.Registry) ([]byte, error) {
	switch in.Kind {
	case delivery.SourceManifests:
		if in.Chart != "" {
			return nil, fault.New(fault.Invalid, "source_kind_unknown", "a source of manifests has files, and no chart").At("source.chart")
		}
		source, errs := delivery.EncodeFiles(in.Files)
		return source, fault.All(errs...)
	case delivery.SourceHelm:
		if len(in.Files) > 0 {
			return nil, fault.New(fault.Invalid, "source_kind_unknown", "a source of helm has a chart, and no files").At("source.files")
		}
		return c.chart(ctx, in.Chart, registries)
	}
	return nil, nil // which the release says of its kind
}

// chart fetches a chart by its reference, or takes the one that was sent.
func (c *Catalog) chart(ctx context.Context, chart string, registries []delivery.Registry) ([]byte, error) {
	var packaged []byte
	var err error
	if strings.HasPrefix(chart, "oci://") {
		packaged, err = c.Charts.Chart(ctx, registries, chart)
	} else if packaged, err = base64.StdEncoding.DecodeString(chart); err != nil || len(packaged) == 0 {
		return nil, fault.New(fault.Invalid, "chart_invalid", "a chart is oci://host/repository:version, or a packaged chart in base64").
			At("source.chart").Because(err)
	}
	if err == nil && len(packaged) > delivery.MaxSource {
		err = fault.New(fault.Invalid, "chart_too_large", "a packaged chart has at most %d bytes", delivery.MaxSource).At("source.chart")
	}
	return packaged, err
}
