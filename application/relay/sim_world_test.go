package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

// world is a few machines and a control plane in a bubble of virtual time.
type world struct {
	t       *testing.T
	control *authoritytest.Control
	all     []*machine
	tenants []string
	rules   rules

	mu     sync.Mutex
	rand   *rand.Rand
	calm   bool // nothing is lost or late any more
	bad    string
	log    []string
	began  time.Time
	writer map[string]*machine // by tenant and generation: who committed
	first  map[string]time.Time
	tally  tally
	seed   uint64
	boots  uint64

	paired  map[string]authoritytest.Paired // a device of each tenant
	ledgers map[string]*ledger              // of the tenants with data
}

type tally struct {
	commits, acks, denied, switches, lapses, superseded, starts, rotations, jumps, clones, recovers int
	messages, messageAcks, delivered, losses                                                        int
}

// machine has a clock, a disk and at most one process.
type machine struct {
	w      *world
	name   string // unique
	id     string // of the node that it is
	clock  *simClock
	disk   *enginetest.Memory
	place  string
	token  string
	cut    time.Time // until when the network does not reach it
	down   time.Time
	gone   bool // it is not started any more
	proc   *process
	copied bool // a clone
}

// process is one run of the real code.
type process struct {
	m     *machine
	node  *relay.Node
	end   context.CancelFunc
	ended chan struct{}
	mu    sync.Mutex
	dead  bool
	sent  map[string]sending // of the beats in flight and of the last one answered
}

// sending is when a beat was sent, by both kinds of time.
type sending struct {
	elapsed time.Duration
	truth   time.Time
}

func terms() placement.LeaseTerms {
	return placement.LeaseTerms{Duration: 15 * time.Second, Margin: 5 * time.Second, DriftPercent: 10}
}

func newWorld(t *testing.T, seed uint64, r rules) *world {
	t.Helper()
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 3)), writer: map[string]*machine{}, first: map[string]time.Time{}, began: time.Now(), seed: seed, rules: r,
		paired: map[string]authoritytest.Paired{}, ledgers: map[string]*ledger{},
	}
	counted, speeds := terms(), []float64{0.97, 1, 1.02}
	if r.noMargin {
		counted, speeds = placement.LeaseTerms{Duration: terms().Duration}, []float64{0.6, 0.7, 1}
	}
	w.control = authoritytest.New(newSimClock(1), terms(), counted)
	w.control.Life = 3 * time.Minute
	w.control.Deadlines = placement.Deadlines{Prepare: 20 * time.Second, Quiesce: 20 * time.Second, Copy: 30 * time.Second, Drain: 20 * time.Second, QuiesceUnprepared: true}
	for i := range 3 {
		id := fmt.Sprintf("n%d", i)
		w.control.AddNode(id, 100)
		m := &machine{w: w, name: id, id: id, clock: newSimClock(speeds[w.rand.IntN(3)]), disk: enginetest.NewMemory(), place: id}
		m.token = w.control.JoinToken(id, time.Hour)
		w.all = append(w.all, m)
	}
	for i := range 3 {
		id := fmt.Sprintf("t%d", i)
		w.control.AddTenant(id, fmt.Sprintf("n%d", i%2))
		w.tenants = append(w.tenants, id)
	}
	for i := range 2 {
		id := fmt.Sprintf("d%d", i)
		w.control.AddTenant(id, fmt.Sprintf("n%d", i+1))
		w.tenants, w.ledgers[id] = append(w.tenants, id), newLedger()
	}
	for _, id := range w.tenants {
		w.paired[id] = w.control.Pair(id, authorization.Owner)
	}
	return w
}

func (w *world) chance(perMille int) bool { return w.intn(1000) < perMille }

func (w *world) intn(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.IntN(n)
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.intn(int(d))) }

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%9s ", time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (w *world) violate(format string, args ...any) {
	w.note(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == "" {
		w.bad = fmt.Sprintf(format, args...)
	}
}

func (w *world) violated() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad
}

func (w *world) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log[max(0, len(w.log)-80):], "\n")
}

// running is the machine's process; nil for none.
func (m *machine) running() *process {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.proc
}

func (m *machine) set(p *process) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.proc = p
}

// start starts the machine's process.
func (m *machine) start() {
	w := m.w
	w.mu.Lock()
	w.boots++
	boots := w.boots
	w.tally.starts++
	w.mu.Unlock()
	p := &process{m: m, ended: make(chan struct{}), sent: map[string]sending{}}
	client := &authoritytest.Client{Control: w.control, Node: m.id, Way: p.way, Shows: func() [][]byte {
		chain, _, _ := p.node.Certificate()
		return chain
	}}
	s := relay.DefaultSettings(authoritytest.SPIFFEID(m.id))
	n, err := relay.New(w.rules.settings(s), relay.Ports{
		Clock: m.clock, IDs: prefixed{idstest.New(w.seed<<16 + boots), fmt.Sprintf("%s-%d", m.name, boots)}, Log: slog.New(notes{w, m.name}),
		Authority: authorityOf(client),
		Disk:      deadly{m.disk, p}, Engines: deadly{m.disk, p}, Identity: m.disk, Tokens: tokens{m}, Place: w.rules.place(m.place),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.node = n
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	m.set(p)
	w.note("%s starts process %d", m.name, boots)
	m.disk.Restart()
	go func() {
		defer close(p.ended)
		err := n.Run(ctx)
		end()
		w.note("%s: process %d ends: %v", m.name, boots, err)
		if err != nil {
			w.mu.Lock()
			w.tally.superseded++
			w.mu.Unlock()
		}
		c := n.Counts()
		w.mu.Lock()
		w.tally.rotations += int(c.Rotations)
		w.tally.jumps += int(c.Jumps)
		w.tally.lapses += int(c.Lapses)
		w.mu.Unlock()
	}()
	go p.write(ctx)
	for _, id := range w.tenants {
		go p.use(ctx, w.paired[id])
	}
}

// kill ends the process as kill -9 does: nothing it does from here on reaches anything.
func (m *machine) kill() {
	p := m.running()
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.end()
	<-p.ended
	m.set(nil)
	m.w.note("%s is killed", m.name)
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// way is the network between a process and the control plane.
func (p *process) way(ctx context.Context, method string, back bool) error {
	w := p.m.w
	if method == "Beat" && !back {
		p.mu.Lock()
		p.sent["flying"] = sending{p.m.clock.Elapsed(), time.Now()}
		p.mu.Unlock()
	}
	delay, lost := time.Duration(0), false
	if !w.isCalm() {
		delay = w.upTo(100 * time.Millisecond)
		if w.chance(50) {
			delay = w.upTo(6 * time.Second)
		}
		lost = w.chance(30)
	}
	if err := sleep(ctx, delay); err != nil {
		return authoritytest.Lost()
	}
	if time.Now().Before(p.m.cutUntil()) {
		_ = sleep(ctx, time.Second)
		return authoritytest.Lost()
	}
	p.m.clock.moves()
	if lost || p.isDead() {
		return authoritytest.Lost()
	}
	if method == "Beat" && back {
		p.mu.Lock()
		p.sent["answered"] = p.sent["flying"]
		p.mu.Unlock()
	}
	return nil
}

func (m *machine) cutUntil() time.Time {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	return m.cut
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
