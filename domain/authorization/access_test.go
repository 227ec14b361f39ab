package authorization_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
)

var roleLetters = map[placement.Role]string{
	placement.RoleStranger: "x", placement.RoleOwner: "o", placement.RoleSource: "s", placement.RoleTarget: "t",
}

// expectedAccess reads the table in testdata: by operation and phase, the letters of the roles that are allowed.
func expectedAccess(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/access.txt")
	if err != nil {
		t.Fatal(err)
	}
	var phases []string
	table := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case fields[0] == "operation":
			phases = fields[1:]
		default:
			row := map[string]string{}
			for i, phase := range phases {
				row[phase] = strings.NewReplacer("*", "xost", "-", "").Replace(fields[i+1])
			}
			table[fields[0]] = row
		}
	}
	return table
}

// Every cell of the access table is what was written down apart from it (I8).
func TestAccessTableCellByCell(t *testing.T) {
	t.Parallel()
	want := expectedAccess(t)
	if len(want) != len(authorization.Operations()) {
		t.Fatalf("%d operations are written down, the code has %d", len(want), len(authorization.Operations()))
	}
	for _, op := range authorization.Operations() {
		for phase := placement.PhaseNone; phase <= placement.PhaseFailed; phase++ {
			for role, letter := range roleLetters {
				allowed := strings.Contains(want[string(op)][phase.String()], letter)
				if err := authorization.Decide(op, role, phase); (err == nil) != allowed {
					t.Errorf("%s by the %s while %s: allowed should be %v, got %v", op, role, phase, allowed, err)
				}
			}
		}
	}
}

// Whatever is denied is denied in the same words, known or not, so that nobody learns what exists (I8).
func TestDenialsAreAlike(t *testing.T) {
	t.Parallel()
	first := authorization.Decide(authorization.OpSnapshot, placement.RoleStranger, placement.PhaseNone)
	denials := map[string]error{
		"another node's tenant": authorization.Decide(authorization.OpDelta, placement.RoleStranger, placement.PhaseActive),
		"a wrong phase":         authorization.Decide(authorization.OpCopied, placement.RoleTarget, placement.PhaseActive),
		"an unknown operation":  authorization.Decide("format_disk", placement.RoleOwner, placement.PhaseActive),
		"an unknown phase":      authorization.Decide(authorization.OpRegister, placement.RoleOwner, placement.PhaseFailed+1),
		"the last phase":        authorization.Decide(authorization.OpRegister, placement.RoleOwner, 255),
		"an unknown role":       authorization.Decide(authorization.OpRegister, placement.RoleTarget+1, placement.PhaseActive),
		"the last role":         authorization.Decide(authorization.OpRegister, 255, placement.PhaseActive),
	}
	if fault.KindOf(first) != fault.NotFound || fault.SlugOf(first) != "not_found" {
		t.Fatalf("a stranger gets %v", first)
	}
	for what, err := range denials {
		if err == nil || err.Error() != first.Error() {
			t.Errorf("%s gets %v, a stranger gets %v", what, err, first)
		}
	}
}

// The exported table is the one that decides.
func TestAccessTableTellsWhatDecides(t *testing.T) {
	t.Parallel()
	table := authorization.AccessTable()
	if len(table) != len(authorization.Operations()) {
		t.Fatalf("the table has %d rows for %d operations", len(table), len(authorization.Operations()))
	}
	for _, row := range table {
		if len(row.Cells) != int(placement.PhaseFailed)+1 {
			t.Fatalf("%s has %d cells", row.Operation, len(row.Cells))
		}
		for _, cell := range row.Cells {
			checkCell(t, row.Operation, cell)
		}
	}
}

func checkCell(t *testing.T, op authorization.Operation, cell authorization.AccessCell) {
	t.Helper()
	for role := range roleLetters {
		told := slices.Contains(cell.Roles, role)
		if decided := authorization.Decide(op, role, cell.Phase) == nil; decided != told {
			t.Errorf("%s by the %s while %s: the table says %v", op, role, cell.Phase, told)
		}
	}
}

// At most one node may write in any phase, and only the node that revoke takes for the holder (P8).
func TestOnlyTheHolderWrites(t *testing.T) {
	t.Parallel()
	for phase := placement.PhaseNone; phase <= placement.PhaseFailed; phase++ {
		var writers []placement.Role
		for role := range roleLetters {
			if writable(t, role, phase) {
				writers = append(writers, role)
			}
		}
		want := 0
		if phase == placement.PhaseActive || phase == placement.PhasePreparing || phase == placement.PhaseDraining {
			want = 1
		}
		if len(writers) != want {
			t.Errorf("%v may write while %s", writers, phase)
		}
		for _, role := range writers {
			wantNone(t, authorization.Decide(authorization.OpRevoke, role, phase))
		}
	}
}

// writable is what the snapshot of an active tenant says to a node.
func writable(t *testing.T, role placement.Role, phase placement.Phase) bool {
	t.Helper()
	tenant, main := newTenant(t)
	place := authorization.Place{Generation: 1, Version: 1, Role: role, Phase: phase}
	s, err := tenant.Snapshot(place, nil, nil, []authorization.Route{main})
	wantNone(t, err)
	return s.Writable
}
