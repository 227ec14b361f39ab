package fleet_test

import (
	"reflect"

	"berth/domain/placement"
)

// checkCounters fails the test unless what nodes count is what placements and migrations say.
func (w *world) checkCounters() {
	w.t.Helper()
	d := w.dump()
	tenants, inbound := map[string]int64{}, map[string]int64{}
	for _, p := range d.Placements {
		tenants[p.Node]++
	}
	for _, m := range d.Migrations {
		if m.State < placement.PhaseDraining {
			inbound[m.Target]++
		}
	}
	for id, n := range d.Nodes {
		if n.Tenants != tenants[id] || n.Inbound != inbound[id] {
			w.t.Fatalf("node %s counts %d tenants and %d inbound, there are %d and %d", id, n.Tenants, n.Inbound,
				tenants[id], inbound[id])
		}
	}
}

// history watches a store from one operation to the next.
type history struct {
	w    *world
	last dump
	told map[string]map[int64][]placement.Assignment // by node and version: what it was told
}

func watchHistory(w *world) *history {
	h := &history{w: w, told: map[string]map[int64][]placement.Assignment{}}
	h.check("the beginning")
	return h
}

// check fails the test unless the store may have come from where it was.
func (h *history) check(what string) {
	h.w.t.Helper()
	h.w.checkCounters()
	d := h.w.dump()
	h.checkPlacements(what, d)
	h.checkMigrations(what, d)
	h.checkNodes(what, d)
	h.checkBackups(what, d)
	h.last = d
}

func (h *history) checkPlacements(what string, d dump) {
	h.w.t.Helper()
	for tenant, was := range h.last.Placements {
		now, ok := d.Placements[tenant]
		switch {
		case !ok:
			h.w.t.Fatalf("%s lost the placement of %s", what, tenant)
		case now == was:
		case now.Version <= was.Version:
			h.w.t.Fatalf("%s changed a placement without raising its version: %+v to %+v", what, was, now)
		}
		if now.Generation != was.Generation || now.Node != was.Node {
			m := d.Migrations[now.Migration]
			if now.Generation != was.Generation+1 || now.State != placement.Draining || now.Node != m.Target || was.Node != m.Source {
				h.w.t.Fatalf("%s made %+v of %+v, which is no switch", what, now, was)
			}
		}
	}
	for _, q := range d.Queue {
		if p, ok := d.Placements[q.Tenant]; ok {
			h.w.t.Fatalf("%s left %s waiting, though it is placed: %+v", what, q.Tenant, p)
		}
	}
}

func (h *history) checkMigrations(what string, d dump) {
	h.w.t.Helper()
	running := map[string]string{}
	for id, m := range d.Migrations {
		if m.State < placement.PhaseDone {
			if running[m.Tenant] != "" {
				h.w.t.Fatalf("%s let %s and %s run for one tenant", what, running[m.Tenant], id)
			}
			running[m.Tenant] = id
		}
		if was, ok := h.last.Migrations[id]; ok && was.State >= placement.PhaseDone && !reflect.DeepEqual(was, m) {
			h.w.t.Fatalf("%s changed an ended migration: %+v to %+v", what, was, m)
		}
	}
	for tenant, p := range d.Placements {
		if p.Migration != running[tenant] {
			h.w.t.Fatalf("%s bound tenant %s to %q while %q runs", what, tenant, p.Migration, running[tenant])
		}
	}
}

func (h *history) checkNodes(what string, d dump) {
	h.w.t.Helper()
	for id, n := range d.Nodes {
		was, l, wasL := h.last.Nodes[id], d.Leases[id], h.last.Leases[id]
		if n.Assignments < was.Assignments || l.Generation < wasL.Generation || l.Epoch < wasL.Epoch ||
			l.Generation == wasL.Generation && l.Sequence < wasL.Sequence {
			h.w.t.Fatalf("%s let node %s go backwards: %+v %+v to %+v %+v", what, id, was, wasL, n, l)
		}
		if wasL.Lapsed && !l.Lapsed && l.Epoch == wasL.Epoch {
			h.w.t.Fatalf("%s renewed the lapsed lease of %s under its old epoch", what, id)
		}
		if was.Status == placement.NodeRetired && n.Status != placement.NodeRetired {
			h.w.t.Fatalf("%s brought back the retired node %s", what, id)
		}
		h.checkTold(what, id, n.Assignments, d)
	}
}

// checkTold: a node that has a version has all that goes with it, so that "unchanged" is true.
func (h *history) checkTold(what, node string, version int64, d dump) {
	h.w.t.Helper()
	var now []placement.Assignment
	for _, tenant := range sortedKeys(d.Placements) {
		if a, ok := placement.Restore(d.Placements[tenant]).AssignmentFor(node); ok {
			now = append(now, a)
		}
	}
	if h.told[node] == nil {
		h.told[node] = map[int64][]placement.Assignment{}
	}
	before, ok := h.told[node][version]
	if ok && !reflect.DeepEqual(before, now) {
		h.w.t.Fatalf("%s changed the assignments of %s and not their version %d: %+v to %+v", what, node, version, before, now)
	}
	h.told[node][version] = now
}

func (h *history) checkBackups(what string, d dump) {
	h.w.t.Helper()
	for tenant, was := range h.last.Backups {
		now := d.Backups[tenant]
		if now.Generation < was.Generation ||
			now.Generation == was.Generation && now.Manifest.LastSequence < was.Manifest.LastSequence {
			h.w.t.Fatalf("%s replaced the backup %+v by %+v", what, was, now)
		}
		if g := d.Placements[tenant].Generation; now.Generation != g {
			h.w.t.Fatalf("%s left the backup at generation %d while the placement is at %d", what, now.Generation, g)
		}
	}
}
