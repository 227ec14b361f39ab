package enginetest

import (
	"maps"
	"slices"

	"berth/domain/stream"
)

// Hindrance is what goes wrong with what is appended to one tenant's Engine, and uploaded.
type Hindrance struct {
	Before error           // nothing is committed, and this is the answer
	After  error           // it is committed, and this is the answer
	Hold   <-chan struct{} // appends wait, uncommitted, until it is closed
}

// Hinder has the tenant's writes go wrong until it is called with the zero Hindrance.
func (m *Memory) Hinder(tenant string, h Hindrance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hindered[tenant] = h
}

// Damage makes what is kept of a tenant unreadable, or readable again.
func (m *Memory) Damage(tenant string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.damaged[tenant] = is
}

// Limit sets what a tenant may keep.
func (m *Memory) Limit(l stream.Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limits = l
}

// Restart ends every open Engine, as the end of the process does that had opened them: the disk is another's then.
func (m *Memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for tenant := range m.open {
		m.end(tenant)
	}
}

// contentOf is what is in a tenant's copy.
func (m *Memory) contentOf(tenant string) *content {
	c := m.copies[tenant]
	if c == nil {
		c = newContent()
		m.copies[tenant] = c
	}
	return c
}

func (m *Memory) cloneCopies() map[string]*content {
	out := map[string]*content{}
	for tenant, c := range m.copies {
		d := *c
		d.routes, d.published, d.buried = maps.Clone(c.routes), maps.Clone(c.published), maps.Clone(c.buried)
		for route, messages := range d.routes {
			d.routes[route] = slices.Clip(messages) // what either appends is its own
		}
		d.attachments, d.uploads = maps.Clone(c.attachments), map[upload]*part{}
		for name, p := range c.uploads {
			d.uploads[name] = &part{bytes: slices.Clip(p.bytes), at: p.at}
		}
		out[tenant] = &d
	}
	return out
}
