package registrytest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/registry"
)

// Memory is every registry there is, in memory: what was put under a host is what the registry of that host has. It
// remembers nothing of earlier answers. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	tags    map[string]string  // by host/repository:tag, the digest
	content map[string]content // by host/repository@digest
	broken  map[string]error   // by host
	asked   int
}

type content struct {
	platforms []string
	chart     []byte // nil for an image
}

var (
	_ registry.Images = (*Memory)(nil)
	_ registry.Charts = (*Memory)(nil)
)

// NewMemory returns registries that are empty.
func NewMemory() *Memory {
	return &Memory{tags: map[string]string{}, content: map[string]content{}, broken: map[string]error{}}
}

// Put makes an image be there under a tag, host/repository:tag, and returns it pinned. Without platforms it is one for
// linux/amd64. The digest stands for the reference and the platforms: putting the same again moves nothing.
func (m *Memory) Put(reference string, platforms ...string) string {
	if len(platforms) == 0 {
		platforms = []string{"linux/amd64"}
	}
	return m.put(reference, content{platforms: sorted(platforms)}, strings.Join(platforms, "\n"))
}

// PutChart makes a packaged chart be there under a tag, host/repository:version, and returns it pinned, without oci://.
func (m *Memory) PutChart(reference string, packaged []byte) string {
	return m.put(reference, content{chart: slices.Clone(packaged)}, string(packaged))
}

func (m *Memory) put(reference string, c content, identity string) string {
	r := mustParse(reference)
	sum := sha256.Sum256([]byte(reference + "\n" + identity))
	pinned := r.Pin("sha256:" + hex.EncodeToString(sum[:]))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tags[key(r)] = pinned
	m.content[pinned] = c
	return pinned
}

// Remove takes a tag away; by its digest the image stays, until that is removed too.
func (m *Memory) Remove(reference string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tags, key(mustParse(reference)))
	delete(m.content, key(mustParse(reference)))
}

// Break makes the registry of a host fail because of cause, until Break(host, nil).
func (m *Memory) Break(host string, cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken[host] = cause
}

// Asked returns how many times a registry was asked for something.
func (m *Memory) Asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// Resolve is registry.Images's.
func (m *Memory) Resolve(ctx context.Context, registries []delivery.Registry, reference string) (registry.Image, error) {
	r, bad := delivery.ParseImage(reference)
	if bad != nil {
		return registry.Image{}, bad
	}
	pinned, c, err := m.find(ctx, registries, r, words{"image_missing", "image_check_unavailable"})
	if err != nil {
		return registry.Image{}, err
	}
	if c.chart != nil {
		return registry.Image{}, fault.New(fault.Unavailable, "image_check_unavailable", "%s is no image", reference)
	}
	_, digest, _ := strings.Cut(pinned, "@")
	return registry.Image{Reference: reference, Pinned: r.Pin(digest), Platforms: slices.Clone(c.platforms)}, nil
}

// Chart is registry.Charts's.
func (m *Memory) Chart(ctx context.Context, registries []delivery.Registry, reference string) ([]byte, error) {
	text, ok := strings.CutPrefix(reference, "oci://")
	if !ok {
		return nil, fault.New(fault.Invalid, "image_reference_invalid", "a chart's reference starts with oci://")
	}
	r, bad := delivery.ParseImage(text)
	if bad != nil {
		return nil, bad
	}
	_, c, err := m.find(ctx, registries, r, words{"chart_missing", "chart_unavailable"})
	if err != nil {
		return nil, err
	}
	if c.chart == nil {
		return nil, fault.New(fault.Invalid, "chart_invalid", "%s is no chart", reference)
	}
	return slices.Clone(c.chart), nil
}

// words are the slugs of two of the faults.
type words struct{ missing, unavailable string }

func (m *Memory) find(ctx context.Context, registries []delivery.Registry, r delivery.ImageReference, w words) (string, content, error) {
	from, bad := delivery.RegistryOf(registries, r.Host)
	if bad != nil {
		return "", content{}, bad
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	cause := m.broken[from.Host]
	if cause == nil {
		cause = ctx.Err()
	}
	if cause != nil {
		return "", content{}, fault.New(fault.Unavailable, w.unavailable, "%s could not be asked", from.Host).Because(cause)
	}
	r.Host = from.Host
	pinned := r.Pin(r.Digest)
	if r.Digest == "" {
		pinned = m.tags[key(r)]
	}
	c, ok := m.content[pinned]
	if !ok {
		return "", content{}, fault.New(fault.NotFound, w.missing, "%s has none such", from.Host)
	}
	return pinned, c, nil
}

func key(r delivery.ImageReference) string {
	if r.Digest != "" {
		return r.Pin(r.Digest)
	}
	return r.Host + "/" + r.Repository + ":" + r.Tag
}

func mustParse(reference string) delivery.ImageReference {
	r, bad := delivery.ParseImage(reference)
	if bad != nil {
		panic(bad) // a test's own mistake
	}
	return r
}

func sorted(platforms []string) []string {
	s := slices.Clone(platforms)
	slices.Sort(s)
	return slices.Compact(s)
}
