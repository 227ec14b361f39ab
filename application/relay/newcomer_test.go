package relay_test

import (
	"errors"
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// A device that was paired a moment ago is let in, also where its tenant is open and nobody has told the node of it yet; of
// devices that nobody knows the control plane is asked once a second at most.
func TestNewcomers(t *testing.T) {
	bubble(t, func(r *rig) {
		r.up()
		r.spoiled(func(method string, _ bool) error { // neither hints nor polls tell of it
			if method == "Poll" {
				return errors.New("lost")
			}
			return nil
		})
		first := r.pair(authorization.Member)
		if err := first.enter(r.t.Context(), r.node); err != nil {
			r.t.Fatalf("a device that was just paired: %v", err)
		}
		pass(time.Second)
		before := r.called("Snapshot")
		unknown := phoneOf(first.Paired)
		unknown.device.Principal = "prn_nobody"
		for range 50 {
			if err := unknown.enter(r.t.Context(), r.node); fault.SlugOf(err) != "principal_unknown" {
				r.t.Fatalf("a device that nobody knows: %v", err)
			}
			if _, err := r.node.Files(r.t.Context(), unknown.device); fault.SlugOf(err) != "principal_unknown" {
				r.t.Fatalf("its attachments: %v", err)
			}
		}
		if asked := r.called("Snapshot") - before; asked != 1 {
			r.t.Fatalf("it was asked about %d times", asked)
		}
	})
}
