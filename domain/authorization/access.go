package authorization

import (
	"maps"
	"slices"

	"berth/domain/fault"
	"berth/domain/placement"
)

// Operation is what a node asks of the internal API: one for each of its routes (I8).
type Operation string

// The operations. Those of the first group concern the node itself; that the node in the path is the one that asks is
// checked before (I4).
const (
	OpRegister         Operation = "register"
	OpHeartbeat        Operation = "heartbeat"
	OpAssignments      Operation = "assignments"
	OpPoll             Operation = "poll" // the request as a whole; each entry is judged as OpDelta
	OpPeers            Operation = "peers"
	OpSigningKeys      Operation = "signing_keys"
	OpRotateCredential Operation = "rotate_credential" //nolint:gosec // the name of an operation, not a credential
	OpPurgeAttest      Operation = "purge_attest"

	OpRoute        Operation = "route"
	OpSnapshot     Operation = "snapshot"
	OpDelta        Operation = "delta"
	OpRevoke       Operation = "revoke"
	OpPrepared     Operation = "prepared"
	OpQuiesced     Operation = "quiesced"
	OpCopied       Operation = "copied"
	OpDrained      Operation = "drained"
	OpFailed       Operation = "failed"
	OpBackupRecord Operation = "backup_record"
	OpBackupGrants Operation = "backup_grants"
)

// roles is a set of placement roles.
type roles uint8

const (
	own roles = 1 << placement.RoleOwner
	src roles = 1 << placement.RoleSource
	tgt roles = 1 << placement.RoleTarget

	off roles = 0         // nobody
	mig       = src | tgt // both nodes of a migration
	all       = own | mig | 1<<placement.RoleStranger
)

const phaseCount = int(placement.PhaseFailed) + 1

// access is the whole of I8: who may do what in which phase. What is not written here is denied. Before the switch the
// source holds the placement, after it the target. A report may come again, after its answer was lost, when the
// migration is one or more phases on.
var access = map[Operation][phaseCount]roles{ //nolint:gochecknoglobals // an immutable table
	//                    none act. prep quie copy swit drai done abor fail
	OpRegister:         {all, all, all, all, all, all, all, all, all, all},
	OpHeartbeat:        {all, all, all, all, all, all, all, all, all, all},
	OpAssignments:      {all, all, all, all, all, all, all, all, all, all},
	OpPoll:             {all, all, all, all, all, all, all, all, all, all},
	OpPeers:            {all, all, all, all, all, all, all, all, all, all},
	OpSigningKeys:      {all, all, all, all, all, all, all, all, all, all},
	OpRotateCredential: {all, all, all, all, all, all, all, all, all, all},
	OpPurgeAttest:      {all, all, all, all, all, all, all, all, all, all},
	OpRoute:            {off, all, all, all, all, all, all, off, off, off},
	OpSnapshot:         {off, own, src, src, src, mig, tgt, off, off, off},
	OpDelta:            {off, own, src, src, src, src, tgt, off, off, off},
	OpRevoke:           {off, own, src, src, src, src, tgt, off, off, off},
	OpPrepared:         {off, off, mig, off, off, off, off, off, off, off},
	OpQuiesced:         {off, off, off, src, src, off, off, off, off, off},
	OpCopied:           {off, off, off, off, tgt, tgt, tgt, off, off, off},
	OpDrained:          {off, off, off, off, off, off, src, src, off, off},
	OpFailed:           {off, off, mig, mig, mig, mig, off, off, off, off},
	OpBackupRecord:     {off, own, src, src, off, off, tgt, off, off, off},
	OpBackupGrants:     {off, own, mig, mig, mig, mig, tgt, off, off, off},
}

// Operations are all operations, in the order of the alphabet.
func Operations() []Operation { return slices.Sorted(maps.Keys(access)) }

// Decide says whether a node in the given role may do this while the tenant is in the given phase. Whatever is not
// allowed gets the same answer, be it that the tenant is another node's or that there is none.
// Fault: NotFound not_found.
func Decide(op Operation, role placement.Role, phase placement.Phase) error {
	if int(phase) < phaseCount && access[op][phase].has(role) {
		return nil
	}
	return fault.New(fault.NotFound, "not_found", "there is nothing here for this node")
}

func (r roles) has(role placement.Role) bool { return r>>role&1 == 1 }

// AccessCell is one cell of the access table: who is allowed.
type AccessCell struct {
	Phase placement.Phase
	Roles []placement.Role
}

// AccessRow is the row of one operation, with a cell for every phase.
type AccessRow struct {
	Operation Operation
	Cells     []AccessCell
}

// AccessTable is the access table, for documents and for tests that walk it row by row.
func AccessTable() []AccessRow {
	var table []AccessRow
	for _, op := range Operations() {
		row := AccessRow{Operation: op}
		for phase := range placement.Phase(phaseCount) {
			row.Cells = append(row.Cells, AccessCell{phase, access[op][phase].list()})
		}
		table = append(table, row)
	}
	return table
}

func (r roles) list() []placement.Role {
	var out []placement.Role
	for role := placement.RoleStranger; role <= placement.RoleTarget; role++ {
		if r.has(role) {
			out = append(out, role)
		}
	}
	return out
}
