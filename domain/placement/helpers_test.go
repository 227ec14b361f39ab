package placement

import (
	"fmt"
	"time"

	"berth/domain/fault"
)

// tb is what testing and rapid have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// at is the n-th second of the tests' time.
func at(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, 250_000, time.UTC) }

// root is the n-th manifest root.
func root(n int) string { return fmt.Sprintf("%064x", n) }

func isSlug(err error, slug string) bool { return err != nil && fault.SlugOf(err) == slug }

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
}

// refused fails the test unless err is a fault of that slug, and not an internal one by accident.
func refused(t tb, err error, slug string) {
	t.Helper()
	if !isSlug(err, slug) {
		t.Fatalf("got %v, want %s", err, slug)
	}
}

// bench is a tenant on node a, with b in the same region, c in the same, and d in another, all online with room for ten.
type bench struct {
	t      tb
	p      *Placement
	nodes  map[string]Candidate
	m      *Migration // the last one
	past   []*Migration
	backup *Backup
	now    time.Time
}

func newBench(t tb) *bench {
	b := &bench{t: t, nodes: map[string]Candidate{}, now: at(100)}
	for _, id := range []string{"a", "b", "c", "d"} {
		b.nodes[id] = online(t, id, map[bool]string{true: "us", false: "eu"}[id == "d"], Capacity{10, 1000})
	}
	b.p = First("acme", b.nodes["a"].Node, at(0))
	b.backup = &Backup{Tenant: "acme", Node: "a", Generation: 1, Manifest: Manifest{root(7), 7}, At: at(50)}
	return b
}

func online(t tb, id, region string, c Capacity) Candidate {
	t.Helper()
	n, err := NewNode(id, region, c, at(0))
	must(t, err)
	must(t, n.Registered(at(0)))
	l := NewLease(id)
	g, err := l.Register(Registration{BootID: "boot-1", StorageID: "disk-" + id}, at(0))
	must(t, err)
	must(t, l.Beat(Beat{Generation: g, Sequence: 1, Capacity: Boundless()}, at(0)))
	return Candidate{n, l}
}

// image is everything an event could change.
type image struct {
	Placement  Record
	Migrations []MigrationRecord
	Nodes      map[string]NodeRecord
	Leases     map[string]LeaseRecord
}

func (b *bench) image() image {
	i := image{Placement: b.p.Record(), Nodes: map[string]NodeRecord{}, Leases: map[string]LeaseRecord{}}
	for _, m := range b.past {
		i.Migrations = append(i.Migrations, m.Record())
	}
	if b.m != nil {
		i.Migrations = append(i.Migrations, b.m.Record())
	}
	for id, c := range b.nodes {
		i.Nodes[id], i.Leases[id] = c.Node.Record(), c.Lease.Record()
	}
	return i
}

func (b *bench) parties(m *Migration) Parties {
	return Parties{b.p, b.nodes[m.r.Source].Node, b.nodes[m.r.Target].Node}
}

func (b *bench) deadlines() Deadlines { return DefaultDeadlines() }

func (b *bench) lapse(node string) { must(b.t, b.nodes[node].Lease.Lapse(b.nodes[node].Lease.Mark())) }

func (b *bench) beat(node string) {
	l := b.nodes[node].Lease
	must(b.t, l.Beat(Beat{Generation: l.r.Generation, Sequence: l.r.Sequence + 1, Capacity: Boundless()}, b.now))
}

// took makes m the bench's migration where it was begun.
func (b *bench) took(m *Migration, err error) error {
	if err == nil {
		if b.m != nil {
			b.past = append(b.past, b.m)
		}
		b.m = m
	}
	return err
}

func (b *bench) nextID() string {
	n := len(b.past) + 1
	if b.m != nil {
		n++
	}
	return fmt.Sprintf("mig_%03d", n)
}

func (b *bench) prepare(target, rehome string) error {
	return b.took(Prepare(Plan{b.nextID(), rehome}, b.p, b.nodes[b.p.r.Node].Node, b.nodes[target], b.deadlines(), b.now))
}

func (b *bench) recoverTo(target string) error {
	plan := RecoverPlan{ID: b.nextID(), LostNode: b.p.r.Node, Generation: b.p.r.Generation, AcceptDataLoss: true}
	w := Parties{Placement: b.p, Source: b.nodes[b.p.r.Node].Node}
	loss := Loss{Lease: b.nodes[b.p.r.Node].Lease, Backup: b.backup}
	if b.p.r.Migration != "" {
		loss.Prior, w.Target = b.m, b.nodes[b.m.peer(b.p.r.Node)].Node
	}
	return b.took(Recover(plan, w, b.nodes[target], loss, b.deadlines(), b.now))
}

// manifest is what the bench's migration is about once it was quiesced.
func (b *bench) manifest() Manifest {
	if b.m != nil && b.m.r.ManifestRoot != "" {
		return Manifest{b.m.r.ManifestRoot, b.m.r.LastSequence}
	}
	return Manifest{root(9), 9}
}

// reach brings a new migration from a to b into a phase.
func (b *bench) reach(kind MigrationKind, phase Phase) *bench {
	b.t.Helper()
	if phase == PhaseNone {
		return b
	}
	if kind == Recovery {
		b.lapse("a")
		must(b.t, b.recoverTo("b"))
	} else {
		must(b.t, b.prepare("b", ""))
	}
	switch phase {
	case PhaseAborted:
		must(b.t, b.m.Abort(b.parties(b.m), "no more wanted", b.now))
	case PhaseFailed:
		must(b.t, b.m.Fail(b.parties(b.m), "copy", "disk full", b.now))
	}
	for b.m.r.State < phase && phase <= PhaseDone {
		b.forward()
	}
	return b
}

// forward takes the migration's next step.
func (b *bench) forward() {
	b.t.Helper()
	m, w := b.m, b.parties(b.m)
	switch m.r.State {
	case PhasePreparing:
		for _, node := range []string{m.r.Source, m.r.Target} {
			_, err := m.Prepared(w, Reporter{Node: node}, 3, b.now)
			must(b.t, err)
		}
		must(b.t, m.Quiesce(w, b.deadlines(), b.now))
	case PhaseQuiescing:
		must(b.t, m.Quiesced(w, Reporter{m.r.Source, m.r.Generation}, b.manifest(), b.deadlines(), b.now))
	case PhaseCopying:
		must(b.t, m.Copied(w, Reporter{Node: m.r.Target}, b.manifest(), b.now))
	case PhaseSwitching:
		must(b.t, m.SwitchOver(w, b.deadlines(), b.now))
	case PhaseDraining:
		must(b.t, m.Drained(w, Reporter{m.r.Source, m.r.Generation + 1}, b.now))
	default:
		b.t.Fatalf("no step leads on from %s", m.r.State)
	}
}
