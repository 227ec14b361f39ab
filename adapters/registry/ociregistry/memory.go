package ociregistry

import (
	"slices"
	"sync"
	"time"

	"berth/domain/delivery"
	"berth/ports/clock"
	"berth/ports/registry"
)

// key is what an answer holds for: the registry as it is registered, and what was asked.
type key struct {
	from delivery.Registry
	ref  delivery.ImageReference
}

func keyOf(from delivery.Registry, ref delivery.ImageReference) key {
	from.CreatedAt = time.Time{}
	if ref.Digest != "" {
		ref.Tag = ""
	}
	return key{from, ref}
}

// memory is what was found lately. All entries live equally long, so that the oldest is the next to end, and the one to
// go where there is no room.
type memory struct {
	clock clock.Clock

	mu      sync.Mutex
	entries map[key]entry
	order   []key // by age
}

type entry struct {
	image registry.Image
	until time.Duration // by the clock's Elapsed
}

func newMemory(c clock.Clock) *memory { return &memory{clock: c, entries: map[key]entry{}} }

func (m *memory) get(k key) (registry.Image, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[k]
	if !ok || e.until <= m.clock.Elapsed() {
		return registry.Image{}, false
	}
	return copied(e.image), true
}

func (m *memory) put(k key, image registry.Image) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Elapsed()
	if e, ok := m.entries[k]; ok && e.until > now {
		return // somebody else just found it too; it lives no longer for that
	}
	for len(m.order) > 0 && (m.entries[m.order[0]].until <= now || len(m.order) >= rememberMost) {
		delete(m.entries, m.order[0])
		m.order = m.order[1:]
	}
	m.entries[k] = entry{copied(image), now + rememberFor}
	m.order = append(m.order, k)
}

func copied(image registry.Image) registry.Image {
	image.Platforms = slices.Clone(image.Platforms)
	return image
}
