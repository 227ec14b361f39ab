package ociregistry

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"berth/domain/delivery"
	"berth/e2e/lab"
)

// appended makes an index of what is added as it is added, with or without a platform.
func appended(add ...mutate.IndexAddendum) v1.ImageIndex {
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), add...)
}

// bare adds an image whose index does not say its platform.
func bare(what mutate.Appendable) mutate.IndexAddendum {
	return mutate.IndexAddendum{Add: what, Descriptor: v1.Descriptor{Platform: &v1.Platform{}}}
}

// The platforms of an index are those that it says, or else those of what it names, however it is nested within bounds;
// attestations are for none.
func TestPlatformsOfIndexes(t *testing.T) {
	t.Parallel()
	scratch := func(platform string) v1.Image { return lab.Scratch(t, platform, "shop") }
	arm := &v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}
	unknown := &v1.Platform{OS: "unknown", Architecture: "unknown"}
	silent := mutate.IndexAddendum{Add: scratch("linux/s390x")}
	deep := appended(silent)
	for range maxDepth {
		deep = appended(mutate.IndexAddendum{Add: deep})
	}
	var many []mutate.IndexAddendum
	for i := range maxFetched {
		many = append(many, mutate.IndexAddendum{Add: lab.Scratch(t, "linux/amd64", fmt.Sprint(i))})
	}
	for name, c := range map[string]struct {
		index v1.ImageIndex
		want  []string
	}{
		"a variant is its architecture": {appended(mutate.IndexAddendum{Add: scratch("linux/arm/v7"), Descriptor: v1.Descriptor{Platform: arm}}), []string{"linux/arm"}},
		"without a platform":            {appended(silent), []string{"linux/s390x"}},
		"with an empty platform":        {appended(bare(scratch("linux/s390x")), silent), []string{"linux/s390x"}},
		"nested":                        {appended(mutate.IndexAddendum{Add: lab.Index(t, "shop", "linux/arm64", "linux/amd64")}, silent), []string{"linux/amd64", "linux/arm64", "linux/s390x"}},
		"nested too deep":               {deep, nil},
		"more than is read":             {appended(many...), nil},
		"nothing but attestations":      {appended(mutate.IndexAddendum{Add: scratch("linux/amd64"), Descriptor: v1.Descriptor{Platform: unknown}}), nil},
		"an attestation beside":         {appended(silent, mutate.IndexAddendum{Add: scratch("linux/amd64"), Descriptor: v1.Descriptor{Platform: unknown}}), []string{"linux/s390x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, inProcess())
			pusher(t, s.Host).Image("shop", "1.0", c.index)
			b := newBench(t)
			if c.want == nil {
				b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
				return
			}
			image, err := b.client.Resolve(t.Context(), []delivery.Registry{s.registry()}, s.Host+"/shop:1.0")
			if err != nil || !slices.Equal(image.Platforms, c.want) {
				t.Errorf("%v, %v, not %v", image.Platforms, err, c.want)
			}
		})
	}
}

// A tag that moves while it is looked up is answered as it was at one moment: digest and platforms of the same image.
func TestATagThatMovesMeanwhile(t *testing.T) {
	t.Parallel()
	works := inProcess()
	h := &fickle{h: works}
	s := serve(t, h)
	p := pusher(t, s.Host)
	first := p.Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	h.set(only(http.MethodHead, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		works.ServeHTTP(w, r)
		h.set(works)
		p.Image("shop", "1.0", lab.Scratch(t, "linux/arm64", "shop"))
	}), works))
	image, err := newBench(t).client.Resolve(t.Context(), []delivery.Registry{s.registry()}, s.Host+"/shop:1.0")
	if err != nil || image.Pinned != s.Host+"/shop@"+first || !slices.Equal(image.Platforms, []string{"linux/amd64"}) {
		t.Errorf("%+v, %v, where the digest was %s", image, err, first)
	}
}

// A registry whose HEAD lacks the headers of an answer is asked by GET, and its content is what counts.
func TestARegistryWithoutHeaders(t *testing.T) {
	t.Parallel()
	works := inProcess()
	h := &fickle{h: works}
	s := serve(t, h)
	digest := pusher(t, s.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	h.set(over("/manifests/", only(http.MethodHead, answer(http.StatusOK), works), works))
	b := newBench(t)
	image, err := b.client.Resolve(t.Context(), []delivery.Registry{s.registry()}, s.Host+"/shop:1.0")
	if err != nil || image.Pinned != s.Host+"/shop@"+digest {
		t.Errorf("%+v, %v, where the digest is %s", image, err, digest)
	}
	b.refuses(s.Host+"/shop:2.0", "image_missing", s.registry())
}

// A chart is refused by what it is: too large, several at once, of another size than it says.
func TestChartsThatAreNone(t *testing.T) {
	t.Parallel()
	s := serve(t, inProcess())
	p := pusher(t, s.Host)
	p.Image("large", "1.0", lab.Chart(t, []byte(strings.Repeat("x", maxAnswer+1))))
	p.Image("largest", "1.0", lab.Chart(t, []byte(strings.Repeat("x", maxChart))))
	twice, err := mutate.Append(lab.Chart(t, []byte("one")), mutate.Addendum{Layer: layerOf(t, lab.Chart(t, []byte("two")))})
	if err != nil {
		t.Fatal(err)
	}
	p.Image("twice", "1.0", twice)
	p.Image("none", "1.0", mutate.ConfigMediaType(lab.Scratch(t, "linux/amd64", "x"), chartConfig))
	p.Image("index", "1.0", lab.Index(t, "x", "linux/amd64"))
	b := newBench(t)
	for repository, slug := range map[string]string{
		"large": "chart_too_large", "twice": "chart_invalid", "none": "chart_invalid", "index": "chart_invalid", "largest": "",
	} {
		packaged, err := b.client.Chart(t.Context(), []delivery.Registry{s.registry()}, "oci://"+s.Host+"/"+repository+":1.0")
		if slugOf(err) != slug || slug == "" && len(packaged) != maxChart {
			t.Errorf("%s is answered with %d bytes, %v, and not with %q", repository, len(packaged), err, slug)
		}
	}
}

func layerOf(t *testing.T, image v1.Image) v1.Layer {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	return layers[0]
}
