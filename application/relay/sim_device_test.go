package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"berth/application/relay"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

// Devices publish to two of the tenants, over real sessions into real Engines, again and again until they are told that a
// message counts. A tenant with data does not move yet; where it is recovered from an empty backup, what was acknowledged until
// then is lost by the operator's consent.

// ledger is what devices were told of one tenant's messages.
type ledger struct {
	acked     map[string]acked
	committed map[string]int64 // generation, by machine and id
	late      map[string]bool  // the same: committed after the first of a later generation
	pending   []string         // nobody knows whether they count
	lost      int64            // what was acknowledged up to this generation may be lost
}

type acked struct{ seq, generation int64 }

func newLedger() *ledger {
	return &ledger{acked: map[string]acked{}, committed: map[string]int64{}, late: map[string]bool{}}
}

// use has a device use a tenant as long as the process runs, and publish where the tenant is one for data.
func (p *process) use(ctx context.Context, paired authoritytest.Paired) {
	w := p.m.w
	for ctx.Err() == nil {
		device := phoneOf(paired)
		if device.enter(ctx, p.node) == nil {
			if w.ledgers[paired.Tenant] == nil {
				_ = p.stay(ctx, device, time.Hour)
			} else {
				p.publish(ctx, device)
			}
			device.session.Leave()
		}
		_ = sleep(ctx, 100*time.Millisecond+w.upTo(time.Second))
	}
}

// stay is false once the session or the process has ended.
func (p *process) stay(ctx context.Context, device *phone, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-device.over:
	case <-ctx.Done():
	}
	return false
}

func (p *process) publish(ctx context.Context, device *phone) {
	w := p.m.w
	if w.chance(300) {
		if _, err := device.session.Subscribe(ctx, device.Handles["main"], 0); err != nil {
			return
		}
		defer p.follow(device)()
	}
	for p.stay(ctx, device, w.upTo(2*time.Second)) {
		p.publishOne(device)
	}
}

// publishOne publishes a message, or one more time one of which nobody knows.
func (p *process) publishOne(device *phone) {
	w, id := p.m.w, ""
	w.mu.Lock()
	l := w.ledgers[device.Tenant]
	if n := len(l.pending); n > 0 && w.rand.IntN(2) == 0 {
		id = l.pending[w.rand.IntN(n)]
	} else {
		w.tally.messages++
		id = fmt.Sprintf("m%d", w.tally.messages)
		l.pending = append(l.pending, id)
	}
	w.mu.Unlock()
	device.session.Publish(relay.Publish{Handle: device.Handles["main"], ID: id, Body: []byte(`"` + id + `"`)}, func(seq int64, err error) {
		if err == nil && !p.isDead() {
			p.checkBounds("acknowledges a message")
			w.acknowledged(p.m, device.Tenant, id, seq)
		}
	})
}

func (w *world) acknowledged(m *machine, tenant, id string, seq int64) {
	w.mu.Lock()
	if !m.onlyOne() {
		// What only one of two copies of a disk has goes with that one, should the other be the node in the end: nobody could
		// know (P10 takes both for the node).
		w.mu.Unlock()
		return
	}
	l := w.ledgers[tenant]
	name := m.name + "/" + id
	generation, late := l.committed[name], l.late[name]
	before, again := l.acked[id]
	l.acked[id] = acked{seq, generation}
	l.pending = slices.DeleteFunc(l.pending, func(one string) bool { return one == id })
	w.tally.messageAcks++
	w.mu.Unlock()
	switch {
	case generation == 0:
		w.violate("%s acknowledges %s of %s, which was not committed", m.name, id, tenant)
	case late:
		w.violate("%s acknowledges %s of %s, committed at generation %d after the first of a later one", m.name, id, tenant, generation)
	case again && before.generation == generation && before.seq != seq:
		w.violate("%s acknowledges %s of %s at %d, and before at %d", m.name, id, tenant, seq, before.seq)
	}
}

// follow has the device take what is delivered, until it is stopped: no message is left out, and none comes twice.
func (p *process) follow(device *phone) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		next := int64(1)
		for sleep(ctx, 50*time.Millisecond) == nil {
			if !device.wakes() {
				continue
			}
			for more := true; more; {
				var part []engine.Message
				var err error
				if part, more, err = device.session.Take(ctx, 100); err != nil {
					return
				}
				for _, m := range part {
					if m.Seq != next {
						p.m.w.violate("%s delivers %d of %s where %d is next", p.m.name, m.Seq, device.Tenant, next)
					}
					next++
				}
			}
			p.m.w.count(func(t *tally) { t.delivered++ })
		}
	}()
	return end
}

// audit reads all of a tenant with data once everything is calm: what was acknowledged is there, once, where it was said to be.
func (w *world) audit(tenant string) {
	for _, m := range w.machines() {
		p := m.running()
		if p == nil {
			continue
		}
		device := phoneOf(w.paired[tenant])
		if device.enter(context.Background(), p.node) != nil {
			continue
		}
		all, err := w.everything(device)
		device.session.Leave()
		if err == nil {
			w.compare(tenant, all)
			return
		}
	}
	w.violate("nobody serves %s", tenant)
}

func (w *world) everything(device *phone) (all []engine.Message, err error) {
	if _, err := device.session.Subscribe(context.Background(), device.Handles["main"], 0); err != nil {
		return nil, err
	}
	for more := true; more; {
		var part []engine.Message
		if part, more, err = device.session.Take(context.Background(), 1<<20); err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

func (w *world) compare(tenant string, all []engine.Message) {
	at := map[string]int64{}
	for i, m := range all {
		if m.Seq != int64(i)+1 {
			w.violate("%s: the message %d is number %d", tenant, i+1, m.Seq)
		}
		if at[m.ID] != 0 {
			w.violate("%s: %s is there twice, at %d and at %d", tenant, m.ID, at[m.ID], m.Seq)
		}
		at[m.ID] = m.Seq
	}
	w.mu.Lock()
	l := w.ledgers[tenant]
	w.mu.Unlock()
	for id, a := range l.acked {
		if a.generation > l.lost && at[id] != a.seq {
			w.violate("%s: %s was acknowledged at %d, generation %d, and is at %d", tenant, id, a.seq, a.generation, at[id])
		}
	}
}

// simEngine is an Engine between whose steps anything may happen.
type simEngine struct {
	engine.Engine
	p      *process
	tenant string
	over   chan struct{}
	hands  sync.WaitGroup

	mu   sync.Mutex
	last chan struct{}
}

// Open opens an Engine of a process that lives.
func (d deadly) Open(ctx context.Context, tenant string) (engine.Engine, error) {
	if d.p.isDead() {
		return nil, engine.Away(errDead)
	}
	e, err := d.Memory.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	first := make(chan struct{})
	close(first)
	return &simEngine{Engine: e, p: d.p, tenant: tenant, over: make(chan struct{}), last: first}, nil
}

// Append appends one write after the other.
func (e *simEngine) Append(w engine.Write, done func(engine.Appended, error)) {
	e.mu.Lock()
	before, mine := e.last, make(chan struct{})
	e.last = mine
	e.mu.Unlock()
	e.hands.Go(func() {
		<-before
		a, err := e.append(w)
		done(a, err)
		close(mine)
	})
}

func (e *simEngine) append(w engine.Write) (engine.Appended, error) {
	world := e.p.m.w
	e.hesitate()
	if e.p.isDead() {
		return engine.Appended{}, engine.Away(errDead)
	}
	permit, err := e.p.node.Gate().Write(e.tenant)
	if err == nil && permit.Generation == w.Generation && e.p.m.disk.Look(e.tenant).Copy.Commits(w.Generation) && !e.p.isDead() {
		world.alone(e.p.m, e.tenant, w.Generation)
	}
	type answer struct {
		engine.Appended
		err error
	}
	got := make(chan answer, 1)
	e.Engine.Append(w, func(a engine.Appended, err error) { got <- answer{a, err} })
	a := <-got
	if a.err == nil && !a.Before {
		late := world.commit(e.p.m, e.tenant, w.Generation)
		world.mu.Lock()
		l := world.ledgers[e.tenant]
		name := e.p.m.name + "/" + w.ID
		l.committed[name], l.late[name] = w.Generation, late
		world.mu.Unlock()
	}
	e.hesitate()
	return a.Appended, a.err
}

// hesitate stands still with the machine, and sometimes longer.
func (e *simEngine) hesitate() {
	if w := e.p.m.w; w.chance(50) {
		timer := time.NewTimer(w.upTo(8 * time.Second))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.over:
		}
	}
	e.p.m.clock.moves()
}

// Close ends what waits.
func (e *simEngine) Close() error {
	close(e.over)
	e.hands.Wait()
	return e.Engine.Close()
}
