package enginetest

import (
	"context"
	"time"

	"berth/ports/engine"
)

// behind tells changes the sequence of some time ago.
type behind struct{ *Memory }

func (m behind) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	return m.Memory.Change(ctx, tenant, func(k *engine.Kept) error {
		now := k.Sequence
		k.Sequence = min(now, 1)
		err := change(k)
		k.Sequence = now
		return err
	})
}

// hoarding keeps what was in a copy that is gone.
type hoarding struct{ *Memory }

func (m hoarding) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	m.mu.Lock()
	before := m.copies[tenant]
	m.mu.Unlock()
	k, err := m.Memory.Change(ctx, tenant, change)
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != nil {
		m.copies[tenant] = before
	}
	return k, err
}

// stubborn keeps what a change left although it refused.
type stubborn struct{ *Memory }

func (m stubborn) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	return keeping(m).Change(ctx, tenant, change)
}

type appended struct {
	engine.Engine

	m     *Memory
	spoil func(m *Memory, w *engine.Write, a *engine.Appended, err *error)
}

// appending spoils answers.
func appending(spoil func(m *Memory, w *engine.Write, a *engine.Appended, err *error)) func(*Memory, string, engine.Engine) engine.Engine {
	return func(m *Memory, _ string, e engine.Engine) engine.Engine { return appended{e, m, spoil} }
}

func (e appended) Append(w engine.Write, done func(engine.Appended, error)) {
	e.Engine.Append(w, func(a engine.Appended, err error) {
		e.spoil(e.m, &w, &a, &err)
		done(a, err)
	})
}

type permitted struct {
	engine.Engine

	m      *Memory
	tenant string
	spoil  func(k engine.Kept, w *engine.Write)
}

// permitting changes what is appended by what the copy is.
func permitting(spoil func(k engine.Kept, w *engine.Write)) func(*Memory, string, engine.Engine) engine.Engine {
	return func(m *Memory, tenant string, e engine.Engine) engine.Engine { return permitted{e, m, tenant, spoil} }
}

func (e permitted) Append(w engine.Write, done func(engine.Appended, error)) {
	e.spoil(e.m.Look(e.tenant), &w)
	e.Engine.Append(w, done)
}

type twice struct{ engine.Engine }

func (e twice) Append(w engine.Write, done func(engine.Appended, error)) {
	e.Engine.Append(w, func(a engine.Appended, err error) { done(a, err); done(a, err) })
}

type scattering struct{ engine.Engine }

func (e scattering) Append(w engine.Write, done func(engine.Appended, error)) {
	e.Engine.Append(w, func(a engine.Appended, err error) {
		if a.Seq%2 == 1 {
			time.AfterFunc(time.Millisecond, func() { done(a, err) })
			return
		}
		done(a, err)
	})
}

// nameless takes the id for one of the route alone.
type nameless struct{ engine.Engine }

func (e nameless) Append(w engine.Write, done func(engine.Appended, error)) {
	w.Principal = "anybody"
	e.Engine.Append(w, done)
}

// unfencedRepeats acknowledges a repeated message without asking the copy.
type unfencedRepeats struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e unfencedRepeats) Append(w engine.Write, done func(engine.Appended, error)) {
	e.m.mu.Lock()
	seq, before := e.m.contentOf(e.tenant).published[publication{w.Route, w.Principal, w.ID}]
	e.m.mu.Unlock()
	if before {
		done(engine.Appended{Seq: seq, Before: true}, nil)
		return
	}
	e.Engine.Append(w, done)
}

// early judges a write as it comes, and commits it later.
type early struct {
	engine.Engine

	m      *Memory
	tenant string
}

func (e early) Append(w engine.Write, done func(engine.Appended, error)) {
	permitted := e.m.Look(e.tenant).Copy.Commits(w.Generation)
	time.AfterFunc(time.Millisecond, func() {
		e.m.mu.Lock()
		k := e.m.get(e.tenant)
		if permitted {
			k.Copy.Fenced = false
		}
		a, err := e.m.contentOf(e.tenant).append(k, e.m.limits, w)
		e.m.mu.Unlock()
		done(a, err)
	})
}

type greedy struct{ engine.Engine }

func (e greedy) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	r.Bytes = 1 << 30
	return e.Engine.Read(ctx, r)
}

type shifted struct{ engine.Engine }

func (e shifted) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	r.After++
	return e.Engine.Read(ctx, r)
}

type anonymous struct{ engine.Engine }

func (e anonymous) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	out, err := e.Engine.Read(ctx, r)
	for i := range out {
		out[i].From = "dev_0"
	}
	return out, err
}

// lagging reads what was there before the last message.
type lagging struct{ engine.Engine }

func (e lagging) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	if head, _ := e.Head(ctx, r.Route); r.UpTo >= head {
		r.UpTo = head - 1
	}
	return e.Engine.Read(ctx, r)
}

type costless struct{ engine.Engine }

func (e costless) Usage(ctx context.Context) (engine.Usage, error) {
	u, err := e.Engine.Usage(ctx)
	u.Bytes = 0
	return u, err
}
