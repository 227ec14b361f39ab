package registrytest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/registry"
)

const host = "registry.example:5000"

func subject(m *Memory) Subject {
	digestOf := func(pinned string) string {
		_, digest, _ := strings.Cut(pinned, "@")
		return digest
	}
	at := func(repository, tag string) string { return host + "/" + repository + ":" + tag }
	pins := map[string]string{}
	return Subject{
		Images: m, Charts: m, Registry: delivery.Registry{Host: host},
		Put: func(_ testing.TB, repository, tag string, platforms ...string) string {
			pins[at(repository, tag)] = m.Put(at(repository, tag), platforms...)
			return digestOf(pins[at(repository, tag)])
		},
		PutChart: func(_ testing.TB, repository, tag string, packaged []byte) string {
			return digestOf(m.PutChart(at(repository, tag), packaged))
		},
		Remove: func(_ testing.TB, repository, tag string) {
			m.Remove(at(repository, tag))
			m.Remove(pins[at(repository, tag)])
		},
		Break: func(_ testing.TB, broken bool) {
			if broken {
				m.Break(host, errors.New("away"))
			} else {
				m.Break(host, nil)
			}
		},
		Forget: func() {},
	}
}

// The registries in memory keep every law, and count what they are asked.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Subject { return subject(NewMemory()) })
	m := NewMemory()
	m.Put(host + "/shop:1.0")
	image, err := m.Resolve(t.Context(), []delivery.Registry{{Host: host}}, host+"/shop:1.0")
	if err != nil || m.Asked() != 1 || !slices.Equal(image.Platforms, []string{"linux/amd64"}) {
		t.Fatalf("%+v, %v, asked %d times", image, err, m.Asked())
	}
}

type (
	resolving func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error)
	fetching  func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error)
)

// mutant is Memory with a call replaced.
type mutant struct {
	*Memory
	resolve resolving
	chart   fetching
}

func (m mutant) Resolve(ctx context.Context, r []delivery.Registry, reference string) (registry.Image, error) {
	if m.resolve != nil {
		return m.resolve(ctx, m.Memory, r, reference)
	}
	return m.Memory.Resolve(ctx, r, reference)
}

func (m mutant) Chart(ctx context.Context, r []delivery.Registry, reference string) ([]byte, error) {
	if m.chart != nil {
		return m.chart(ctx, m.Memory, r, reference)
	}
	return m.Memory.Chart(ctx, r, reference)
}

// changed is a client that changes what was found.
func changed(change func(*registry.Image)) resolving {
	return func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
		image, err := m.Resolve(ctx, r, reference)
		if err == nil {
			change(&image)
		}
		return image, err
	}
}

// answering is a client that answers some faults with another.
func answering(slug string, instead error) resolving {
	return func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
		image, err := m.Resolve(ctx, r, reference)
		if fault.SlugOf(err) == slug {
			return image, instead
		}
		return image, err
	}
}

// remembering is a client that answers the second time as the first, also what failed where failures says so.
func remembering(failures bool, key func(r []delivery.Registry, reference string) string) func() resolving {
	return func() resolving {
		type answer struct {
			image registry.Image
			err   error
		}
		known := map[string]answer{}
		return func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
			if a, ok := known[key(r, reference)]; ok {
				return a.image, a.err
			}
			image, err := m.Resolve(ctx, r, reference)
			if err == nil || failures {
				known[key(r, reference)] = answer{image, err}
			}
			return image, err
		}
	}
}

// swapped is a client that reads another reference than it was given.
func swapped(read func(string) string) resolving {
	return func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
		image, err := m.Resolve(ctx, r, read(reference))
		image.Reference = reference
		return image, err
	}
}

func withoutDigest(reference string) string {
	if name, _, ok := strings.Cut(reference, "@"); ok && strings.Count(name, ":") > 1 {
		return name
	}
	return reference
}

func always[T any](v T) func() T { return func() T { return v } }

func byReference(_ []delivery.Registry, reference string) string { return reference }

// Each broken client is caught by the law that forbids its fault.
func TestMutantsOfImagesAreCaught(t *testing.T) {
	t.Parallel()
	missing := fault.New(fault.NotFound, "image_missing", "none")
	unavailable := fault.New(fault.Unavailable, "image_check_unavailable", "away")
	for _, c := range []struct {
		law    string
		broken func() resolving
	}{
		{"a tag is pinned to what it names", always(changed(func(i *registry.Image) { i.Pinned = i.Reference }))},
		{"a tag is pinned to what it names", always(changed(func(i *registry.Image) { i.Reference = i.Pinned }))},
		{"a digest counts, whatever the tag beside it", always(swapped(withoutDigest))},
		{"the platforms of an image are told", always(changed(func(i *registry.Image) { i.Platforms = i.Platforms[:1] }))},
		{"the platforms of an image are told", always(changed(func(i *registry.Image) { slices.Reverse(i.Platforms) }))},
		{"a tag that moves takes no pin with it", remembering(false, byReference)},
		{"what a registry has not is missing", always(answering("image_missing", unavailable))},
		{"what is missing is not remembered", remembering(true, byReference)},
		{"a registry that fails never has an image", always(answering("image_check_unavailable", missing))},
		{"a registry that fails never has an image", always(answering("image_check_unavailable", nil))},
		{"a registry that fails never has an image", remembering(false, byReference)},
		{"a registry that came back is believed", remembering(true, byReference)},
		{"an ended context is heeded", always(resolving(
			func(_ context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
				return m.Resolve(context.Background(), r, reference)
			}))},
		{"only registries that are given are asked", always(resolving(
			func(ctx context.Context, m *Memory, _ []delivery.Registry, reference string) (registry.Image, error) {
				return m.Resolve(ctx, []delivery.Registry{{Host: host}}, reference)
			}))},
		{"a registry that is taken away is asked no more, whatever is remembered", remembering(false, byReference)},
		{"a mirror answers in the name of another host", always(resolving(
			func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) (registry.Image, error) {
				return m.Resolve(ctx, r[:1], reference)
			}))},
		{"a mirror answers in the name of another host", always(changed(func(i *registry.Image) {
			i.Pinned = host + strings.TrimPrefix(i.Pinned, "vendor.example")
		}))},
		{"a reference that leaves something to be guessed is refused", always(answering("image_reference_invalid", missing))},
		{"a reference that leaves something to be guessed is refused", always(swapped(strings.ToLower))},
		{"an image is no chart, and a chart no image", always(answering("image_check_unavailable", nil))},
	} {
		law.Caught(t, laws(), c.law, func(testing.TB) Subject {
			m := NewMemory()
			s := subject(m)
			s.Images = mutant{Memory: m, resolve: c.broken()}
			return s
		})
	}
}

// Each broken fetcher of charts is caught by the law that forbids its fault.
func TestMutantsOfChartsAreCaught(t *testing.T) {
	t.Parallel()
	replacing := func(slug string, instead error) fetching {
		return func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			b, err := m.Chart(ctx, r, reference)
			if fault.SlugOf(err) == slug {
				return nil, instead
			}
			return b, err
		}
	}
	for _, c := range []struct {
		law    string
		broken fetching
	}{
		{"a chart arrives as it was pushed", func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			b, err := m.Chart(ctx, r, reference)
			return b[:len(b)/2], err
		}},
		{"a chart arrives as it was pushed", func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			return m.Chart(ctx, r, "oci://"+strings.TrimPrefix(reference, "oci://"))
		}},
		{"a chart is found by its digest", func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			name, _, _ := strings.Cut(reference, "@")
			return m.Chart(ctx, r, name+":1.0.0")
		}},
		{"a chart that is not there is missing", replacing("chart_missing", fault.New(fault.Unavailable, "chart_unavailable", "away"))},
		{"a registry that fails has no chart either", replacing("chart_unavailable", fault.New(fault.NotFound, "chart_missing", "none"))},
		{"a registry that fails has no chart either", replacing("chart_unavailable", nil)},
		{"an image is no chart, and a chart no image", replacing("chart_invalid", nil)},
		{"an ended context is heeded", func(_ context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			return m.Chart(context.Background(), r, reference)
		}},
		{"only registries that are given are asked", func(ctx context.Context, m *Memory, _ []delivery.Registry, reference string) ([]byte, error) {
			return m.Chart(ctx, []delivery.Registry{{Host: host}}, reference)
		}},
		{"a mirror answers in the name of another host", func(ctx context.Context, m *Memory, r []delivery.Registry, reference string) ([]byte, error) {
			return m.Chart(ctx, []delivery.Registry{{Host: r[0].Host}}, reference)
		}},
	} {
		law.Caught(t, laws(), c.law, func(testing.TB) Subject {
			m := NewMemory()
			s := subject(m)
			s.Charts = mutant{Memory: m, chart: c.broken}
			return s
		})
	}
}
