package enginetest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"berth/domain/stream"
	"berth/ports/engine"
)

// Memory is a disk in memory: what a restart finds again is what is in it. It is safe for concurrent use. Use NewMemory.
type Memory struct {
	mu      sync.Mutex
	storage string
	home    engine.Home
	tenants map[string]engine.Kept
	current *engine.Credential
	next    *engine.NextKey
	spent   [][32]byte
	broken  error

	copies   map[string]*content
	open     map[string]*memoryEngine
	limits   stream.Limits
	hindered map[string]Hindrance
	damaged  map[string]bool
}

var (
	_ engine.Tenants  = (*Memory)(nil)
	_ engine.Identity = (*Memory)(nil)
)

// NewMemory returns an empty disk.
func NewMemory() *Memory {
	return &Memory{
		tenants: map[string]engine.Kept{}, copies: map[string]*content{}, open: map[string]*memoryEngine{},
		limits: stream.DefaultLimits(), hindered: map[string]Hindrance{}, damaged: map[string]bool{},
	}
}

// Clone returns a copy of the disk as it is now, as somebody makes one who clones a machine.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemory()
	c.storage, c.home, c.tenants, c.copies, c.limits = m.storage, m.home, maps.Clone(m.tenants), m.cloneCopies(), m.limits
	c.current, c.next, c.spent = clone(m.current), m.next, slices.Clone(m.spent)
	return c
}

// Break makes every change fail with the error until it is called with nil. Nothing is changed meanwhile.
func (m *Memory) Break(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// enter holds the disk for one call.
func (m *Memory) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, engine.Ended(context.Cause(ctx))
	}
	m.mu.Lock()
	return m.mu.Unlock, nil
}

func (m *Memory) write(ctx context.Context) (leave func(), err error) {
	leave, err = m.enter(ctx)
	if err == nil && m.broken != nil {
		leave()
		return nil, engine.Away(m.broken)
	}
	return leave, err
}

// StorageID returns the name of the disk.
func (m *Memory) StorageID(ctx context.Context, fresh func() string) (string, error) {
	leave, err := m.write(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if m.storage == "" {
		m.storage = fresh()
	}
	return m.storage, nil
}

// Home returns where the disk was used last.
func (m *Memory) Home(ctx context.Context) (engine.Home, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return engine.Home{}, err
	}
	defer leave()
	return m.home, nil
}

// Settle remembers where the disk is used.
func (m *Memory) Settle(ctx context.Context, h engine.Home) error {
	leave, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	m.home = h
	return nil
}

// All calls each with every tenant.
func (m *Memory) All(ctx context.Context, each func(engine.Kept) error) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	all := maps.Clone(m.tenants)
	leave()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if err := each(all[id]); err != nil {
			return err
		}
	}
	return nil
}

// Saw raises marks.
func (m *Memory) Saw(ctx context.Context, seen []engine.Seen) error {
	leave, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for _, s := range seen {
		k := m.get(s.Tenant)
		if k.Below(s) {
			k.Seen = s
		}
		m.tenants[s.Tenant] = k
	}
	return nil
}

func (m *Memory) get(tenant string) engine.Kept {
	k := m.tenants[tenant]
	k.Tenant = tenant
	return k
}

// Change changes a tenant.
func (m *Memory) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	leave, err := m.write(ctx)
	if err != nil {
		return engine.Kept{}, err
	}
	defer leave()
	if m.damaged[tenant] {
		return engine.Kept{}, damaged(tenant)
	}
	before := m.get(tenant)
	k := before
	if err := change(&k); err != nil {
		return engine.Kept{}, err
	}
	if k.Tenant = tenant; k.Seen.Below(before.Seen) {
		k.Seen = before.Seen
	}
	if !k.Copy.Present || k.Remade(before) {
		m.end(tenant)
		delete(m.copies, tenant)
	}
	m.tenants[tenant] = k
	return k, nil
}

// Look returns a tenant as it is on the disk now; for tests.
func (m *Memory) Look(tenant string) engine.Kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(tenant)
}

func clone(c *engine.Credential) *engine.Credential {
	if c == nil {
		return nil
	}
	out := engine.Credential{Key: slices.Clone(c.Key)}
	for _, der := range c.Chain {
		out.Chain = append(out.Chain, slices.Clone(der))
	}
	return &out
}

// Current returns the certificate in use.
func (m *Memory) Current(ctx context.Context) (engine.Credential, bool, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return engine.Credential{}, false, err
	}
	defer leave()
	if m.current == nil {
		return engine.Credential{}, false, nil
	}
	return *clone(m.current), true, nil
}

// Prepared returns the prepared key.
func (m *Memory) Prepared(ctx context.Context) (engine.NextKey, bool, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return engine.NextKey{}, false, err
	}
	defer leave()
	if m.next == nil {
		return engine.NextKey{}, false, nil
	}
	return engine.NextKey{Key: slices.Clone(m.next.Key), For: m.next.For}, true, nil
}

// Prepare keeps a key.
func (m *Memory) Prepare(ctx context.Context, key engine.NextKey) error {
	leave, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	m.next = &engine.NextKey{Key: slices.Clone(key.Key), For: key.For}
	return nil
}

// Install puts a certificate in place.
func (m *Memory) Install(ctx context.Context, c engine.Credential) error {
	leave, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	m.current, m.next = clone(&c), nil
	return nil
}

// Spent says whether a token was used.
func (m *Memory) Spent(ctx context.Context, token [32]byte) (bool, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	return slices.Contains(m.spent, token), nil
}

// Spend remembers a token.
func (m *Memory) Spend(ctx context.Context, token [32]byte) error {
	leave, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !slices.Contains(m.spent, token) {
		m.spent = append(m.spent, token)
	}
	return nil
}
