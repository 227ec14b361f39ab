package lab

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Scratch makes an image FROM scratch without Docker, with one small layer. Its digest is that of its content: images of
// the same platform and words are the same.
func Scratch(tb testing.TB, platform, words string) v1.Image {
	tb.Helper()
	p, err := v1.ParsePlatform(platform)
	if err != nil {
		tb.Fatal(err)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		static.NewLayer([]byte(words), types.OCIUncompressedLayer))
	if err != nil {
		tb.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		tb.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = p.OS, p.Architecture, p.Variant
	if image, err = mutate.ConfigFile(image, config); err != nil {
		tb.Fatal(err)
	}
	return mutate.ConfigMediaType(image, types.OCIConfigJSON)
}

// Index makes an index of images, one for each platform.
func Index(tb testing.TB, words string, platforms ...string) v1.ImageIndex {
	tb.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			tb.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: Scratch(tb, platform, words), Descriptor: v1.Descriptor{Platform: p},
		})
	}
	return index
}

// Chart makes what helm push makes of a packaged chart.
func Chart(tb testing.TB, packaged []byte) v1.Image {
	tb.Helper()
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: static.NewLayer(packaged, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return mutate.ConfigMediaType(image, "application/vnd.cncf.helm.config.v1+json")
}

// Pusher writes to a registry: one that OCIRegistry started, or any other.
type Pusher struct {
	tb      testing.TB
	host    string
	options []remote.Option
}

// Push returns a writer to this registry, with its own credentials.
func (r *Registry) Push() Pusher {
	options := []remote.Option{remote.WithAuth(authn.FromConfig(authn.AuthConfig{Username: r.Username, Password: r.Password}))}
	if r.Username == "" {
		options = nil
	}
	if r.TLS {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(r.CA))
		t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		r.tb.Cleanup(t.CloseIdleConnections)
		options = append(options, remote.WithTransport(t))
	}
	return PushTo(r.tb, r.Host, options...)
}

// PushTo returns a writer to the registry at host[:port] of loopback.
func PushTo(tb testing.TB, host string, options ...remote.Option) Pusher {
	return Pusher{tb, host, options}
}

// what is pushed: an image or an index.
type pushed interface {
	remote.Taggable
	Digest() (v1.Hash, error)
}

// Image pushes an image or an index with all that it names, and returns its digest.
func (p Pusher) Image(repository, tag string, what pushed) string {
	p.tb.Helper()
	ref := p.reference(repository + ":" + tag)
	p.check(remote.Push(ref, what, p.options...))
	digest, err := what.Digest()
	p.check(err)
	return digest.String()
}

// Remove makes what a tag names be gone, by its digest too.
func (p Pusher) Remove(repository, tag string) {
	p.tb.Helper()
	ref := p.reference(repository + ":" + tag)
	found, err := remote.Head(ref, p.options...)
	p.check(err)
	p.check(remote.Delete(ref.Context().Digest(found.Digest.String()), p.options...))
	_ = remote.Delete(ref, p.options...) // where the tag did not go with it
}

func (p Pusher) reference(rest string) name.Reference {
	p.tb.Helper()
	ref, err := name.ParseReference(p.host+"/"+rest, name.StrictValidation)
	p.check(err)
	return ref
}

func (p Pusher) check(err error) {
	if err != nil {
		p.tb.Helper()
		p.tb.Fatal(err)
	}
}
