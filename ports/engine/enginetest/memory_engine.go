package enginetest

import (
	"bytes"
	"context"
	"sync"

	"berth/domain/ident"
	"berth/domain/stream"
	"berth/ports/engine"
)

// maxWaiting is how many appends may wait for one Engine.
const maxWaiting = 4096

// memoryEngine is an open Engine of a Memory. What is in it belongs to the disk, under whose lock everything happens.
type memoryEngine struct {
	m      *Memory
	tenant string
	ended  chan struct{} // closed where the Engine is

	// Under the disk's lock.
	closed  bool
	running bool
	queue   []waiting
	hands   sync.WaitGroup // the one goroutine that appends, while there is something to
}

type waiting struct {
	engine.Write
	done func(engine.Appended, error)
}

var (
	_ engine.Engines = (*Memory)(nil)
	_ engine.Engine  = (*memoryEngine)(nil)
)

// Open opens the Engine of a tenant.
func (m *Memory) Open(ctx context.Context, tenant string) (engine.Engine, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case m.damaged[tenant]:
		return nil, damaged(tenant)
	case m.broken != nil:
		return nil, engine.Away(m.broken)
	case !m.tenants[tenant].Copy.Present:
		return nil, engine.Missing(tenant)
	case m.open[tenant] != nil:
		return nil, engine.Away(errOpen)
	}
	e := &memoryEngine{m: m, tenant: tenant, ended: make(chan struct{})}
	m.open[tenant] = e
	m.contentOf(tenant).rest()
	return e, nil
}

// end ends an Engine without waiting for what it is at.
func (m *Memory) end(tenant string) {
	if e := m.open[tenant]; e != nil {
		e.closed = true
		close(e.ended)
		delete(m.open, tenant)
	}
}

// enter holds the disk for one call of the Engine.
func (e *memoryEngine) enter(ctx context.Context) (*content, func(), error) {
	leave, err := e.m.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := e.usable(); err != nil {
		leave()
		return nil, nil, err
	}
	return e.m.contentOf(e.tenant), leave, nil
}

func (e *memoryEngine) usable() error {
	switch {
	case e.closed:
		return engine.Closed()
	case e.m.damaged[e.tenant]:
		return damaged(e.tenant)
	}
	return nil
}

// Append appends a message.
func (e *memoryEngine) Append(w engine.Write, done func(engine.Appended, error)) {
	if err := e.wait(waiting{w, done}); err != nil {
		done(engine.Appended{}, err)
	}
}

func (e *memoryEngine) wait(w waiting) error {
	if err := stream.CheckID(w.ID); err != nil {
		return err
	}
	if err := stream.CheckSize(w.Body); err != nil {
		return err
	}
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	switch {
	case e.closed:
		return engine.Closed()
	case len(e.queue) >= maxWaiting:
		return engine.Busy()
	}
	e.queue = append(e.queue, w)
	if !e.running {
		e.running = true
		e.hands.Go(e.run)
	}
	return nil
}

// run appends until nothing waits any more.
func (e *memoryEngine) run() {
	for {
		e.held()
		batch, answers := e.append()
		if batch == nil {
			return
		}
		for i, w := range batch {
			w.done(answers[i].Appended, answers[i].err)
		}
	}
}

// held waits while a test holds the tenant's appends up.
func (e *memoryEngine) held() {
	e.m.mu.Lock()
	hold := e.m.hindered[e.tenant].Hold
	e.m.mu.Unlock()
	if hold == nil {
		return
	}
	select {
	case <-hold:
	case <-e.ended:
	}
}

type answer struct {
	engine.Appended
	err error
}

// append takes what waits into one commit.
func (e *memoryEngine) append() (batch []waiting, answers []answer) {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	batch, e.queue = e.queue, nil
	if len(batch) == 0 {
		e.running = false
		return nil, nil
	}
	answers = make([]answer, len(batch))
	err := e.writable()
	c, k := e.m.contentOf(e.tenant), e.m.get(e.tenant)
	before := c.used
	for i, w := range batch {
		if answers[i].err = err; err == nil {
			answers[i].Appended, answers[i].err = c.append(k, e.m.limits, w.Write)
		}
	}
	if c.used > before {
		k.Sequence++
		e.m.tenants[e.tenant] = k
	}
	if after := e.m.hindered[e.tenant].After; err == nil && after != nil {
		for i := range answers {
			answers[i] = answer{err: after}
		}
	}
	return batch, answers
}

func (e *memoryEngine) writable() error {
	if err := e.usable(); err != nil {
		return err
	}
	if e.m.broken != nil {
		return engine.Away(e.m.broken)
	}
	return e.m.hindered[e.tenant].Before
}

// Read returns messages of a route.
func (e *memoryEngine) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	all := c.routes[r.Route]
	first, last := max(r.After, 0), min(r.UpTo, int64(len(all)))
	if first >= last {
		return nil, nil
	}
	end, bytes := first, 0
	for end < last {
		if bytes += all[end].Size(); bytes > r.Bytes && end > first {
			break
		}
		end++
	}
	return append([]engine.Message(nil), all[first:end]...), nil
}

// Head is the last sequence of a route.
func (e *memoryEngine) Head(ctx context.Context, route string) (int64, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return int64(len(c.routes[route])), nil
}

// Usage is what the tenant takes.
func (e *memoryEngine) Usage(ctx context.Context) (engine.Usage, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return engine.Usage{}, err
	}
	defer leave()
	return engine.Usage{
		Messages: c.messages, Attachments: int64(len(c.attachments)), Bytes: c.used, Sequence: e.m.tenants[e.tenant].Sequence,
	}, nil
}

// Close closes the Engine.
func (e *memoryEngine) Close() error {
	e.m.mu.Lock()
	if !e.closed {
		e.m.end(e.tenant)
	}
	e.m.mu.Unlock()
	e.hands.Wait()
	return nil
}

// content is what is in a copy.
type content struct {
	routes      map[string][]engine.Message
	published   map[publication]int64 // sequence
	attachments map[[32]byte][]byte
	uploads     map[upload]*part
	parts       int // of uploads, so far
	buried      map[string]int64
	messages    int64
	used        int64
}

type publication struct{ route, principal, id string }

func newContent() *content {
	return &content{
		routes: map[string][]engine.Message{}, published: map[publication]int64{}, attachments: map[[32]byte][]byte{},
		uploads: map[upload]*part{}, buried: map[string]int64{},
	}
}

func (c *content) append(k engine.Kept, limits stream.Limits, w engine.Write) (engine.Appended, error) {
	if !k.Copy.Commits(w.Generation) {
		return engine.Appended{}, engine.Fenced()
	}
	name := publication{w.Route, w.Principal, w.ID}
	if seq, before := c.published[name]; before {
		m := c.routes[w.Route][seq-1]
		if err := stream.Repeats(m.Body, w.Body); err != nil {
			return engine.Appended{}, err
		}
		return engine.Appended{Seq: seq, At: m.At, Before: true}, nil
	}
	cost := stream.Cost(w.Route, w.Principal, w.ID, w.Body)
	if err := limits.Admits(c.used, cost); err != nil {
		return engine.Appended{}, err
	}
	seq, err := stream.Next(int64(len(c.routes[w.Route])))
	if err != nil {
		return engine.Appended{}, err
	}
	m := engine.Message{Route: w.Route, Seq: seq, ID: w.ID, From: w.Principal, At: ident.Instant(w.At), Body: bytes.Clone(w.Body)}
	c.routes[w.Route] = append(c.routes[w.Route], m)
	c.published[name] = seq
	c.messages++
	c.used += cost
	return engine.Appended{Seq: seq, At: m.At}, nil
}

func damaged(tenant string) error { return engine.Damaged("the Engine of "+tenant, nil) }
