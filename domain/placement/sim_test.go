package placement

import (
	"os"
	"strconv"
	"testing"
)

// The simulation plays one tenant on three nodes: the control plane is the real domain code in atomic steps, a node is
// the real Warrant, Held, Granted and Copy on a clock of its own. Answers and requests are delayed, lost, doubled and
// overtake one another; processes pause anywhere between check, commit and acknowledgement, crash and keep their disk, or
// are joined by a second process on the same disk. Times are shortened: a lease of 3 s under a drift allowance of 50 %.

// rules are the guards that a mutant switches off. The zero value is the protocol as it is.
type rules struct {
	noFence         bool // the storage commit does not read the fence row (P3)
	noMargin        bool // the control plane counts no longer than the node (P9)
	noLease         bool // the node does not look at its lease (P8)
	noRecheck       bool // nothing is checked between commit and acknowledgement (P8)
	noStamp         bool // the copy's stamp is not looked at (P16)
	anyVersion      bool // an answer of the same generation is accepted and lifts the fence whatever its version (P15)
	registerLapses  bool // registering ends the lease that runs (P10)
	noEpoch         bool // a snapshot counts under any lease (P8)
	blindSwitch     bool // the switch acts on what was read earlier (P5)
	anyReport       bool // a report is taken for whatever migration runs (P16)
	lapseUnseen     bool // a lease is lapsed though a beat came since it was counted (P9)
	recheckAnywhere bool // the second check does not ask for the generation at which the write began (P8)
	originUnseen    bool // a count goes on in another history of the database (P9)
	fromArrival     bool // the node counts its lease from the answer's arrival (P9)
	installOver     bool // a process installs over a copy of a later version (P16)
	sturdy          bool // not a rule but a world in which no process crashes, for what needs a long life to be seen
}

// budget is how many seeds a run may take: BERTH_SIM_SEEDS raises it for a longer search.
func budget(normal int) int {
	if n, err := strconv.Atoi(os.Getenv("BERTH_SIM_SEEDS")); err == nil {
		return max(n, normal)
	}
	return normal
}

// No two nodes may commit at one generation, no acknowledged write is missing from what the active node serves, and no
// commit of an earlier generation shows up after the first of a later one (P5, P8, P9, P15, P16).
func TestSimulatedNodesNeverBothWriteAndLoseNothing(t *testing.T) {
	t.Parallel()
	var total tally
	for seed := range budget(150) {
		s := simulate(uint64(seed), rules{sturdy: seed%4 == 3})
		if s.bad != "" {
			t.Fatalf("seed %d: %s\n%s", seed, s.bad, s.tail())
		}
		total.add(s.tally)
	}
	t.Logf("%+v", total)
	total.mustReach(t, tally{acks: 3000, switches: 300, aborts: 100, recovers: 100, lapses: 300, refusals: 300, restarts: 150})
}

// Each rule is needed: without it the simulation finds a violation within the budget of seeds.
func TestSimulationFindsEachMissingRule(t *testing.T) {
	t.Parallel()
	mutants := map[string]struct {
		rules rules
		seeds int
	}{
		"no fence row":                {rules{noFence: true}, 400},
		"no margin":                   {rules{noMargin: true}, 400},
		"lease not looked at":         {rules{noLease: true}, 100},
		"no second check":             {rules{noRecheck: true}, 100},
		"stamp ignored":               {rules{noStamp: true}, 400},
		"version ignored":             {rules{anyVersion: true}, 400},
		"register ends the lease":     {rules{registerLapses: true}, 200},
		"epoch ignored":               {rules{noEpoch: true}, 100},
		"switch on what was read":     {rules{blindSwitch: true}, 400},
		"report of another migration": {rules{anyReport: true}, 400},
		"lapse without compare":       {rules{lapseUnseen: true}, 400},
		"second check anywhere":       {rules{recheckAnywhere: true, sturdy: true}, 400},
		"lease counted from arrival":  {rules{fromArrival: true}, 400},
		"install over a later copy":   {rules{installOver: true}, 400},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range budget(mutant.seeds) {
				if s := simulate(uint64(seed), mutant.rules); s.bad != "" {
					t.Logf("seed %d: %s", seed, s.bad)
					return
				}
			}
			t.Fatalf("not found within %d seeds", budget(mutant.seeds))
		})
	}
}
