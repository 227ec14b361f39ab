package storetest

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

func regionKind() kind[placement.Region, placement.Region] {
	return kind[placement.Region, placement.Region]{
		thing: "region", tree: func(s *state) *tree[placement.Region] { return &s.regions },
		key:    func(r placement.Region) string { return r.ID },
		record: self[placement.Region], restore: self[placement.Region],
	}
}

type regions struct {
	aggregate[placement.Region, placement.Region]
}

func (r regions) List(_ context.Context, p store.Page) ([]placement.Region, error) {
	return r.page(p, anything)
}

func nodeKind() kind[*placement.Node, placement.NodeRecord] {
	return kind[*placement.Node, placement.NodeRecord]{
		thing: "node", tree: func(s *state) *tree[placement.NodeRecord] { return &s.nodes },
		key:    func(r placement.NodeRecord) string { return r.ID },
		record: (*placement.Node).Record, restore: placement.RestoreNode,
	}
}

type nodes struct {
	aggregate[*placement.Node, placement.NodeRecord]
}

func (n nodes) Candidates(_ context.Context, region string, p store.Page) ([]placement.Candidate, error) {
	found, err := n.page(p, func(r placement.NodeRecord) bool {
		return (region == "" || r.Region == region) && n.leases.has(r.ID)
	}, region)
	if err != nil {
		return nil, err
	}
	out := make([]placement.Candidate, 0, len(found))
	for _, node := range found {
		lease, _ := n.leases.get(node.Record().ID)
		out = append(out, placement.Candidate{Node: node, Lease: placement.RestoreLease(lease)})
	}
	return out, nil
}

func leaseKind() kind[*placement.Lease, placement.LeaseRecord] {
	return kind[*placement.Lease, placement.LeaseRecord]{
		thing: "lease", tree: func(s *state) *tree[placement.LeaseRecord] { return &s.leases },
		key:    func(r placement.LeaseRecord) string { return r.Node },
		record: (*placement.Lease).Record, restore: placement.RestoreLease,
		belongs: func(r placement.LeaseRecord) func(*state) bool { return nodeExists(r.Node) },
	}
}

func nodeExists(id string) func(*state) bool {
	return func(s *state) bool { return s.nodes.has(id) }
}

func placementKind() kind[*placement.Placement, placement.Record] {
	return kind[*placement.Placement, placement.Record]{
		thing: "placement", tree: func(s *state) *tree[placement.Record] { return &s.placements },
		key:    func(r placement.Record) string { return r.Tenant },
		record: (*placement.Placement).Record, restore: placement.Restore,
		tenant: func(r placement.Record) string { return r.Tenant },
	}
}

type placements struct {
	aggregate[*placement.Placement, placement.Record]
}

func (p placements) Concerning(_ context.Context, node string, at store.Page) ([]*placement.Placement, error) {
	return p.page(at, func(r placement.Record) bool {
		return r.Node == node || r.Source == node || r.Target == node
	}, node)
}

func (p placements) HeldBy(_ context.Context, node string, at store.Page) ([]*placement.Placement, error) {
	return p.page(at, func(r placement.Record) bool { return r.Node == node && r.Migration == "" }, node)
}

func migrationKind() kind[*placement.Migration, placement.MigrationRecord] {
	return kind[*placement.Migration, placement.MigrationRecord]{
		thing: "migration", tree: func(s *state) *tree[placement.MigrationRecord] { return &s.migrations },
		key:    func(r placement.MigrationRecord) string { return r.ID },
		record: (*placement.Migration).Record, restore: placement.RestoreMigration,
	}
}

type migrations struct {
	aggregate[*placement.Migration, placement.MigrationRecord]
}

func running(r placement.MigrationRecord) bool { return !placement.RestoreMigration(r).Ended() }

func (m migrations) OfTenant(_ context.Context, tenant string, p store.Page) ([]*placement.Migration, error) {
	return m.page(p, func(r placement.MigrationRecord) bool { return r.Tenant == tenant }, tenant)
}

func (m migrations) Running(_ context.Context, p store.Page) ([]*placement.Migration, error) {
	return m.page(p, running)
}

func (m migrations) RunningFrom(_ context.Context, node string) (int, error) {
	if err := m.reading(node); err != nil {
		return 0, err
	}
	n := 0
	for _, r := range m.state.migrations.above("") {
		if r.Source == node && running(r) {
			n++
		}
	}
	return n, nil
}

type queue struct{ *tx }

func (q queue) Add(_ context.Context, w placement.Waiting) error {
	w, err := adopt(w)
	if err != nil {
		return err
	}
	if err := q.writing(); err != nil {
		return err
	}
	if q.state.queue.has(w.Tenant) {
		return store.Taken("waiting")
	}
	q.state.queue = q.state.queue.put(w.Tenant, w)
	return nil
}

func (q queue) Get(_ context.Context, tenant string) (placement.Waiting, error) {
	if err := q.reading(tenant); err != nil {
		return placement.Waiting{}, err
	}
	w, found := q.state.queue.get(tenant)
	if !found {
		return placement.Waiting{}, store.Missing("waiting")
	}
	return w, nil
}

func (q queue) Remove(_ context.Context, tenant string) error {
	if err := q.writing(tenant); err != nil {
		return err
	}
	if !q.state.queue.has(tenant) {
		return store.Missing("waiting")
	}
	q.state.queue = q.state.queue.remove(tenant)
	return nil
}

func (q queue) Oldest(_ context.Context, region string, limit int) ([]placement.Waiting, error) {
	if err := q.reading(region); err != nil {
		return nil, err
	}
	var out []placement.Waiting
	for _, w := range q.state.queue.above("") {
		if region == "" || w.Region == region {
			out = append(out, w)
		}
	}
	placement.SortQueue(out)
	return out[:min(len(out), max(limit, 1))], nil
}

type backups struct{ *tx }

func (b backups) Get(_ context.Context, tenant string) (*placement.Backup, error) {
	if err := b.reading(tenant); err != nil {
		return nil, err
	}
	if r, found := b.state.backups.get(tenant); found {
		return &r, nil
	}
	return nil, nil //nolint:nilnil // the contract: none is recorded
}

func (b backups) Put(_ context.Context, r placement.Backup) error {
	r, err := adopt(r)
	if err != nil {
		return err
	}
	if err := b.writing(); err != nil {
		return err
	}
	b.state.backups = b.state.backups.put(r.Tenant, r)
	return nil
}
