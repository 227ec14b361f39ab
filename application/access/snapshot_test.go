package access_test

import (
	"context"
	"fmt"
	"testing"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/placement"
	"berth/ports/store"
)

// phases are those that a placement can be in.
var phases = []placement.Phase{
	placement.PhaseActive, placement.PhasePreparing, placement.PhaseQuiescing, placement.PhaseCopying,
	placement.PhaseSwitching, placement.PhaseDraining,
}

// allowed reads one cell of the access table.
func allowed(op authorization.Operation, role placement.Role, phase placement.Phase) bool {
	return authorization.Decide(op, role, phase) == nil
}

func roleIn(node string, phase placement.Phase) placement.Role {
	switch {
	case node == "a" && phase == placement.PhaseActive:
		return placement.RoleOwner
	case node == "a":
		return placement.RoleSource
	case node == "b" && phase != placement.PhaseActive:
		return placement.RoleTarget
	}
	return placement.RoleStranger
}

// Every node-facing use case keeps the access table, in every phase and for every role; a tenant that does not exist,
// one that waits and one that is another node's are refused in the same words (I8).
func TestAccessTableIsKept(t *testing.T) {
	t.Parallel()
	ops := map[authorization.Operation]func(w *world, node, tenant string, generation int64) error{
		authorization.OpSnapshot: func(w *world, node, tenant string, generation int64) error {
			_, err := w.Snapshot(w.ctx, access.SnapshotRequest{Caller: caller(node), Tenant: tenant, Generation: generation})
			return err
		},
		authorization.OpDelta: func(w *world, node, tenant string, generation int64) error {
			_, err := w.Delta(w.ctx, access.DeltaRequest{
				Caller: caller(node), Tenant: tenant, Generation: generation, Since: 2,
			})
			return err
		},
		authorization.OpRevoke: func(w *world, node, tenant string, generation int64) error {
			_, err := w.RevokeByNode(w.ctx, access.RevokeByNodeRequest{
				Caller: caller(node), Ticket: w.ticket(), Tenant: tenant, Principal: "prn_nobody", Generation: generation,
				AskedBy: "prn_nobody",
			})
			if fault.SlugOf(err) == "principal_not_found" {
				return nil // it was let in
			}
			return err
		},
	}
	for op, try := range ops {
		for _, phase := range phases {
			w := housed(t)
			w.pair(1, authorization.Owner)
			w.moves(phase)
			w.hints.Took()
			before := w.dump()
			for _, node := range []string{"a", "b", "c"} {
				err := try(w, node, "acme", w.placement().Generation)
				if allowed(op, roleIn(node, phase), phase) {
					w.must(err)
					continue
				}
				w.refused(err, fault.NotFound, "not_found")
				_, waiting := w.CreateTenant(w.ctx, create("waiting-"+node, "us"))
				w.must(waiting)
				w.hints.Took()
				for _, tenant := range []string{"nobody", "Out Of Form", "\x00", "waiting-" + node} {
					other := try(w, node, tenant, 1)
					if other == nil || other.Error() != err.Error() {
						t.Fatalf("%s of %q by %s: %v, but of acme: %v", op, tenant, node, other, err)
					}
				}
				before = w.dump()
			}
			w.same(before, fmt.Sprint(op, " in ", phase))
		}
	}
}

// The answer says where the placement stands, and carries the lease epoch of the node that asks, not of the holder.
func TestSnapshotSaysWhereItStands(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.pair(1, authorization.Owner)
	w.raiseEpoch("b")
	w.moves(placement.PhaseSwitching)
	at := w.placement()
	for node, epoch := range map[string]int64{"a": 1, "b": 2} {
		out, err := w.Snapshot(w.ctx, access.SnapshotRequest{Caller: caller(node), Tenant: "acme", Generation: at.Generation})
		w.must(err)
		if out.LeaseEpoch != epoch || out.PlacementVersion != at.Version || out.Generation != at.Generation ||
			out.Node != "a" || out.State != placement.Switching || out.Writable || out.Revision != 2 {
			t.Fatalf("%s is told %+v", node, out)
		}
	}
}

func (w *world) raiseEpoch(node string) {
	w.t.Helper()
	w.lapse(node)
	w.do(func(ctx context.Context, r *store.Roles) error {
		lease, err := r.Leases.Get(ctx, node)
		w.must(err)
		w.must(lease.Beat(placement.Beat{Generation: 1, Sequence: 2, Capacity: placement.Boundless()}, noon))
		return r.Leases.Save(ctx, lease)
	})
}

// A holder that asks with an old generation is answered at the current one; one that was never given is refused. A
// stranger learns neither.
func TestSnapshotAtAnotherGeneration(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.moves(placement.PhaseDraining)
	ask := func(node string, generation int64) (access.SnapshotAnswer, error) {
		return w.Snapshot(w.ctx, access.SnapshotRequest{Caller: caller(node), Tenant: "acme", Generation: generation})
	}
	for _, old := range []int64{0, 1, 2} {
		out, err := ask("b", old)
		w.must(err)
		if out.Generation != 2 || !out.Writable || out.Node != "b" {
			t.Fatalf("asked with %d, told %+v", old, out)
		}
	}
	_, err := ask("b", 3)
	w.refused(err, fault.Conflict, "generation_ahead")
	for _, generation := range []int64{1, 2, 3} {
		_, err := ask("a", generation)
		w.refused(err, fault.NotFound, "not_found")
	}
	for _, bad := range []int64{-1, ident.MaxCounter + 1} {
		_, err := ask("b", bad)
		w.refused(err, fault.Invalid, "out_of_range")
	}
}

// A delta is for the holder at exactly the current generation.
func TestDeltaAtAnotherGeneration(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.pair(1, authorization.Owner)
	ask := func(generation, since int64) (access.DeltaAnswer, error) {
		return w.Delta(w.ctx, access.DeltaRequest{Caller: caller("a"), Tenant: "acme", Generation: generation, Since: since})
	}
	out, err := ask(1, 1)
	w.must(err)
	if out.From != 1 || out.To != 2 || len(out.Changes) != 2 || out.PlacementVersion != 1 || out.Generation != 1 {
		t.Fatalf("told %+v", out)
	}
	out, err = ask(1, 2)
	w.must(err)
	if out.From != 2 || out.To != 2 || len(out.Changes) != 0 {
		t.Fatalf("told %+v", out)
	}
	_, err = ask(0, 2)
	w.refused(err, fault.Conflict, "generation_stale")
	_, err = ask(2, 2)
	w.refused(err, fault.Conflict, "generation_ahead")
	for _, unknown := range []int64{0, 3, ident.MaxCounter} {
		_, err = ask(1, unknown)
		w.refused(err, fault.Gone, "delta_unavailable")
	}
	_, err = ask(1, -1)
	w.refused(err, fault.Invalid, "out_of_range")
}

// A tenant's lists are read whole, however many pages they have.
func TestSnapshotOfManyDevices(t *testing.T) {
	t.Parallel()
	w := housed(t)
	const many = store.MaxPage + 5
	for n := range uint64(many) {
		w.pair(n, authorization.Member)
	}
	if s := w.snapshot("a"); len(s.Principals) != many || len(s.Handles) != many {
		t.Fatalf("told of %d devices and %d handles", len(s.Principals), len(s.Handles))
	}
}
