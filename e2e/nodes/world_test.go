package nodes_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"berth/e2e/harness"
)

// world is a scenario's part of a site: a region of its own, in which nobody else's tenants are placed.
type world struct {
	*harness.Site
	t      *testing.T
	region string
}

func open(t *testing.T, site *harness.Site, region string) *world {
	t.Helper()
	w := &world{site, t, region}
	w.NewRegion(region)
	return w
}

// relay defines a node of this region, which does not run yet.
func (w *world) relay(id string) *harness.Relay {
	w.t.Helper()
	return w.Relay(w.region+"-"+id, w.region)
}

// serving starts a node and gives it the tenant that it may write for.
func (w *world) serving(id string) (r *harness.Relay, tenant string) {
	w.t.Helper()
	r, tenant = w.relay(id), w.region+"-t"
	r.Serves()
	w.NewTenant(tenant, w.region)
	w.connects(tenant, r)
	r.Within(patience, "it may write", func() bool { return r.MayWrite(tenant) })
	return r, tenant
}

// connects has a device of the tenant connected through the nodes, as far as they let it: a node looks after tenants that
// somebody uses, and no others.
func (w *world) connects(tenant string, nodes ...*harness.Relay) {
	w.t.Helper()
	p := w.NewPhone(tenant, "owner", "desktop")
	p.Dial(p.Through(nodes...))
}

// patience is how long a test waits for what happens by itself.
const patience = 30 * time.Second

// within waits until something is so.
func within(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after %s it is not so that %s", bound, what)
		}
	}
}

// says waits until a process has said something.
func says(r *harness.Relay, text string) {
	r.Within(patience, "it says "+text, func() bool { return strings.Contains(r.Output(), text) })
}

// why is the reason that the node gives for not writing; empty where it may.
func why(r *harness.Relay, tenant string) string {
	all, err := r.Debug(context.Background())
	switch {
	case err != nil:
		return err.Error()
	case all[tenant].Write:
		return ""
	}
	return all[tenant].Why()
}

func private(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s is open to others: %s", path, info.Mode())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
