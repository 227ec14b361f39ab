package relay

import (
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// A node's heartbeat generation is given by the control plane; an older process, and an older or repeated beat, are
// refused (P10). The latest boot id keeps its generation.
func TestHeartbeatGenerations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	first := n.Generation
	beat := func(generation, sequence int64) contract.Heartbeat {
		return contract.Heartbeat{Generation: generation, Sequence: sequence}
	}
	path := "/nodes/a/heartbeat"
	n.Refused("POST", path, beat(first, n.Sequence), 409, "heartbeat_sequence_stale")
	n.Refused("POST", path, beat(first+1, 99), 409, "heartbeat_generation_stale")
	n.Register("boot-1")
	if n.Generation != first {
		t.Fatalf("the latest boot id registered again and got %d, had %d", n.Generation, first)
	}
	n.Sequence = 50
	n.Beat()
	n.Register("boot-2")
	if n.Generation != first+1 {
		t.Fatalf("a new process got generation %d, want %d", n.Generation, first+1)
	}
	n.Refused("POST", path, beat(first, 99), 409, "heartbeat_generation_stale")
	n.Beat()
}

// Another data directory is not this node, until an operator says so of a node that is empty and surely silent (P10).
func TestReplaceStorage(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "BERTH_LEASE_DURATION=2s", "BERTH_LEASE_MARGIN=1s")
	n, path := w.other(), "/api/v1/nodes/"
	stranger := contract.Register{BootID: "boot-3", StorageID: "another-disk"}
	n.Refused("POST", "/nodes/"+n.ID+"/register", stranger, 409, "storage_changed")
	w.Refused("POST", path+w.holder().ID+"/replace-storage", nil, 409, "node_not_empty")
	n.Beat()
	w.Refused("POST", path+n.ID+"/replace-storage", nil, 409, "lease_not_run_out")
	w.Eventually("the node's lease has run out", func() bool {
		return w.Do(w.Token, "POST", path+n.ID+"/replace-storage", nil).Status == 200
	})
	n.Call("POST", "/nodes/"+n.ID+"/register", stranger, 200, nil)
}

// A tenant that no node can take waits, is shown in the queue, and is placed when capacity appears (P12).
func TestPlacementQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "us", Origin: "https://us.relay.test"}, 201, nil)
	var waiting contract.Tenant
	w.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: "late", HomeRegion: "us"}, 201, &waiting)
	if waiting.Placement != nil {
		t.Fatalf("placed in a region without nodes: %+v", waiting.Placement)
	}
	var q contract.PlacementQueue
	w.Operator("GET", "/api/v1/placement-queue", nil, 200, &q)
	if len(q.Waiting) != 1 || q.Waiting[0].Tenant != "late" {
		t.Fatalf("the queue is %+v", q)
	}
	w.NewNode("west", "us", 1)
	w.Eventually("the tenant is placed", func() bool {
		var now contract.Tenant
		w.Operator("GET", "/api/v1/tenants/late", nil, 200, &now)
		return now.Placement != nil && now.Placement.Node == "west" && now.Placement.Generation == 1
	})
}

// Draining a node moves its tenants away by itself, through the same steps, and an empty node can be retired (P12).
func TestDrainANode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := w.holder()
	w.Refused("DELETE", "/api/v1/nodes/"+from.ID, nil, 409, "node_not_empty")
	w.Operator("POST", "/api/v1/nodes/"+from.ID+"/drain", nil, 200, nil)
	var m *harness.Move
	w.Eventually("a migration runs", func() bool {
		a := from.Assignments()["acme"]
		if a.Migration == nil {
			return false
		}
		m = w.Follow("acme", a.Migration.ID, from, w.nodes[a.Migration.Peer])
		return true
	})
	m.Prepare()
	m.Quiesce()
	m.Copy()
	m.Drain()
	w.Operator("DELETE", "/api/v1/nodes/"+from.ID, nil, 200, nil)
	from.Refused("GET", "/nodes/"+from.ID+"/assignments", nil, 403, "node_retired")
}
