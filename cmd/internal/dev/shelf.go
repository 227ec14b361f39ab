package dev

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// shelf is a registry on loopback with the images of the apps of the demonstration, so that what is asked of a registry is
// asked of one. It is filled anew with each start, by the same bytes.
type shelf struct{ listener net.Listener }

const shelfFile = "registry"

// serve runs the registry until the context ends.
func (s shelf) serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           registry.New(registry.Logger(log.New(io.Discard, "", 0))),
		ReadHeaderTimeout: 5 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(s.listener)
	if ctx.Err() != nil {
		return nil // it was stopped
	}
	return fmt.Errorf("the registry: %w", err)
}

func (s shelf) host() string { return s.listener.Addr().String() }

// fill puts the images there.
func (s shelf) fill(ctx context.Context) error {
	for _, app := range demoApps() {
		for _, version := range app.versions {
			image, err := scratch(app.id + " " + version)
			if err != nil {
				return err
			}
			ref, err := name.NewTag(s.image(app.id, version), name.Insecure)
			if err != nil {
				return err
			}
			if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s shelf) image(app, version string) string {
	return s.host() + "/demo/" + app + ":" + version
}

// scratch is an image with one file, the same for the same text.
func scratch(text string) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := w.WriteHeader(&tar.Header{Name: "what", Mode: 0o444, Size: int64(len(text)), Format: tar.FormatUSTAR}); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	return mutate.ConfigFile(image, config)
}
