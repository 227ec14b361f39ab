package placement

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	simSteps = 4000
	simBound = 13 * time.Second // a snapshot's greatest age (A6), in the proportion of 65 s to 15 s
)

func simTerms() LeaseTerms {
	return LeaseTerms{Duration: 3 * time.Second, Margin: time.Second, DriftPercent: 50}
}

func simDeadlines() Deadlines {
	return Deadlines{
		Prepare: time.Second, Quiesce: 4 * time.Second, Copy: 6 * time.Second, Drain: 4 * time.Second,
		QuiesceUnprepared: true,
	}
}

// content is a set of writes, as many as a manifest root has bits, so that a root names what is in the copy.
type content [4]uint64

func (c *content) add(write int)      { c[write/64] |= 1 << (write % 64) }
func (c *content) has(write int) bool { return c[write/64]&(1<<(write%64)) != 0 }
func (c content) or(d content) content {
	return content{c[0] | d[0], c[1] | d[1], c[2] | d[2], c[3] | d[3]}
}
func (c content) and(d content) content {
	return content{c[0] & d[0], c[1] & d[1], c[2] & d[2], c[3] & d[3]}
}
func (c content) without(d content) content {
	return content{c[0] &^ d[0], c[1] &^ d[1], c[2] &^ d[2], c[3] &^ d[3]}
}

func (c content) size() (n int64) {
	for _, w := range c {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

func (c content) manifest() Manifest {
	return Manifest{Root: fmt.Sprintf("%016x%016x%016x%016x", c[0], c[1], c[2], c[3]), LastSequence: c.size()}
}

func contentOf(root string) (c content) {
	for i := range c {
		_, _ = fmt.Sscanf(root[16*i:16*i+16], "%x", &c[i])
	}
	return c
}

// tally counts what happened, so that a run in which nothing did is not taken for proof.
type tally struct{ acks, switches, aborts, recovers, lapses, refusals, restarts int }

func (t *tally) add(u tally) {
	t.acks += u.acks
	t.switches += u.switches
	t.aborts += u.aborts
	t.recovers += u.recovers
	t.lapses += u.lapses
	t.refusals += u.refusals
	t.restarts += u.restarts
}

func (t *tally) mustReach(tb testing.TB, least tally) {
	tb.Helper()
	if t.acks < least.acks || t.switches < least.switches || t.aborts < least.aborts || t.recovers < least.recovers ||
		t.lapses < least.lapses || t.refusals < least.refusals || t.restarts < least.restarts {
		tb.Fatalf("too little happened: %+v, want at least %+v", *t, least)
	}
}

type sim struct {
	rules
	tally
	rand    *rand.Rand
	now     time.Duration // true time, which nobody can read
	inbox   []message
	due     []message
	nodes   []*simNode
	control *simControl
	bad     string
	log     []string

	writes  int
	acked   content
	lostOK  content            // given up by a recover, with the operator's consent
	late    content            // committed at a generation after the first commit of a higher one
	highest int64              // generation of any commit so far
	writer  map[int64]*simNode // who committed at a generation
}

type message struct {
	due time.Duration
	do  func()
}

func simulate(seed uint64, r rules) *sim {
	s := &sim{rules: r, rand: rand.New(rand.NewPCG(seed, 7)), writer: map[int64]*simNode{}}
	for _, id := range []string{"a", "b", "c"} {
		s.nodes = append(s.nodes, &simNode{sim: s, id: id, ppm: s.drift()})
	}
	s.control = newSimControl(s)
	s.nodes[0].copy = Copy{Present: true, Stamp: 1} // made for the first placement
	for step := 0; step < simSteps && s.bad == ""; step++ {
		s.now += time.Duration(s.rand.Int64N(int64(100 * time.Millisecond)))
		s.deliver()
		for _, n := range s.nodes {
			n.act()
		}
		s.control.act()
		s.check()
	}
	return s
}

// drift is a clock's speed. Two clocks differ by 48 % at most, which the terms allow for.
func (s *sim) drift() int64 { return []int64{815_000, 1_000_000, 1_200_000}[s.rand.IntN(3)] }

func (s *sim) clock(ppm int64) time.Duration {
	return time.Duration(int64(s.now/time.Microsecond)*ppm/1_000_000) * time.Microsecond
}

func (s *sim) chance(perMille int) bool { return s.rand.IntN(1000) < perMille }

// send puts a message on its way: it may be lost, late, doubled, and overtake others.
func (s *sim) send(do func()) {
	copies := 1
	switch {
	case s.chance(60):
		copies = 0
	case s.chance(60):
		copies = 2
	}
	for range copies {
		delay := 150 * time.Millisecond
		if s.chance(150) {
			delay = 8 * time.Second
		}
		s.inbox = append(s.inbox, message{s.now + time.Duration(s.rand.Int64N(int64(delay))), do})
	}
}

func (s *sim) deliver() {
	s.due = s.due[:0]
	s.inbox = slices.DeleteFunc(s.inbox, func(m message) bool {
		if m.due <= s.now {
			s.due = append(s.due, m)
		}
		return m.due <= s.now
	})
	for _, m := range s.due {
		m.do()
	}
}

func (s *sim) violate(format string, args ...any) {
	if s.bad == "" {
		s.bad = fmt.Sprintf(format, args...)
	}
}

func (s *sim) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8s ", s.now.Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (s *sim) tail() string { return strings.Join(s.log[max(0, len(s.log)-60):], "\n") }

// check is the invariants over the present state; what an event itself may not do is checked where it happens.
func (s *sim) check() {
	p := s.control.p.Record()
	may := map[int64]*simNode{}
	for _, n := range s.nodes {
		for _, g := range n.mayCommitAt() {
			if other := may[g]; other != nil && other != n {
				s.violate("nodes %s and %s may both commit at generation %d", other.id, n.id, g)
			}
			may[g] = n
			if g != p.Generation || n.id != p.Node {
				continue
			}
			if missing := s.acked.without(s.lostOK).without(n.data); missing != (content{}) {
				s.violate("node %s serves generation %d without %d acknowledged writes", n.id, g, missing.size())
			}
			if n.data.and(s.late) != (content{}) {
				s.violate("node %s serves at generation %d what was committed at an earlier one after its first commit", n.id, g)
			}
		}
	}
}

// commit is one durable commit of a node at a generation.
func (s *sim) commit(n *simNode, w *simWrite) {
	if by := s.writer[w.generation]; by != nil && by != n {
		s.violate("nodes %s and %s both committed at generation %d", by.id, n.id, w.generation)
	}
	s.writer[w.generation] = n
	n.data.add(w.id)
	if w.generation < s.highest {
		s.late.add(w.id)
	}
	s.highest = max(s.highest, w.generation)
	w.committed = true
	s.note("%s commits w%d at %d", n.id, w.id, w.generation)
}

func (s *sim) acknowledge(n *simNode, w *simWrite) {
	if s.late.has(w.id) {
		s.violate("node %s acknowledged a commit of generation %d made after the first of %d", n.id, w.generation, s.highest)
	}
	s.acked.add(w.id)
	s.acks++
	s.note("%s acknowledges w%d at %d", n.id, w.id, w.generation)
}
