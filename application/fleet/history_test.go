package fleet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
)

// player draws one operation after another, of operators, of nodes that report right and wrong, of sweeps on two
// replicas, and lets time pass.
type player struct {
	*world
	r     *rapid.T
	other *world
	boots int
	names int
	draws uint64
}

var histNodes = []string{"a", "b", "c", "d"}

// n draws from 0 to most evenly: rapid by itself prefers small numbers, and its histories would then hardly move.
func (p *player) n(most int) int {
	p.draws++
	x := (uint64(rapid.Uint32().Draw(p.r, "n"))<<32 + p.draws) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return int((x ^ x>>27) >> 33 % uint64(most+1))
}

func (p *player) coin() bool { return p.n(1) == 0 }

func pick[T any](p *player, from []T) T { return from[p.n(len(from)-1)] }

func (p *player) node() string   { return pick(p, histNodes) }
func (p *player) region() string { return pick(p, []string{"eu", "us"}) }

func (p *player) operator() fleet.NodeRequest { return fleet.NodeRequest{Actor: alice, Node: p.node()} }

func (p *player) tenantName() string {
	return fmt.Sprintf("t%d", p.n(max(0, p.names-1)))
}

// aMigration prefers one that runs.
func (p *player) aMigration() placement.MigrationRecord {
	all := p.dump().Migrations
	ids := sortedKeys(all)
	running := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return all[id].State >= placement.PhaseDone })
	if len(running) > 0 && p.n(9) > 0 {
		ids = running
	}
	if len(ids) == 0 {
		return placement.MigrationRecord{ID: "mig_none", Tenant: "t0", Source: "a", Target: "b", Generation: 1}
	}
	return all[pick(p, ids)]
}

// reporter is the right node, mostly.
func (p *player) reporter(right string) string {
	if p.n(9) > 0 {
		return right
	}
	return p.node()
}

func (p *player) manifest(m placement.MigrationRecord) placement.Manifest {
	if m.ManifestRoot != "" && p.n(9) > 0 {
		return placement.Manifest{Root: m.ManifestRoot, LastSequence: m.LastSequence}
	}
	return placement.Manifest{Root: root(fmt.Sprint(p.n(9))), LastSequence: int64(p.n(30))}
}

// stranded prefers a tenant that can be recovered.
func (p *player) stranded() string {
	d := p.dump()
	var tenants []string
	for _, tenant := range sortedKeys(d.Backups) {
		if d.Leases[d.Placements[tenant].Node].Lapsed {
			tenants = append(tenants, tenant)
		}
	}
	if len(tenants) == 0 {
		return p.tenantName()
	}
	return pick(p, tenants)
}

// pass lets time pass for both replicas, behind a look at the leases.
func (p *player) pass(d time.Duration) error {
	err := p.SweepLeases(p.ctx)
	p.clock.Advance(d)
	p.other.clock.Advance(d)
	return err
}

// stepOn does what a migration that goes well needs next.
func (p *player) stepOn(m placement.MigrationRecord) error {
	switch m.State {
	case placement.PhasePreparing:
		if m.SourcePrepared {
			return p.prepared(m.Target, m.ID)
		}
		return p.prepared(m.Source, m.ID)
	case placement.PhaseQuiescing:
		last := p.dump().Backups[m.Tenant].Manifest.LastSequence
		return p.quiesced(m.Source, m.ID, m.Generation, placement.Manifest{Root: root("f"), LastSequence: last + 1})
	case placement.PhaseCopying:
		return p.copied(m.Target, m.ID, placement.Manifest{Root: m.ManifestRoot, LastSequence: m.LastSequence})
	case placement.PhaseSwitching:
		return p.SweepMigrations(p.ctx)
	case placement.PhaseDraining:
		return p.drained(m.Source, m.ID, m.Generation+1)
	}
	return nil
}

type operation struct {
	name  string
	often int
	do    func(p *player) error
	// partial: it may have changed something although it failed
	partial bool
}

func operations() []operation {
	return []operation{
		{name: "tenant", often: 4, do: func(p *player) error {
			p.names++
			_, err := p.tryTenant(fmt.Sprintf("t%d", p.names-1), p.region())
			return err
		}},
		{name: "begin", often: 14, do: func(p *player) error {
			in := fleet.BeginMigrationRequest{Actor: alice, Tenant: p.tenantName(), TargetNode: p.node()}
			if p.n(3) == 0 {
				in.Rehome = p.region()
			}
			_, err := p.BeginMigration(p.ctx, in)
			return err
		}},
		{name: "abort", often: 2, do: func(p *player) error {
			m := p.aMigration()
			return p.abort(m.Tenant, m.ID)
		}},
		{name: "step on", often: 25, do: func(p *player) error { return p.stepOn(p.aMigration()) }},
		{name: "prepared", often: 4, do: func(p *player) error {
			m := p.aMigration()
			return p.prepared(p.reporter(map[bool]string{true: m.Source, false: m.Target}[p.coin()]), m.ID)
		}},
		{name: "quiesced", often: 3, do: func(p *player) error {
			m := p.aMigration()
			return p.quiesced(p.reporter(m.Source), m.ID, m.Generation+int64(p.n(9)/9), p.manifest(m))
		}},
		{name: "copied", often: 4, partial: true, do: func(p *player) error {
			m := p.aMigration()
			if p.n(3) == 0 {
				p.failCommitsAfter(1)
				defer p.noFaults()
			}
			return p.copied(p.reporter(m.Target), m.ID, p.manifest(m))
		}},
		{name: "drained", often: 2, do: func(p *player) error {
			m := p.aMigration()
			return p.drained(p.reporter(m.Source), m.ID, m.Generation+1-int64(p.n(9)/9))
		}},
		{name: "failed", often: 1, do: func(p *player) error {
			m := p.aMigration()
			return p.failed(p.reporter(m.Target), m.ID)
		}},
		{name: "backup", often: 6, do: func(p *player) error {
			tenant := p.tenantName()
			at := p.dump().Placements[tenant]
			return p.recordBackup(p.reporter(at.Node), tenant, at.Generation, p.manifest(placement.MigrationRecord{}))
		}},
		{name: "recover", often: 10, do: func(p *player) error {
			tenant := p.stranded()
			at := p.dump().Placements[tenant]
			_, err := p.Recover(p.ctx, fleet.RecoverRequest{
				Actor: alice, Tenant: tenant, LostNode: p.reporter(at.Node), Generation: at.Generation, TargetNode: p.node(),
				AcceptDataLoss: p.n(9) > 0,
			})
			return err
		}},
		{name: "beats", often: 16, do: func(p *player) error {
			for _, node := range histNodes {
				if p.n(3) > 0 {
					_, _ = p.tryBeat(node)
				}
			}
			return nil
		}},
		{name: "register", often: 2, do: func(p *player) error {
			node := p.node()
			p.boots++
			g, err := p.Register(p.ctx, fleet.RegisterRequest{Caller: caller(node), Ticket: p.ticket(), Registration: placement.Registration{
				BootID: fmt.Sprint("boot-", p.boots), StorageID: "disk-" + node, Advertise: node + ":1",
			}})
			if err == nil {
				p.gen[node], p.seq[node] = g, 0
			}
			return err
		}},
		{name: "drain", often: 1, do: func(p *player) error { _, err := p.DrainNode(p.ctx, p.operator()); return err }},
		{name: "activate", often: 2, do: func(p *player) error { _, err := p.ActivateNode(p.ctx, p.operator()); return err }},
		{name: "replace storage", often: 1, do: func(p *player) error { _, err := p.ReplaceStorage(p.ctx, p.operator()); return err }},
		{name: "retire", often: 1, do: func(p *player) error {
			if p.n(9) > 0 {
				return nil // it ends a node for good: rarely
			}
			_, err := p.RetireNode(p.ctx, p.operator())
			return err
		}},
		{name: "change", often: 2, do: func(p *player) error {
			on := p.n(3) > 0
			_, err := p.ChangeNode(p.ctx, fleet.ChangeNodeRequest{
				Actor: alice, Node: p.node(), Schedulable: &on, Capacity: &placement.Capacity{Tenants: int64(p.n(4)), Bytes: 1 << 30},
			})
			return err
		}},
		{name: "time", often: 6, partial: true, do: func(p *player) error {
			d := pick(p, []time.Duration{time.Second, 5 * time.Second, 12 * time.Second, 20 * time.Second, time.Hour})
			return p.pass(d)
		}},
		{name: "silence", often: 6, partial: true, do: func(p *player) error {
			silent := p.node()
			var errs []error
			for range 4 {
				errs = append(errs, p.pass(10*time.Second))
				for _, node := range histNodes {
					if node != silent {
						_, _ = p.tryBeat(node)
					}
				}
			}
			return errors.Join(append(errs, p.SweepLeases(p.ctx))...)
		}},
		{name: "leases", often: 4, partial: true, do: func(p *player) error { return p.SweepLeases(p.ctx) }},
		{name: "other leases", often: 4, partial: true, do: func(p *player) error { return p.other.SweepLeases(p.ctx) }},
		{name: "migrations", often: 6, partial: true, do: func(p *player) error { return p.SweepMigrations(p.ctx) }},
		{name: "queue", often: 3, partial: true, do: func(p *player) error { return p.other.SweepQueue(p.ctx) }},
		{name: "drains", often: 4, partial: true, do: func(p *player) error { return p.SweepDrains(p.ctx) }},
	}
}

// Whatever operators, nodes and sweeps do in whatever order: counters of nodes equal what placements say, generation,
// version, epoch and assignments only grow, the generation by one and at a switch only, each tenant has one holder and
// at most one migration, an ended migration stays as it is, a refused request changes nothing, and nothing is ever a
// defect.
func TestHistories(t *testing.T) {
	t.Parallel()
	var drawn []operation
	for _, op := range operations() {
		drawn = append(drawn, slices.Repeat([]operation{op}, op.often)...)
	}
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayer(t)
		h := watchHistory(p.world)
		for range 40 + p.n(40) {
			op := pick(p, drawn)
			p.hints.Took()
			before := h.last
			err := op.do(p)
			if fault.KindOf(err) == fault.Internal && err != nil {
				t.Fatalf("%s met a defect: %v", op.name, err)
			}
			if err == nil {
				reached[op.name]++
			} else if !op.partial {
				p.same(before, op.name+", refused,")
			}
			h.check(op.name)
		}
		for _, e := range p.entries() {
			reached[e.Action]++
		}
	})
	t.Logf("reached: %v", reached)
	for _, what := range []string{"migration.switched", "migration.drained", "migration.failed", "migration.recover_begun", "node.lease_lapsed"} {
		if reached[what] == 0 {
			t.Errorf("no history reached %s", what)
		}
	}
}

func newPlayer(t *rapid.T) *player {
	w := newWorld(t)
	w.region("eu")
	w.region("us")
	for i, id := range histNodes {
		w.node(id, []string{"eu", "us"}[i%4/3], 3)
	}
	p := &player{world: w, r: t, other: w.replica()}
	for ; p.names < 4; p.names++ {
		tenant := fmt.Sprint("t", p.names)
		at := w.tenant(tenant, "eu").Record()
		w.must(w.recordBackup(at.Node, tenant, 1, placement.Manifest{Root: root("0"), LastSequence: int64(p.names)}))
	}
	return p
}
