package enginetest

import (
	"context"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
	"berth/ports/internal/law"
)

// spoilt is the disk in memory, of which Engines or changes are broken on purpose.
type spoilt struct {
	*Memory

	engine func(m *Memory, tenant string, e engine.Engine) engine.Engine
	change func(m *Memory, before, k *engine.Kept)
	open   func(m *Memory, tenant string)
}

func (s spoilt) Open(ctx context.Context, tenant string) (engine.Engine, error) {
	if s.open != nil {
		s.open(s.Memory, tenant)
	}
	e, err := s.Memory.Open(ctx, tenant)
	if err != nil || s.engine == nil {
		return e, err
	}
	return s.engine(s.Memory, tenant, e), nil
}

func (s spoilt) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	if s.change == nil {
		return s.Memory.Change(ctx, tenant, change)
	}
	return s.Memory.Change(ctx, tenant, func(k *engine.Kept) error {
		before := *k
		err := change(k)
		if err == nil {
			s.change(s.Memory, &before, k)
		}
		return err
	})
}

// on breaks the Engine by one of the types below.
func on(broken func(m *Memory, tenant string, e engine.Engine) engine.Engine) spoilt {
	return spoilt{engine: broken}
}

// Each implementation of Engines broken on purpose is caught by the law that forbids its fault.
func TestEngineMutants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		law string
		spoilt
	}{
		{"opening makes nothing", spoilt{open: func(m *Memory, tenant string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			k := m.get(tenant)
			k.Copy = placement.Copy{Present: true, Stamp: 1}
			m.tenants[tenant] = k
		}}},
		{"sequences have no gaps", on(appending(func(_ *Memory, w *engine.Write, a *engine.Appended, _ *error) { a.Seq *= 2 }))},
		{"each is answered once, in the order of sequences", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return twice{e} })},
		{"each is answered once, in the order of sequences", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return scattering{e} })},
		{"an id counts once", on(appending(func(_ *Memory, _ *engine.Write, a *engine.Appended, _ *error) { a.Before = false }))},
		{"an id counts once", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return nameless{e} })},
		{"an id counts once", on(appending(func(_ *Memory, w *engine.Write, a *engine.Appended, _ *error) { a.At = w.At }))},
		{"an id counts once", on(appending(func(_ *Memory, _ *engine.Write, a *engine.Appended, err *error) {
			if fault.SlugOf(*err) == "publish_id_reused" {
				*a, *err = engine.Appended{Seq: 1, Before: true}, nil
			}
		}))},
		{"a message has bounds", on(appending(func(_ *Memory, _ *engine.Write, _ *engine.Appended, err *error) {
			if fault.KindOf(*err) == fault.Invalid {
				*err = nil
			}
		}))},
		{"a write needs the copy's generation", on(permitting(func(k engine.Kept, w *engine.Write) {
			if !k.Copy.Fenced {
				w.Generation = k.Copy.Stamp
			}
		}))},
		{"a write needs the copy's generation", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return unfencedRepeats{e, m, tenant} })},
		{"a fence is ordered against every write", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return early{e, m, tenant} })},
		{"a range is read in order", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return greedy{e} })},
		{"a range is read in order", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return shifted{e} })},
		{"a range is read in order", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return anonymous{e} })},
		{"what is acknowledged can be read", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return lagging{e} })},
		{"usage counts what there is", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return costless{e} })},
		{"usage counts what there is", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return unordered{e} })},
		{"the quota refuses what does not fit", on(func(m *Memory, _ string, e engine.Engine) engine.Engine { m.Limit(stream.DefaultLimits()); return e })},
		{"the quota refuses what does not fit", on(appending(func(_ *Memory, _ *engine.Write, _ *engine.Appended, err *error) {
			if fault.SlugOf(*err) == "tenant_quota_exceeded" {
				*err = engine.Full(nil)
			}
		}))},
		{"a copy that is made anew is empty", spoilt{change: func(m *Memory, before, k *engine.Kept) {
			if k.Remade(*before) && before.Copy.Present {
				k.Sequence, k.Copy.Migration = max(before.Sequence, 1), before.Copy.Migration
			}
		}}},
		{"closing ends what waits", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return unclosed{e} })},
		{"closing ends what waits", on(appending(func(_ *Memory, _ *engine.Write, _ *engine.Appended, err *error) {
			if fault.SlugOf(*err) == "engine_closed" {
				*err = nil
			}
		}))},
		{"the highest tombstone stays", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return oneGrave{e} })},
		{"the highest tombstone stays", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return loud{e, m, tenant} })},
		{"tenants are apart", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.copies["b"] = m.contentOf("a")
			return e
		})},
		{"who reads is told of an ended context", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return deafEngine{e} })},
		{"everything goes on at a time", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return shifted{e} })},
		{"an attachment is there once it is whole", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return hurried{e} })},
		{"an upload goes on where it ended", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return insisting{e} })},
		{"an upload goes on where it ended", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return shared{e} })},
		{"an upload goes on where it ended", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return dropping{e, m, tenant} })},
		{"content is what its digest says", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return trusting{e} })},
		{"an attachment has bounds", on(func(m *Memory, _ string, e engine.Engine) engine.Engine {
			m.Limit(stream.Limits{Tenant: 1 << 20, Attachment: 1 << 20})
			return e
		})},
		{"an attachment that is there is whole at once", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return thirsty{e} })},
		{"an upload is a write", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return lawless{e, m, tenant} })},
		{"an upload is a write", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return checkedOnce{e} })},
		{"attachments count in the quota", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return costlessFiles{e, m, tenant} })},
		{"an upload ends with its Engine", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return undead{e} })},
		{"unfinished uploads have a bound", on(func(m *Memory, tenant string, e engine.Engine) engine.Engine { return keepsAll{e, m, tenant} })},
		{"room is kept for what is on its way", on(func(_ *Memory, _ string, e engine.Engine) engine.Engine { return careless{e} })},
	} {
		t.Run(c.law, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, engineLaws(), c.law, func(testing.TB) EngineDisk {
				m := NewMemory()
				return EngineDisk{Open: func(_ testing.TB, l stream.Limits) Whole {
					m.Restart()
					m.Limit(l)
					c.Memory = m
					return c.spoilt
				}}
			})
		})
	}
	law.Caught(t, engineLaws(), "what is acknowledged survives", func(testing.TB) EngineDisk {
		return EngineDisk{Open: func(testing.TB, stream.Limits) Whole { return NewMemory() }}
	})
	for name, broken := range map[string]func(m *Memory) Whole{
		"a change that refuses leaves a copy alone": func(m *Memory) Whole { return stubborn{m} },
		"a change sees the last sequence":           func(m *Memory) Whole { return behind{m} },
		"nothing is left of a copy that is gone":    func(m *Memory) Whole { return hoarding{m} },
	} {
		law.Caught(t, engineLaws(), name, func(testing.TB) EngineDisk {
			s := broken(NewMemory())
			return EngineDisk{Open: func(testing.TB, stream.Limits) Whole { return s }}
		})
	}
}
