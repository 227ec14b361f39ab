package relay_test

import (
	"testing"

	"berth/domain/authorization"
)

// Who has just seen that no Engine is open, and comes to open it when another did, is let in by that one.
func TestOpensOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		if err := r.node.OpenOnceMore("t0"); err != nil {
			t.Fatal(err)
		}
		if s := r.node.Status(); s.Engines != 1 || p.end() != "" || r.node.Tenants()[0].Failed != nil {
			t.Fatalf("%d Engines are open, ended by %q", s.Engines, p.end())
		}
	})
}
