package ociregistry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"berth/ports/registry"
)

var (
	errNoImage   = errors.New("what is there is no image")
	errAmbiguous = errors.New("what is there is an index and an image at once, or says so")
	errTooDeep   = errors.New("indexes are nested deeper than they are read")
)

// maxDepth bounds indexes within indexes.
const maxDepth = 3

func (s *session) image(ctx context.Context) (registry.Image, error) {
	found, err := s.manifest(ctx)
	if err != nil {
		return registry.Image{}, err
	}
	platforms, err := s.platforms(ctx, found, 0)
	if err == nil && len(platforms) == 0 {
		err = errNoImage
	}
	if err != nil {
		return registry.Image{}, s.failed(ctx, err)
	}
	slices.Sort(platforms)
	return registry.Image{Pinned: s.ref.Pin(found.Digest.String()), Platforms: slices.Compact(platforms)}, nil
}

func (s *session) platforms(ctx context.Context, found *remote.Descriptor, depth int) ([]string, error) {
	if err := unambiguous(found); err != nil {
		return nil, err
	}
	switch {
	case found.MediaType.IsIndex():
		return s.platformsOfIndex(ctx, found, depth)
	case found.MediaType.IsImage():
		return s.platformOfImage(ctx, found)
	default: // schema 1 too, which says nothing that could be checked
		return nil, fmt.Errorf("media type %s: %w", found.MediaType, errNoImage)
	}
}

// unambiguous refuses a manifest that different readers take for different things (CVE-2021-41190).
func unambiguous(found *remote.Descriptor) error {
	var parts struct {
		MediaType types.MediaType `json:"mediaType"`
		Manifests json.RawMessage `json:"manifests"`
		Layers    json.RawMessage `json:"layers"`
		Config    json.RawMessage `json:"config"`
	}
	if err := json.Unmarshal(found.Manifest, &parts); err != nil {
		return err
	}
	index, image := parts.Manifests != nil, parts.Layers != nil || parts.Config != nil
	if index && image || parts.MediaType != "" && parts.MediaType != found.MediaType {
		return errAmbiguous
	}
	if index != found.MediaType.IsIndex() {
		return errNoImage
	}
	return nil
}

func (s *session) platformsOfIndex(ctx context.Context, found *remote.Descriptor, depth int) ([]string, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(found.Manifest))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, child := range index.Manifests {
		of, err := s.platformsOfChild(ctx, child, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// platformsOfChild takes an index's word for an image's platform, as a container runtime does, and reads on where it says
// none. Attestations are no images: their platform is unknown.
func (s *session) platformsOfChild(ctx context.Context, child v1.Descriptor, depth int) ([]string, error) {
	if child.MediaType.IsImage() && child.Platform != nil {
		return platform(child.Platform.OS, child.Platform.Architecture), nil
	}
	if !child.MediaType.IsImage() && !child.MediaType.IsIndex() {
		return nil, nil
	}
	found, err := s.get(ctx, s.repo.Digest(child.Digest.String()))
	if err != nil {
		return nil, err
	}
	return s.platforms(ctx, found, depth+1)
}

func (s *session) platformOfImage(ctx context.Context, found *remote.Descriptor) ([]string, error) {
	manifest, err := v1.ParseManifest(bytes.NewReader(found.Manifest))
	if err != nil {
		return nil, err
	}
	if !manifest.Config.MediaType.IsConfig() {
		return nil, fmt.Errorf("configuration of type %s: %w", manifest.Config.MediaType, errNoImage)
	}
	text, err := s.blob(ctx, manifest.Config.Digest)
	if err != nil {
		return nil, err
	}
	var config struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	return platform(config.OS, config.Architecture), nil
}

var platformForm = regexp.MustCompile(`\A[a-z0-9]{1,32}\z`)

// platform returns os/architecture, as Kubernetes tells nodes apart; nothing for one that is unknown or none.
func platform(os, architecture string) []string {
	if os == "unknown" || !platformForm.MatchString(os) || !platformForm.MatchString(architecture) {
		return nil
	}
	return []string{os + "/" + architecture}
}
