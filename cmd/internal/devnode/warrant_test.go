package devnode

import (
	"log/slog"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
)

const tenant = "demo"

// bare is a node without a control plane: its lease is of 15 s, and it holds the tenant by a fresh snapshot.
func bare(tb testing.TB) (*Node, *clocktest.Fake) {
	tb.Helper()
	c := clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	vault, err := OpenVault(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	n, err := Open(Options{
		ID: "n1", Clock: c, IDs: idstest.New(1), Log: slog.New(slog.DiscardHandler), Dir: tb.TempDir(), Vault: vault,
	})
	if err != nil {
		tb.Fatal(err)
	}
	n.granted = placement.Granted{Epoch: 1, SentAt: c.Elapsed(), For: 15 * time.Second}
	n.held[tenant] = &holding{status: "active", tenant: tenant, Held: placement.Held{
		Node: "n1", Generation: 1, Version: 1, State: placement.Active, LeaseEpoch: 1, AskedAt: c.Elapsed(),
	}}
	n.set(tb, kept{Stamp: 1})
	return n, c
}

func (n *Node) set(tb testing.TB, k kept) {
	tb.Helper()
	if err := n.disk.update(tenant, func(kept, bool) (kept, error) { return k, nil }); err != nil {
		tb.Fatal(err)
	}
}

func (n *Node) written(tb testing.TB) int64 {
	tb.Helper()
	k, _ := n.disk.get(tenant)
	return k.Data.Sequence
}

// A node writes while all of its warrant holds, and each part that is missing keeps it from writing (P8, P16).
func TestWritesOnlyUnderItsWarrant(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lack func(*Node, *clocktest.Fake)
		slug string
	}{
		"nothing":                {func(*Node, *clocktest.Fake) {}, ""},
		"a lease":                {func(_ *Node, c *clocktest.Fake) { c.Advance(15 * time.Second) }, "lease_run_out"},
		"the snapshot's lease":   {func(n *Node, _ *clocktest.Fake) { n.granted.Epoch = 2 }, "lease_epoch_changed"},
		"a young snapshot":       {func(n *Node, _ *clocktest.Fake) { n.held[tenant].AskedAt -= bound }, "snapshot_too_old"},
		"the placement":          {func(n *Node, _ *clocktest.Fake) { n.held[tenant].Node = "n2" }, "not_holder"},
		"a writable state":       {func(n *Node, _ *clocktest.Fake) { n.held[tenant].State = placement.Copying }, "not_holder"},
		"an active tenant":       {func(n *Node, _ *clocktest.Fake) { n.held[tenant].status = "suspended" }, "not_holder"},
		"any snapshot":           {func(n *Node, _ *clocktest.Fake) { n.letGo(tenant) }, "not_holder"},
		"the stamp":              {func(n *Node, _ *clocktest.Fake) { n.held[tenant].Generation = 2 }, "copy_stamp_differs"},
		"a copy without a fence": {func(n *Node, _ *clocktest.Fake) { n.set(t, kept{Stamp: 1, Fenced: true}) }, "copy_fenced"},
		"a copy":                 {func(n *Node, _ *clocktest.Fake) { delete(n.disk.state.Tenants, tenant) }, "copy_missing"},
	} {
		n, clock := bare(t)
		c.lack(n, clock)
		before := n.written(t)
		err := n.writeOnce(tenant)
		if c.slug == "" {
			if err != nil || n.written(t) != before+1 {
				t.Errorf("without lack: %v", err)
			}
			continue
		}
		if fault.SlugOf(err) != c.slug || n.written(t) != before {
			t.Errorf("without %s: wrote %d, %v", name, n.written(t)-before, err)
		}
	}
}

// A new lease epoch has every snapshot taken anew, and does not renew the old ones.
func TestNewEpochKillsSnapshots(t *testing.T) {
	t.Parallel()
	n, c := bare(t)
	n.grant(placement.Granted{Epoch: 2, SentAt: c.Elapsed(), For: 15 * time.Second})
	if due := n.due(); len(due) != 1 || due[0].Tenant != tenant {
		t.Fatalf("due are %v", due)
	}
	if err := n.writeOnce(tenant); fault.SlugOf(err) != "lease_epoch_changed" {
		t.Fatalf("wrote under an old snapshot: %v", err)
	}
}

// What a node keeps is there after a restart, and so is its identity.
func TestDiskIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := openDisk(dir, idstest.New(1))
	if err != nil {
		t.Fatal(err)
	}
	want := kept{Stamp: 3, Fenced: true, FenceVersion: 9, Data: data{}.next().next()}
	if err := first.update(tenant, func(kept, bool) (kept, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	again, err := openDisk(dir, idstest.New(2))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := again.get(tenant); !ok || got != want || again.storageID() != first.storageID() {
		t.Fatalf("got %+v of %s, not %+v of %s", got, again.storageID(), want, first.storageID())
	}
}

// A target takes what its root says, and nothing else: not of another tenant, not what was changed (P4).
func TestVaultVerifies(t *testing.T) {
	t.Parallel()
	v, err := OpenVault(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := data{}.next()
	root := d.root(tenant, 4)
	if err := v.put(root, left{4, d}); err != nil {
		t.Fatal(err)
	}
	if got, err := v.take(tenant, root); err != nil || got != d {
		t.Fatalf("got %v %v", got, err)
	}
	if _, err := v.take("other", root); err == nil {
		t.Error("another tenant's data is taken")
	}
	if err := v.put(root, left{4, d.next()}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.take(tenant, root); err == nil {
		t.Error("changed data is taken")
	}
	if _, err := v.take(tenant, d.root(tenant, 5)); err == nil {
		t.Error("absent data is taken")
	}
}
