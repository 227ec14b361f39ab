package enginetest

import (
	"context"
	"testing"

	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
	"berth/ports/internal/law"
)

func memory(testing.TB) Disk {
	m := NewMemory()
	return Disk{Open: func(testing.TB) engine.Tenants { return m }}
}

func wholeMemory(testing.TB) EngineDisk {
	m := NewMemory()
	return EngineDisk{Open: func(_ testing.TB, l stream.Limits) Whole {
		m.Restart()
		m.Limit(l)
		return m
	}}
}

// The disk in memory keeps every law.
func TestMemory(t *testing.T) {
	t.Parallel()
	Run(t, memory)
	RunEngines(t, wholeMemory)
	RunIdentity(t, func(testing.TB) Safe {
		m := NewMemory()
		return Safe{Open: func(testing.TB) engine.Identity { return m }}
	})
}

// Each implementation broken on purpose is caught by the law that forbids its fault.
func TestMutants(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(*Memory) engine.Tenants{
		"the storage is named once":                  func(m *Memory) engine.Tenants { return renamed{m} },
		"home is what was settled last":              func(m *Memory) engine.Tenants { return homeless{m} },
		"what was seen never falls":                  func(m *Memory) engine.Tenants { return falling{m} },
		"seeing is one commit":                       func(m *Memory) engine.Tenants { return halfSeeing{m} },
		"seeing leaves the copy alone":               func(m *Memory) engine.Tenants { return clearing{m} },
		"a change is whole or nothing":               func(m *Memory) engine.Tenants { return keeping{m} },
		"a change can not lower what was seen":       func(m *Memory) engine.Tenants { return lowering{m} },
		"changes of a tenant come one after another": func(m *Memory) engine.Tenants { return overlapping{m} },
		"an ended context is told":                   func(m *Memory) engine.Tenants { return deaf{m} },
		"all comes in the order of ids":              func(m *Memory) engine.Tenants { return backwards{m} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, tenantLaws(), name, func(testing.TB) Disk {
				s := broken(NewMemory())
				return Disk{Open: func(testing.TB) engine.Tenants { return s }}
			})
		})
	}
	law.Caught(t, tenantLaws(), "everything survives a restart", func(testing.TB) Disk {
		return Disk{Open: func(testing.TB) engine.Tenants { return NewMemory() }}
	})
	forgetful := func(testing.TB) Safe { return Safe{Open: func(testing.TB) engine.Identity { return NewMemory() }} }
	for _, name := range []string{"a prepared key survives", "certificate and key change together", "spent tokens are remembered"} {
		law.Caught(t, identityLaws(), name, forgetful)
	}
	for name, broken := range map[string]func(*Memory) engine.Identity{
		"preparing leaves the current one alone": func(m *Memory) engine.Identity { return hasty{m} },
		"an installed key is prepared no more":   func(m *Memory) engine.Identity { return untidy{m} },
		"nothing is kept at first":               func(m *Memory) engine.Identity { return haunted{m} },
	} {
		law.Caught(t, identityLaws(), name, func(testing.TB) Safe {
			s := broken(NewMemory())
			return Safe{Open: func(testing.TB) engine.Identity { return s }}
		})
	}
}

type renamed struct{ *Memory }

func (m renamed) StorageID(_ context.Context, fresh func() string) (string, error) {
	return fresh(), nil
}

type homeless struct{ *Memory }

func (homeless) Settle(context.Context, engine.Home) error { return nil }

type falling struct{ *Memory }

func (m falling) Saw(_ context.Context, seen []engine.Seen) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range seen {
		m.tenants[s.Tenant] = engine.Kept{Seen: s}
	}
	return nil
}

type halfSeeing struct{ *Memory }

func (m halfSeeing) Saw(ctx context.Context, seen []engine.Seen) error {
	return m.Memory.Saw(ctx, seen[:min(1, len(seen))])
}

type clearing struct{ *Memory }

func (m clearing) Saw(ctx context.Context, seen []engine.Seen) error {
	err := m.Memory.Saw(ctx, seen)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range seen {
		k := m.tenants[s.Tenant]
		k.Copy = placement.Copy{}
		m.tenants[s.Tenant] = k
	}
	return err
}

type keeping struct{ *Memory }

func (m keeping) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	var own error
	k, err := m.Memory.Change(ctx, tenant, func(k *engine.Kept) error { own = change(k); return nil })
	if own != nil {
		return engine.Kept{}, own
	}
	return k, err
}

type lowering struct{ *Memory }

func (m lowering) Change(_ context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.get(tenant)
	if err := change(&k); err != nil {
		return engine.Kept{}, err
	}
	k.Tenant = tenant
	m.tenants[tenant] = k
	return k, nil
}

type overlapping struct{ *Memory }

func (m overlapping) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	k := m.Look(tenant)
	if err := change(&k); err != nil {
		return engine.Kept{}, err
	}
	m.mu.Lock()
	before := m.tenants[tenant].Sequence
	m.mu.Unlock()
	k.Sequence = max(1, before) // what another one added meanwhile is lost
	return m.Memory.Change(ctx, tenant, func(now *engine.Kept) error { *now = k; return nil })
}

type deaf struct{ *Memory }

func (m deaf) Saw(_ context.Context, seen []engine.Seen) error {
	return m.Memory.Saw(context.Background(), seen)
}

type backwards struct{ *Memory }

func (m backwards) All(ctx context.Context, each func(engine.Kept) error) error {
	var out []engine.Kept
	if err := m.Memory.All(ctx, func(k engine.Kept) error { out = append(out, k); return nil }); err != nil {
		return err
	}
	for i := range out {
		if err := each(out[len(out)-1-i]); err != nil {
			return err
		}
	}
	return nil
}

type hasty struct{ *Memory }

func (m hasty) Prepare(ctx context.Context, k engine.NextKey) error {
	m.mu.Lock()
	if m.current != nil {
		m.current.Key = k.Key
	}
	m.mu.Unlock()
	return m.Memory.Prepare(ctx, k)
}

type untidy struct{ *Memory }

func (m untidy) Install(ctx context.Context, c engine.Credential) error {
	next := m.next
	err := m.Memory.Install(ctx, c)
	m.next = next
	return err
}

type haunted struct{ *Memory }

func (haunted) Spent(context.Context, [32]byte) (bool, error) { return true, nil }
