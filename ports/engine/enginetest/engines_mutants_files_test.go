package enginetest

import (
	"bytes"
	"context"
	"io"

	"berth/domain/fault"
	"berth/ports/engine"
)

type unordered struct{ engine.Engine }

func (e unordered) Usage(ctx context.Context) (engine.Usage, error) {
	u, err := e.Engine.Usage(ctx)
	u.Sequence = min(u.Sequence, 1)
	return u, err
}

type unclosed struct{ engine.Engine }

func (unclosed) Close() error { return nil }

// oneGrave remembers the revision that it was told of last.
type oneGrave struct{ engine.Engine }

func (e oneGrave) Buried(ctx context.Context) ([]engine.Tombstone, error) {
	out, err := e.Engine.Buried(ctx)
	for i := range out {
		out[i].Revision = 4
	}
	return out, err
}

// loud raises the sequence for a tombstone.
type loud struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e loud) Bury(ctx context.Context, t engine.Tombstone) error {
	e.m.mu.Lock()
	k := e.m.get(e.tenant)
	k.Sequence++
	e.m.tenants[e.tenant] = k
	e.m.mu.Unlock()
	return e.Engine.Bury(ctx, t)
}

type deafEngine struct{ engine.Engine }

func (e deafEngine) Head(_ context.Context, route string) (int64, error) {
	return e.Engine.Head(context.Background(), route)
}

// hurried calls an attachment whole of which a part is there.
type hurried struct{ engine.Engine }

func (e hurried) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	_, err := e.Engine.Upload(ctx, p, from)
	return err == nil, err
}

// insisting begins anew wherever a part begins.
type insisting struct{ engine.Engine }

func (e insisting) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if fault.SlugOf(err) == "upload_offset" {
		return false, nil
	}
	return whole, err
}

// shared has one upload of an attachment for all principals.
type shared struct{ engine.Engine }

func (e shared) Uploaded(ctx context.Context, _ string, digest [32]byte) (int64, error) {
	return e.Engine.Uploaded(ctx, "dev_1", digest)
}

// dropping forgets what came of a part that ended early.
type dropping struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e dropping) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if err != nil {
		e.m.mu.Lock()
		defer e.m.mu.Unlock()
		delete(e.m.contentOf(e.tenant).uploads, upload{p.Principal, p.Digest})
	}
	return whole, err
}

// trusting takes content for what it is called.
type trusting struct{ engine.Engine }

func (e trusting) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if fault.SlugOf(err) == "attachment_digest_differs" {
		return true, nil
	}
	return whole, err
}

// thirsty reads what is there already.
type thirsty struct{ engine.Engine }

func (e thirsty) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	content, err := io.ReadAll(from)
	if err != nil {
		return false, err
	}
	return e.Engine.Upload(ctx, p, bytes.NewReader(content))
}

// lawless takes attachments whatever their generation.
type lawless struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e lawless) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	if k := e.m.Look(e.tenant); !k.Copy.Fenced {
		p.Generation = k.Copy.Stamp
	}
	return e.Engine.Upload(ctx, p, from)
}

// checkedOnce asks the copy before a part is read, and not again.
type checkedOnce struct{ engine.Engine }

func (e checkedOnce) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	read := &during{Reader: from}
	began := false
	read.happens = func() { began = true }
	whole, err := e.Engine.Upload(ctx, p, read)
	if began && fault.SlugOf(err) == "copy_fenced" {
		return true, nil
	}
	return whole, err
}

// costlessFiles counts messages only.
type costlessFiles struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e costlessFiles) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	if whole {
		e.m.mu.Lock()
		defer e.m.mu.Unlock()
		e.m.contentOf(e.tenant).used = 0
	}
	return whole, err
}
