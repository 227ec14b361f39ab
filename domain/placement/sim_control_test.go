package placement

import (
	"fmt"
	"time"

	"berth/domain/fault"
)

// simControl is the control plane: each method is one transaction on the present rows.
type simControl struct {
	sim      *sim
	p        *Placement
	running  *Migration
	all      map[string]*Migration
	nodes    map[string]Candidate
	backup   Backup
	replicas []*simReplica
	mask     content // what the recover that runs will give up
	safe     content // everything that a recorded backup ever held
}

type simReplica struct {
	ppm   int64
	watch *Watch
}

func newSimControl(s *sim) *simControl {
	c := &simControl{sim: s, all: map[string]*Migration{}, nodes: map[string]Candidate{}}
	for _, n := range s.nodes {
		node, _ := NewNode(n.id, "eu", Capacity{Tenants: 1, Bytes: 1}, at(0))
		_ = node.Registered(at(0))
		c.nodes[n.id] = Candidate{node, NewLease(n.id)}
	}
	c.p = First("acme", c.nodes["a"].Node, at(0))
	c.backup = Backup{Tenant: "acme", Node: "a", Generation: 1, Manifest: content{}.manifest(), At: at(0)}
	terms := simTerms()
	if s.noMargin {
		terms.Margin, terms.DriftPercent = 0, 0
	}
	for range 2 {
		c.replicas = append(c.replicas, &simReplica{s.drift(), NewWatch(terms)})
	}
	return c
}

func (c *simControl) wall() time.Time { return at(0).Add(c.sim.now) }

func (c *simControl) parties(m *Migration) Parties {
	return Parties{c.p, c.nodes[m.r.Source].Node, c.nodes[m.r.Target].Node}
}

// act is the control plane's own doing in one step: sweeps, the count of leases, and an operator.
func (c *simControl) act() {
	s := c.sim
	for _, r := range c.replicas {
		if s.chance(200) {
			c.count(r)
		}
	}
	if s.chance(200) && c.running != nil {
		c.settle()
	}
	other := s.nodes[s.rand.IntN(3)].id
	switch {
	case s.chance(15):
		c.prepare(other)
	case s.chance(5) && c.running != nil:
		c.abort()
	case s.chance(100):
		c.recover(other)
	}
}

// count is one replica's look at the leases; the transaction in which it lapses one comes later.
func (c *simControl) count(r *simReplica) {
	now := c.sim.clock(r.ppm)
	for _, n := range c.sim.nodes {
		id, l := n.id, c.nodes[n.id]
		mark := l.Lease.Mark()
		r.watch.Observe(id, mark, now)
		if l.Lease.Live() && r.watch.RanOut(id, mark, now) {
			c.sim.send(func() {
				if c.sim.lapseUnseen {
					mark = l.Lease.Mark()
				}
				if l.Lease.Live() && l.Lease.Lapse(mark) == nil {
					c.sim.lapses++
					c.sim.note("lease of %s lapses", id)
				}
			})
		}
	}
}

func (c *simControl) register(node, boot string) (int64, error) {
	l := c.nodes[node].Lease
	g, err := l.Register(Registration{BootID: boot, StorageID: node}, c.wall())
	if c.sim.registerLapses {
		l.r.Lapsed = true
	}
	return g, err
}

func (c *simControl) beat(node string, b Beat) (int64, error) {
	l := c.nodes[node].Lease
	err := l.Beat(b, c.wall())
	return l.r.Epoch, err
}

// tell is a snapshot and the assignment with it, as the primary has them now.
func (c *simControl) tell(node string) (Held, Assignment) {
	p := c.p.Record()
	view, _ := c.p.AssignmentFor(node)
	return Held{
		Node: p.Node, Generation: p.Generation, Version: p.Version, State: p.State,
		LeaseEpoch: c.nodes[node].Lease.Record().Epoch,
	}, view
}

func (c *simControl) prepare(target string) {
	c.begun(Prepare(Plan{ID: c.id()}, c.p, c.nodes[c.p.r.Node].Node, c.nodes[target], simDeadlines(), c.wall()))
}

func (c *simControl) id() string { return fmt.Sprintf("mig_%04d", len(c.all)) }

func (c *simControl) begun(m *Migration, err error) {
	if err == nil {
		c.running, c.all[m.r.ID] = m, m
		c.mask = content{}
		c.sim.note("%s begins: kind %d, %s to %s", m.r.ID, m.r.Kind, m.r.Source, m.r.Target)
	}
}

func (c *simControl) recover(target string) {
	plan := RecoverPlan{ID: c.id(), LostNode: c.p.r.Node, Generation: c.p.r.Generation, AcceptDataLoss: true}
	w := Parties{Placement: c.p, Source: c.nodes[c.p.r.Node].Node}
	if c.running != nil {
		w.Target = c.nodes[c.running.peer(c.p.r.Node)].Node
	}
	loss := Loss{c.nodes[c.p.r.Node].Lease, c.running, &c.backup}
	m, err := Recover(plan, w, c.nodes[target], loss, simDeadlines(), c.wall())
	c.begun(m, err)
	if err != nil {
		return
	}
	c.mask = c.sim.acked.without(contentOf(c.backup.Manifest.Root)).without(c.sim.lostOK)
	if c.mask.and(c.safe) != (content{}) {
		c.sim.violate("recover gives up writes of which a recorded backup existed")
	}
}

func (c *simControl) abort() {
	if c.running.Abort(c.parties(c.running), "operator", c.wall()) == nil {
		c.ended("aborts")
	}
}

func (c *simControl) ended(how string) {
	c.sim.note("%s %s", c.running.r.ID, how)
	if c.running.r.State != PhaseDone {
		c.sim.aborts++
	}
	c.running = nil
}

// settle is a sweep: what the migration is owed, in one transaction.
func (c *simControl) settle() {
	m := c.running
	w, lease := c.parties(m), c.nodes[m.r.Source].Lease
	switch m.Due(simDeadlines(), lease.Live(), c.wall()) {
	case Wait:
	case DoQuiesce:
		_ = m.Quiesce(w, simDeadlines(), c.wall())
	case DoSwitch:
		c.switchLater()
	case DoFail:
		if m.Fail(w, m.r.State.String(), "late", c.wall()) == nil {
			c.ended("fails")
		}
	case DoEndDrain:
		if m.DrainDeadline(w, lease, c.wall()) == nil {
			c.ended("is over")
		}
	}
}

// switchLater is the second transaction of the switch: a sweep read the migration before, and acts now or later.
func (c *simControl) switchLater() {
	m, stale, old := c.running, RestoreMigration(c.running.r), *c.p
	c.sim.send(func() {
		if c.sim.blindSwitch && c.p.r.State != Draining {
			*m, *c.p, c.running = *stale, old, m
		}
		if m != c.running || m.SwitchOver(c.parties(m), simDeadlines(), c.wall()) != nil {
			return
		}
		c.sim.switches++
		if m.r.Kind == Recovery {
			c.sim.recovers++
		}
		c.sim.lostOK, c.mask = c.sim.lostOK.or(c.mask), content{}
		c.record(m)
		c.sim.note("%s switches to %s at %d", m.r.ID, c.p.r.Node, c.p.r.Generation)
	})
}

func (c *simControl) record(m *Migration) {
	if b := m.Backup(); b != nil {
		c.backup, c.safe = *b, c.safe.or(contentOf(b.Manifest.Root))
	}
}

func (c *simControl) backUp(r Reporter, taken content) {
	if b, err := TakeBackup(&c.backup, c.p, r, taken.manifest(), c.wall()); err == nil {
		c.backup, c.safe = b, c.safe.or(taken)
	}
}

// reported is the migration that a report names.
func (c *simControl) reported(view Assignment) *Migration {
	if c.sim.anyReport && c.running != nil {
		return c.running
	}
	if view.Migration == nil {
		return nil
	}
	return c.all[view.Migration.ID]
}

func (c *simControl) report(view Assignment, take func(*Migration, Parties) error) error {
	m := c.reported(view)
	if m == nil {
		return fault.New(fault.NotFound, "not_found", "no such migration")
	}
	return take(m, c.parties(m))
}

func (c *simControl) quiesced(view Assignment, r Reporter, taken content) error {
	return c.report(view, func(m *Migration, w Parties) error {
		return m.Quiesced(w, r, taken.manifest(), simDeadlines(), c.wall())
	})
}

func (c *simControl) copied(view Assignment, r Reporter, installed content) error {
	return c.report(view, func(m *Migration, w Parties) error {
		err := m.Copied(w, r, installed.manifest(), c.wall())
		if err == nil && m == c.running && m.r.State == PhaseSwitching {
			c.record(m)
		}
		return err
	})
}

func (c *simControl) drained(view Assignment, r Reporter) error {
	return c.report(view, func(m *Migration, w Parties) error {
		err := m.Drained(w, r, c.wall())
		if err == nil && m == c.running {
			c.ended("is drained")
		}
		return err
	})
}

func (c *simControl) failed(view Assignment, r Reporter) error {
	return c.report(view, func(m *Migration, w Parties) error {
		err := m.Reported(w, r, "copy", "disk full", c.wall())
		if err == nil && m == c.running {
			c.ended("is given up")
		}
		return err
	})
}
