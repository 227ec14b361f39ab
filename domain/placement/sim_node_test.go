package placement

import (
	"fmt"
	"slices"
	"time"
)

// simNode is a machine: an identity, a clock and a disk, and the processes that run on it.
type simNode struct {
	sim       *sim
	id        string
	ppm       int64
	copy      Copy
	data      content
	procs     []*simProc
	boots     int
	downUntil time.Duration
}

// simProc is a process; a crash forgets all of it.
type simProc struct {
	boot       string
	generation int64 // heartbeat generation
	sequence   int64
	granted    Granted
	held       Held
	view       Assignment
	writes     []*simWrite
	pausedTill time.Duration
	cutTill    time.Duration // from the network
}

type simWrite struct {
	id         int
	generation int64
	committed  bool
	slow       bool
}

func (n *simNode) clock() time.Duration { return n.sim.clock(n.ppm) }

// act lets each process do at most one thing, and sometimes starts one.
func (n *simNode) act() {
	s := n.sim
	hung := len(n.procs) == 1 && s.now < max(n.procs[0].pausedTill, n.procs[0].cutTill)
	switch {
	case len(n.procs) == 0 && s.now >= n.downUntil, hung && s.chance(15), len(n.procs) == 1 && s.chance(1):
		n.boots++
		n.procs = append(n.procs, &simProc{boot: fmt.Sprintf("%s-%d", n.id, n.boots)})
		s.restarts++
		s.note("%s starts process %d", n.id, n.boots)
	}
	for _, p := range slices.Clone(n.procs) {
		switch {
		case s.now < p.pausedTill:
		case !s.sturdy && s.chance(1):
			n.stop(p)
		case s.chance(2):
			p.pausedTill = s.now + s.while()
		case s.chance(2):
			p.cutTill = s.now + s.while()
		default:
			n.do(p)
		}
	}
}

func (s *sim) while() time.Duration {
	return time.Duration(s.rand.Int64N(int64([]time.Duration{time.Second, 12 * time.Second}[s.rand.IntN(2)])))
}

func (n *simNode) stop(p *simProc) {
	n.procs = slices.DeleteFunc(n.procs, func(q *simProc) bool { return q == p })
	n.downUntil = n.sim.now + n.sim.while()
	n.sim.note("%s stops %s", n.id, p.boot)
}

func (n *simNode) do(p *simProc) {
	s := n.sim
	if p.generation == 0 {
		if s.chance(100) {
			n.register(p)
		}
		return
	}
	switch r := s.rand.IntN(100); {
	case r < 10:
		n.beat(p)
	case r < 25:
		n.poll(p)
	case r < 35:
		n.begin(p)
	case r < 60:
		n.goOn(p)
	case r < 62:
		n.backUp(p)
	case r < 63 && s.chance(100):
		n.report(p, func(r Reporter) error { return s.control.failed(p.view, r) })
	default:
		n.follow(p)
	}
}

// ask sends a request; the answer reaches the process that asked, if it still runs, and when it is scheduled again.
func (n *simNode) ask(p *simProc, serve func() func()) {
	s := n.sim
	if s.now < p.cutTill {
		return
	}
	s.send(func() {
		answer := serve()
		var arrive func()
		arrive = func() {
			switch {
			case !slices.Contains(n.procs, p) || s.now < p.cutTill:
			case s.now < p.pausedTill:
				s.inbox = append(s.inbox, message{p.pausedTill, arrive})
			default:
				answer()
			}
		}
		s.send(arrive)
	})
}

func (n *simNode) register(p *simProc) {
	n.ask(p, func() func() {
		g, err := n.sim.control.register(n.id, p.boot)
		return func() {
			if err == nil {
				p.generation = g
			}
		}
	})
}

func (n *simNode) beat(p *simProc) {
	p.sequence++
	b := Beat{Generation: p.generation, Sequence: p.sequence, Capacity: Boundless()}
	sent := n.clock()
	n.ask(p, func() func() {
		epoch, err := n.sim.control.beat(n.id, b)
		return func() {
			g := Granted{Epoch: epoch, SentAt: sent, For: simTerms().Duration}
			if n.sim.fromArrival {
				g.SentAt = n.clock()
			}
			switch {
			case isSlug(err, "heartbeat_generation_stale"):
				n.sim.refusals++
				n.stop(p)
			case err == nil && p.granted.Accepts(g):
				p.granted = g
			}
		}
	})
}

func (n *simNode) poll(p *simProc) {
	sent := n.clock()
	n.ask(p, func() func() {
		next, view := n.sim.control.tell(n.id)
		next.AskedAt = sent
		return func() {
			if p.held.Accepts(next) || n.sim.anyVersion && next.Generation == p.held.Generation {
				p.held, p.view = next, view
			}
		}
	})
}

func (n *simNode) backUp(p *simProc) {
	if n.warrant(p).Check(n.clock()) == nil {
		content, r := n.data, Reporter{n.id, p.held.Generation}
		n.ask(p, func() func() { n.sim.control.backUp(r, content); return func() {} })
	}
}

// warrant is the node's right to write, without the guards that a mutant lacks.
func (n *simNode) warrant(p *simProc) Warrant {
	w := Warrant{Self: n.id, Held: p.held, Granted: p.granted, Copy: n.copy, Bound: simBound}
	if n.sim.noFence {
		w.Copy.Fenced = false
	}
	if n.sim.noLease {
		w.Granted.SentAt, w.Granted.For = n.clock(), time.Hour
	}
	if n.sim.noEpoch || n.sim.noLease {
		w.Granted.Epoch = p.held.LeaseEpoch
	}
	if n.sim.noStamp {
		w.Copy.Stamp = p.held.Generation
	}
	return w
}

// passes is the storage commit: a transaction that reads the fence row and the stamp (P3, P16).
func (n *simNode) passes(generation int64) bool {
	c := n.copy
	c.Fenced = c.Fenced && !n.sim.noFence
	if n.sim.noStamp {
		c.Stamp = generation
	}
	return c.Commits(generation)
}

// mayCommitAt is every generation at which a process could now bring a write through check and commit.
func (n *simNode) mayCommitAt() (out []int64) {
	for _, p := range n.procs {
		if n.warrant(p).Check(n.clock()) != nil {
			continue
		}
		if n.passes(p.held.Generation) {
			out = append(out, p.held.Generation)
		}
		for _, w := range p.writes {
			if !w.committed && n.passes(w.generation) {
				out = append(out, w.generation)
			}
		}
	}
	return out
}

func (n *simNode) begin(p *simProc) {
	s := n.sim
	if s.writes < 256 && n.warrant(p).Check(n.clock()) == nil && len(p.writes) < 4 {
		p.writes = append(p.writes, &simWrite{id: s.writes, generation: p.held.Generation, slow: s.chance(250)})
		s.writes++
	}
}

// goOn brings one of the writes in flight a step further: to its commit, or to its acknowledgement.
func (n *simNode) goOn(p *simProc) {
	if len(p.writes) == 0 {
		return
	}
	i := n.sim.rand.IntN(len(p.writes))
	w := p.writes[i]
	if w.slow && n.sim.chance(980) {
		return
	}
	if !w.committed && n.passes(w.generation) {
		n.sim.commit(n, w)
		return
	}
	if w.committed && n.confirmed(p, w) {
		n.sim.acknowledge(n, w)
	}
	p.writes = slices.Delete(p.writes, i, i+1)
}

func (n *simNode) confirmed(p *simProc, w *simWrite) bool {
	switch {
	case n.sim.noRecheck:
		return true
	case n.sim.recheckAnywhere:
		return n.warrant(p).Check(n.clock()) == nil
	}
	return n.warrant(p).Recheck(w.generation, n.clock()) == nil
}
