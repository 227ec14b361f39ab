// Package registrytest is the suite that every client of registries passes, and registries in memory for other tests.
package registrytest

import (
	"context"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/registry"
)

// Subject is a client and one registry, which is empty. Repositories are named without the host.
type Subject struct {
	Images   registry.Images
	Charts   registry.Charts
	Registry delivery.Registry

	Put      func(tb testing.TB, repository, tag string, platforms ...string) (digest string) // one platform: no index
	PutChart func(tb testing.TB, repository, tag string, packaged []byte) (digest string)
	Remove   func(tb testing.TB, repository, tag string) // what the tag names is gone, by its digest too
	Break    func(tb testing.TB, broken bool)            // whether the registry fails
	Forget   func()                                      // as much time passes as the client remembers anything
}

// Run checks every law, each on a subject of its own.
func Run(t *testing.T, open func(tb testing.TB) Subject) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Subject] {
	return []law.Law[Subject]{
		{Name: "a tag is pinned to what it names", Check: pinsTags},
		{Name: "a digest counts, whatever the tag beside it", Check: prefersDigests},
		{Name: "the platforms of an image are told", Check: tellsPlatforms},
		{Name: "a tag that moves takes no pin with it", Check: keepsPins},
		{Name: "what a registry has not is missing", Check: missesImages},
		{Name: "what is missing is not remembered", Check: remembersNoMiss},
		{Name: "a registry that fails never has an image", Check: claimsNothing},
		{Name: "a registry that came back is believed", Check: comesBack},
		{Name: "an ended context is heeded", Check: heedsContext},
		{Name: "only registries that are given are asked", Check: asksRegistered},
		{Name: "a registry that is taken away is asked no more, whatever is remembered", Check: forgetsRegistries},
		{Name: "a mirror answers in the name of another host", Check: mirrors},
		{Name: "a reference that leaves something to be guessed is refused", Check: refusesReferences},
		{Name: "a chart arrives as it was pushed", Check: fetchesCharts},
		{Name: "a chart is found by its digest", Check: pinsCharts},
		{Name: "a chart that is not there is missing", Check: missesCharts},
		{Name: "a registry that fails has no chart either", Check: claimsNoChart},
		{Name: "an image is no chart, and a chart no image", Check: tellsThemApart},
	}
}

func (s Subject) registries() []delivery.Registry { return []delivery.Registry{s.Registry} }

func (s Subject) resolve(tb testing.TB, reference string) (registry.Image, error) {
	tb.Helper()
	return s.Images.Resolve(tb.Context(), s.registries(), reference)
}

func (s Subject) found(tb testing.TB, reference string) registry.Image {
	tb.Helper()
	image, err := s.resolve(tb, reference)
	if err != nil {
		tb.Fatalf("%s is not found: %v", reference, err)
	}
	return image
}

func (s Subject) chart(tb testing.TB, reference string) ([]byte, error) {
	tb.Helper()
	return s.Charts.Chart(tb.Context(), s.registries(), "oci://"+reference)
}

func (s Subject) named(rest string) string { return s.Registry.Host + "/" + rest }

func refused(tb testing.TB, what string, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		tb.Fatalf("%s is answered with %v, not with %v %s", what, err, kind, slug)
	}
}

func ended(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	return ctx
}
