package fleet

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"berth/domain/fault"
	"berth/domain/placement"
)

// move is a migration with every row that its events change.
type move struct {
	migration *placement.Migration
	placement.Parties

	loaded placement.MigrationRecord
}

// around loads what belongs to a migration that was taken already.
func (w *work) around(ctx context.Context, m *placement.Migration) (*move, error) {
	mv := &move{migration: m, loaded: m.Record()}
	p, err := w.Placements.Get(ctx, mv.loaded.Tenant)
	if err != nil {
		return nil, err
	}
	nodes, err := w.nodes(ctx, mv.loaded.Source, mv.loaded.Target)
	if err != nil {
		return nil, err
	}
	mv.Parties = placement.Parties{Placement: p, Source: nodes[mv.loaded.Source], Target: nodes[mv.loaded.Target]}
	return mv, nil
}

// changed says whether an event did anything: a repeated report does not.
func (mv *move) changed() bool { return !reflect.DeepEqual(mv.loaded, mv.migration.Record()) }

// save writes what an event changed, with its audit entry and hints; nothing where it changed nothing.
func (w *work) save(ctx context.Context, mv *move, action string, detail map[string]string) error {
	if !mv.changed() {
		return nil
	}
	if err := w.Migrations.Save(ctx, mv.migration); err != nil {
		return err
	}
	if err := w.saveParties(ctx, mv.Placement, mv.Source, mv.Target); err != nil {
		return err
	}
	return w.tell(ctx, mv.migration, action, detail)
}

func (w *work) saveParties(ctx context.Context, p *placement.Placement, nodes ...*placement.Node) error {
	if err := w.Placements.Save(ctx, p); err != nil {
		return err
	}
	byID := map[string]*placement.Node{}
	for _, n := range nodes {
		if n != nil {
			byID[n.Record().ID] = n
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if err := w.Nodes.Save(ctx, byID[id]); err != nil {
			return err
		}
	}
	return nil
}

// tell writes the audit entry of a migration's step and hints at everyone whom it concerns.
func (w *work) tell(ctx context.Context, m *placement.Migration, action string, detail map[string]string) error {
	r := m.Record()
	all := map[string]string{
		"migration": r.ID, "source": r.Source, "target": r.Target, "state": r.State.String(),
		"generation": strconv.FormatInt(r.Generation, 10),
	}
	if r.Rehome != "" {
		all["rehome"] = r.Rehome
	}
	maps.Copy(all, detail)
	w.hint(nodeTopic(r.Source), nodeTopic(r.Target), tenantTopic(r.Tenant), migrationTopic(r.ID))
	return w.note(ctx, action, "tenant/"+r.Tenant, all)
}

// nodes loads nodes in the order of their ids, each once.
func (w *work) nodes(ctx context.Context, ids ...string) (map[string]*placement.Node, error) {
	slices.Sort(ids)
	out := map[string]*placement.Node{}
	for _, id := range slices.Compact(ids) {
		n, err := w.Nodes.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, nil
}

// placed returns the placement of a tenant that has one.
// Faults: NotFound tenant_not_found; Conflict tenant_not_placed.
func (w *work) placed(ctx context.Context, tenant string) (*placement.Placement, error) {
	p, err := w.Placements.Get(ctx, tenant)
	if !missing(err) {
		return p, err
	}
	if _, err := w.Tenants.Get(ctx, tenant); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.Conflict, "tenant_not_placed", "tenant %s waits for a place", tenant).
		Curable("make room in its home region")
}
