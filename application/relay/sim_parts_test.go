package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"berth/ports/engine"
	"berth/ports/engine/enginetest"
	"berth/ports/ids"
)

// deadly is a disk that a dead process does not reach.
type deadly struct {
	*enginetest.Memory
	p *process
}

var errDead = errors.New("the process is dead")

func (d deadly) Saw(ctx context.Context, seen []engine.Seen) error {
	if d.p.isDead() {
		return engine.Away(errDead)
	}
	return d.Memory.Saw(ctx, seen)
}

func (d deadly) Settle(ctx context.Context, h engine.Home) error {
	if d.p.isDead() {
		return engine.Away(errDead)
	}
	return d.Memory.Settle(ctx, h)
}

func (d deadly) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	if d.p.isDead() {
		return engine.Kept{}, engine.Away(errDead)
	}
	return d.Memory.Change(ctx, tenant, change)
}

// tokens is where an operator leaves join tokens for a machine.
type tokens struct{ m *machine }

func (t tokens) Token(context.Context) (string, error) {
	t.m.w.mu.Lock()
	defer t.m.w.mu.Unlock()
	return t.m.token, nil
}

// prefixed makes ids of several processes differ.
type prefixed struct {
	ids.Source
	prefix string
}

func (p prefixed) New(kind string) string { return p.prefix + "-" + p.Source.New(kind) }

// notes is a log that goes into the world's.
type notes struct {
	w    *world
	name string
}

func (n notes) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (n notes) WithAttrs([]slog.Attr) slog.Handler           { return n }
func (n notes) WithGroup(string) slog.Handler                { return n }

func (n notes) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	n.w.note("%s | %s", n.name, text)
	return nil
}

// write is what devices write: checked, committed and acknowledged, with pauses in between in which anything may happen.
func (p *process) write(ctx context.Context) {
	for ctx.Err() == nil {
		if sleep(ctx, p.m.w.upTo(800*time.Millisecond)) != nil {
			return
		}
		p.m.clock.moves()
		p.writeOnce(ctx)
	}
}

func (p *process) writeOnce(ctx context.Context) {
	w, gate := p.m.w, p.node.Gate()
	tenant := w.tenants[w.intn(len(w.tenants)-len(w.ledgers))]
	permit, err := gate.Write(tenant)
	if err != nil {
		w.count(func(t *tally) { t.denied++ })
		return
	}
	p.checkBounds("begins a write")
	if p.m.disk.Look(tenant).Copy.Commits(permit.Generation) && !p.isDead() {
		w.alone(p.m, tenant, permit.Generation)
	}
	if w.chance(100) {
		_ = sleep(ctx, w.upTo(8*time.Second))
	}
	p.m.clock.moves()
	if p.isDead() || !p.m.disk.Look(tenant).Copy.Commits(permit.Generation) {
		return
	}
	late := w.commit(p.m, tenant, permit.Generation)
	if w.chance(100) {
		_ = sleep(ctx, w.upTo(8*time.Second))
	}
	p.m.clock.moves()
	if !w.rules.noRecheck && gate.Recheck(permit) != nil || p.isDead() {
		return
	}
	if !w.rules.noRecheck {
		p.checkBounds("acknowledges a write")
	}
	w.count(func(t *tally) { t.acks++ })
	if late {
		w.violate("%s acknowledges a commit to %s at generation %d that came after the first of a later one", p.m.name, tenant, permit.Generation)
	}
}

// checkBounds holds a permission that was just given against what only the world knows: when the beat was sent that was
// answered last, by true time too.
func (p *process) checkBounds(what string) {
	p.mu.Lock()
	last := p.sent["answered"]
	p.mu.Unlock()
	w, lease := p.m.w, terms().Duration
	if age := p.m.clock.Elapsed() - last.elapsed; age >= lease {
		w.violate("%s %s %v after the beat was sent that granted its lease", p.m.name, what, age)
	}
	// A clock that is set back by as much as it was ahead after the machine had been frozen shows nothing.
	if age := time.Since(last.truth); p.m.clock.wasSet().Before(last.truth) && age >= time.Duration(float64(lease)/p.m.clock.rate)+2*time.Second {
		w.violate("%s %s a true %v after the beat was sent that granted its lease", p.m.name, what, age)
	}
}
