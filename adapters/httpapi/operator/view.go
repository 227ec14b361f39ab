package operator

import (
	"time"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/domain/placement"
)

// when is a time that may not have come.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func region(r placement.Region) contract.Region {
	return contract.Region{ID: r.ID, Origin: r.Origin, CreatedAt: r.CreatedAt}
}

func node(c placement.Candidate) contract.Node {
	n, l := c.Node.Record(), c.Lease.Record()
	out := contract.Node{
		ID: n.ID, Region: n.Region, Status: n.Status.String(), Schedulable: n.Schedulable,
		Capacity: contract.Capacity(n.Capacity), Tenants: n.Tenants, Inbound: n.Inbound, Usage: contract.Capacity(l.Usage),
		Advertise: l.Advertise, Version: l.Version,
		Heartbeat: contract.NodeHeartbeat{Generation: l.Generation, Sequence: l.Sequence, At: when(l.BeatAt)},
		Lease:     contract.NodeLease{State: "lapsed", Epoch: l.Epoch}, AssignmentsVersion: n.Assignments, CreatedAt: n.CreatedAt,
	}
	if c.Lease.Live() {
		out.Lease.State = "live"
	}
	if l.Reported != placement.Boundless() {
		reported := contract.Capacity(l.Reported)
		out.Reported = &reported
	}
	return out
}

func migration(m *placement.Migration) contract.Migration {
	r := m.Record()
	out := contract.Migration{
		ID: r.ID, Tenant: r.Tenant, Kind: "move", SourceNode: r.Source, TargetNode: r.Target, Rehome: r.Rehome,
		State: r.State.String(), Generation: r.Generation, StartedAt: r.StartedAt, ChangedAt: r.ChangedAt,
		EndedAt: when(r.EndedAt), Deadline: when(r.Deadline),
		Steps: httpapi.Each(r.Steps, func(s placement.Step) contract.MigrationStep { return contract.MigrationStep(s) }),
	}
	if r.Kind == placement.Recovery {
		out.Kind = "recover"
	}
	if r.Failure != nil {
		out.Failure = &contract.MigrationFailed{Step: r.Failure.Step, Reason: r.Failure.Reason}
	}
	if r.DataLoss != nil {
		out.DataLoss = &contract.DataLoss{LastBackupAt: r.DataLoss.LastBackupAt, LastSequence: r.DataLoss.LastSequence}
	}
	return out
}
