package enginetest

import (
	"context"
	"io"
	"maps"

	"berth/domain/fault"
	"berth/ports/engine"
)

// undead says that a part is there, of an Engine that was closed.
type undead struct{ engine.Engine }

func (e undead) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if fault.SlugOf(err) == "engine_closed" {
		return false, nil
	}
	return whole, err
}

// keepsAll keeps every upload.
type keepsAll struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e keepsAll) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	e.m.mu.Lock()
	before := maps.Clone(e.m.contentOf(e.tenant).uploads)
	e.m.mu.Unlock()
	whole, err := e.Engine.Upload(ctx, p, from)
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	for name, part := range before {
		if now := e.m.contentOf(e.tenant).uploads; now[name] == nil {
			now[name] = part
		}
	}
	return whole, err
}

// careless looks at no room.
type careless struct{ engine.Engine }

func (e careless) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if fault.SlugOf(err) == "tenant_quota_exceeded" {
		return false, nil
	}
	return whole, err
}
