package relay_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/placement"
)

// The simulation plays the node's real code on three machines, each with clocks of its own, against a control plane of
// real rules. Requests and answers are lost and late; processes are killed at any moment, stand still, are cut off and
// superseded; machines are frozen and restored, disks cloned, wall clocks set; certificates run out and are renewed.

// rules are what a mutant lacks.
type rules struct {
	noRecheck bool // nothing is asked between commit and acknowledgement (P8)
	anyPlace  bool // the node does not find out that its disk was copied
	noWatch   bool // the node does not see its clock jump within a minute
	noMargin  bool // the control plane counts a lease no longer than it granted it, and clocks differ in speed (P9)
}

func (r rules) settings(s relay.Settings) relay.Settings {
	if r.noWatch || r.noMargin { // the watch would notice such clocks
		s.ClockBound = time.Minute
	}
	return s
}

func (r rules) place(of string) string {
	if r.anyPlace {
		return "here"
	}
	return of
}

func (w *world) count(add func(*tally)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.tally)
}

// alone looks for another process that may commit to a tenant at the generation at the same moment: on a copy of a disk it
// would be the same node, and nothing but time keeps the two apart (P10). What such a copy wrote before it went is beyond
// what a node can know.
func (w *world) alone(m *machine, tenant string, generation int64) {
	for _, other := range w.machines() {
		p := other.running()
		if other == m || p == nil || p.isDead() || other.clock.stands() || !other.disk.Look(tenant).Copy.Commits(generation) {
			continue
		}
		if permit, err := p.node.Gate().Write(tenant); err == nil && permit.Generation == generation {
			w.violate("%s and %s may both write to %s at generation %d", m.name, other.name, tenant, generation)
		}
	}
}

func (w *world) machines() []*machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*machine(nil), w.all...)
}

// commit notes who committed, and says whether a later generation had begun to.
func (w *world) commit(m *machine, tenant string, generation int64) (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := func(g int64) string { return fmt.Sprintf("%s at generation %d", tenant, g) }
	if by := w.writer[key(generation)]; by != nil && by.id != m.id && w.bad == "" {
		w.bad = fmt.Sprintf("%s and %s both commit to %s", by.name, m.name, key(generation))
		w.log = append(w.log, w.bad)
	}
	if w.writer[key(generation)] == nil {
		w.log = append(w.log, fmt.Sprintf("%9s %s commits first to %s", time.Since(w.began).Round(time.Millisecond), m.name, key(generation)))
	}
	w.writer[key(generation)] = m
	w.tally.commits++
	for g := generation + 1; g < generation+4; g++ {
		late = late || w.writer[key(g)] != nil
	}
	return late
}

func (w *world) run() {
	for _, m := range w.all {
		m.start()
	}
	for time.Since(w.began) < 6*time.Minute && w.violated() == "" {
		pass(500 * time.Millisecond)
		w.control.Sweep()
		w.operate()
		for _, m := range append([]*machine(nil), w.all...) {
			m.happen()
		}
	}
	w.heal()
}

// heal ends all trouble; then every tenant is written again by exactly one process.
func (w *world) heal() {
	defer func() {
		for _, m := range w.all {
			if m.running() != nil {
				m.kill()
			}
		}
	}()
	if w.violated() != "" {
		return
	}
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.note("all is calm")
	for i := range 500 {
		pass(500 * time.Millisecond)
		if i == 150 && w.cloned() { // nothing else may leave a tenant unwritten
			w.giveUp()
		}
		w.salvage()
		w.control.Sweep()
		for _, m := range w.all {
			w.mu.Lock()
			m.cut = time.Time{}
			w.mu.Unlock()
			m.recovers()
		}
		if w.settled() || w.violated() != "" {
			break
		}
	}
	if !w.settled() {
		w.violate("not every tenant is written again")
		return
	}
	for tenant := range w.ledgers {
		w.audit(tenant)
	}
}

func (w *world) cloned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally.clones > 0
}

// giveUp stops the node of a tenant that nobody writes: what a clone's disk had, when the tenant came to it, is gone with
// the clone. The operator then recovers the tenant.
func (w *world) giveUp() {
	for _, tenant := range w.tenants {
		if w.written(tenant) == 1 {
			continue
		}
		for _, m := range w.all {
			if m.id == w.control.Place(tenant).Node && m.running() != nil {
				m.kill()
				m.down = time.Now().Add(40 * time.Second)
			}
		}
	}
}

func (w *world) salvage() {
	for _, tenant := range w.tenants {
		at := w.control.Place(tenant)
		for _, target := range []string{"n0", "n1", "n2"} {
			if w.control.Lease(at.Node).Lapsed && !w.control.Lease(target).Lapsed {
				if _, err := w.control.Recover(tenant, target); err == nil {
					w.lose(tenant, at.Generation)
				}
			}
		}
	}
}

func (m *machine) recovers() {
	if m.running() == nil {
		if !m.gone && time.Now().After(m.down) {
			m.start()
		}
		return
	}
	if m.copied {
		m.kill()
		m.gone = true
		return
	}
	select {
	case <-m.running().ended:
		m.set(nil)
	default:
		m.helped()
	}
}

// settled says whether exactly one process writes to each tenant.
func (w *world) settled() bool {
	for _, tenant := range w.tenants {
		at := w.control.Place(tenant)
		if w.written(tenant) != 1 || at.State != placement.Active || at.Migration != "" {
			return false
		}
	}
	return true
}

// written is how many processes may write to a tenant.
func (w *world) written(tenant string) (writers int) {
	for _, m := range w.all {
		if m.running() != nil {
			if p, err := m.running().node.Gate().Write(tenant); err == nil && m.disk.Look(tenant).Copy.Commits(p.Generation) {
				writers++
			}
		}
	}
	return writers
}

func seeds(normal int) int {
	if n, err := strconv.Atoi(os.Getenv("BERTH_SIM_SEEDS")); err == nil {
		return max(n, normal)
	}
	return normal
}

func simulate(t *testing.T, seed uint64, r rules) (w *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed, r)
		w.run()
		pass(2 * time.Minute) // whatever still sleeps ends
		for _, tenant := range w.tenants {
			w.tally.switches += int(w.control.Place(tenant).Generation) - 1
		}
	})
	return w
}

// Never do two machines commit to a tenant at one generation, nothing is acknowledged that came late, nothing is permitted
// after the end of a lease, and when the trouble is over every tenant is written again (P5, P8–P10, P15, P16, R5).
func TestSimulatedNodes(t *testing.T) {
	t.Parallel()
	var total tally
	for seed := range seeds(40) {
		w := simulate(t, uint64(seed), rules{})
		if w.bad != "" {
			t.Fatalf("seed %d: %s\n%s", seed, w.bad, w.tail())
		}
		total.add(w.tally)
	}
	t.Logf("%+v", total)
	total.least(t, tally{
		commits: 8000, acks: 8000, denied: 20000, switches: 400, lapses: 300, superseded: 150, starts: 700, rotations: 500, jumps: 250,
		clones: 80, recovers: 100, messages: 8000, messageAcks: 8000, delivered: 1500, losses: 40,
	})
}

// Each of these is needed: without it the simulation finds a violation.
func TestSimulationFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]rules{
		"no second check": {noRecheck: true}, "copies of a disk unnoticed": {anyPlace: true}, "jumps of the clock unnoticed": {noWatch: true},
		"no margin": {noMargin: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds(300) {
				if w := simulate(t, uint64(seed), r); w.bad != "" {
					t.Logf("seed %d: %s", seed, w.bad)
					return
				}
			}
			t.Fatal("not found")
		})
	}
}

func (t *tally) least(tb testing.TB, u tally) {
	tb.Helper()
	if t.commits < u.commits || t.acks < u.acks || t.denied < u.denied || t.switches < u.switches || t.lapses < u.lapses ||
		t.superseded < u.superseded || t.starts < u.starts || t.rotations < u.rotations || t.jumps < u.jumps || t.clones < u.clones ||
		t.recovers < u.recovers || t.messages < u.messages || t.messageAcks < u.messageAcks || t.delivered < u.delivered || t.losses < u.losses {
		tb.Fatalf("too little happened: %+v, want at least %+v", *t, u)
	}
}

func (t *tally) add(u tally) {
	t.commits += u.commits
	t.acks += u.acks
	t.denied += u.denied
	t.switches += u.switches
	t.lapses += u.lapses
	t.superseded += u.superseded
	t.starts += u.starts
	t.rotations += u.rotations
	t.jumps += u.jumps
	t.clones += u.clones
	t.recovers += u.recovers
	t.messages += u.messages
	t.messageAcks += u.messageAcks
	t.delivered += u.delivered
	t.losses += u.losses
}
