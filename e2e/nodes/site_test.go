package nodes_test

import (
	"testing"

	"berth/e2e/harness"
)

// What concerns single nodes happens at once on one deployment, each in a region of its own.
func TestNodes(t *testing.T) {
	t.Parallel()
	site := harness.NewSite(t)
	for region, scenario := range map[string]func(*testing.T, *world){
		"enrolled": enrolsAndServes, "raced": twoProcessesOneToken, "killed": killedWhileEnrolling, "revoked": revoked,
		"cut": cutOff, "stopped": stoppedLongerThanItsLease, "cloned": clonedDisk, "moved": movesWhileNodesAreKilled,
	} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			scenario(t, open(t, site.In(t), region))
		})
	}
}
