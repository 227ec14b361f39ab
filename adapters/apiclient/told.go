package apiclient

import (
	"encoding/hex"

	"berth/adapters/contract"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority"
)

// What a node acts on is read strictly: a word that is not known is no answer, and never the nearest one.

func assignment(in contract.Assignment) (placement.Assignment, error) {
	out := placement.Assignment{Tenant: in.Tenant, Generation: in.Generation, Version: in.PlacementVersion}
	var ok [3]bool
	out.State, ok[0] = stateOf(in.State)
	out.Role, ok[1] = roleOf(in.Role)
	ok[2] = in.Migration != nil || out.Role == placement.RoleOwner
	if in.Generation < 1 || in.PlacementVersion < 1 || ok != [3]bool{true, true, true} {
		return out, unexpected("an assignment has a generation, a version, a state, a role and, but for an owner's, a migration")
	}
	if in.Migration == nil {
		return out, nil
	}
	m := &placement.AssignedMigration{ID: in.Migration.ID, Peer: in.Migration.Peer, ManifestRoot: in.Migration.ManifestRoot}
	if in.Migration.LastSequence != nil {
		m.LastSequence = *in.Migration.LastSequence
	}
	var known bool
	if m.Phase, known = phaseOf(in.Migration.State); !known || m.ID == "" {
		return out, unexpected("a migration has an id and a state")
	}
	out.Migration = m
	return out, nil
}

func stateOf(word string) (placement.State, bool) {
	for s := placement.Active; s <= placement.Draining; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return 0, false
}

func roleOf(word string) (placement.Role, bool) {
	for r := placement.RoleOwner; r <= placement.RoleTarget; r++ {
		if r.String() == word {
			return r, true
		}
	}
	return 0, false
}

func phaseOf(word string) (placement.Phase, bool) {
	for p := placement.PhasePreparing; p <= placement.PhaseDraining; p++ {
		if p.String() == word {
			return p, true
		}
	}
	return 0, false
}

func snapshot(in contract.Snapshot) (authority.Snapshot, error) {
	state, ok := stateOf(in.State)
	status, known := statusOf(in.Status)
	if !ok || !known || in.Tenant == "" || in.Generation < 1 || in.PlacementVersion < 1 || in.Revision < 1 {
		return authority.Snapshot{}, unexpected("a snapshot has a tenant, a generation, a version, a revision, a state and a status")
	}
	out := authority.Snapshot{Node: in.Node, State: state, Snapshot: authorization.Snapshot{
		Tenant: in.Tenant, Generation: in.Generation, PlacementVersion: in.PlacementVersion, LeaseEpoch: in.LeaseEpoch,
		Revision: in.Revision, Status: status, Writable: in.Writable, Routes: in.Routes,
	}}
	for _, p := range in.Principals {
		one, err := principal(p)
		if err != nil {
			return authority.Snapshot{}, err
		}
		out.Principals = append(out.Principals, one)
	}
	for _, h := range in.Handles {
		one, err := handle(h)
		if err != nil {
			return authority.Snapshot{}, err
		}
		out.Handles = append(out.Handles, one)
	}
	return out, nil
}

func statusOf(word string) (authorization.TenantStatus, bool) {
	switch s := authorization.TenantStatus(word); s {
	case authorization.TenantActive, authorization.TenantSuspended, authorization.TenantClosed:
		return s, true
	}
	return "", false
}

func principal(in contract.SnapshotPrincipal) (authorization.PrincipalView, error) {
	out := authorization.PrincipalView{
		ID: in.ID, Kind: authorization.Kind(in.Kind), Role: authorization.Role(in.Role), Status: authorization.Status(in.Status),
	}
	switch {
	case out.ID == "",
		out.Kind != authorization.Phone && out.Kind != authorization.Desktop,
		out.Role != authorization.Owner && out.Role != authorization.Member,
		out.Status != authorization.Active && out.Status != authorization.Revoked:
		return out, unexpected("a principal has an id, a kind, a role and a status")
	}
	return out, nil
}

func handle(in contract.SnapshotHandle) (authorization.HandleView, error) {
	out := authorization.HandleView{Principal: in.Principal, Route: in.Route, Status: authorization.Status(in.Status)}
	digest, err := hex.DecodeString(in.SHA256)
	if err != nil || len(digest) != len(out.SHA256) || out.Status != authorization.Active && out.Status != authorization.Revoked {
		return out, unexpected("a handle has a SHA-256 and a status")
	}
	copy(out.SHA256[:], digest)
	return out, nil
}

func differing(in contract.PolledTenant) (authority.Differing, error) {
	out := authority.Differing{Tenant: in.Tenant, Generation: in.Generation}
	switch in.Result {
	case "not_found":
		out.Result = authority.NotFound
	case "delta":
		if in.Delta == nil {
			return out, unexpected("there is no delta")
		}
		var err error
		out.Result, out.PlacementVersion = authority.HasDelta, in.Delta.PlacementVersion
		out.Delta, err = delta(in.Tenant, *in.Delta)
		return out, err
	}
	return out, nil
}

// delta numbers the parts of each revision, which arrive together and in order.
func delta(tenant string, in contract.Delta) (authorization.Delta, error) {
	out := authorization.Delta{Tenant: tenant, Generation: in.Generation, From: in.From, To: in.To}
	parts := map[int64]int{}
	for _, c := range in.Changes {
		parts[c.Revision]++
	}
	last, part := int64(0), 0
	for _, c := range in.Changes {
		if c.Revision != last {
			last, part = c.Revision, 0
		}
		part++
		one, err := change(c)
		if err != nil {
			return out, err
		}
		one.Part, one.Parts = part, parts[c.Revision]
		out.Changes = append(out.Changes, one)
	}
	return out, nil
}

func change(in contract.DeltaChange) (out authorization.Change, err error) {
	out.Revision = in.Revision
	given := 0
	if in.Status != "" {
		var ok bool
		given++
		out.Kind = authorization.ChangeStatus
		if out.Status, ok = statusOf(in.Status); !ok {
			return out, unexpected("a tenant is active, suspended or closed")
		}
	}
	if in.Principal != nil {
		given++
		out.Kind = authorization.ChangePrincipal
		out.Principal, err = principal(*in.Principal)
	}
	if in.Handle != nil && err == nil {
		given++
		out.Kind = authorization.ChangeHandle
		out.Handle, err = handle(*in.Handle)
	}
	if in.Route != "" {
		given++
		out.Kind, out.Route = authorization.ChangeRoute, in.Route
	}
	if err == nil && given != 1 {
		err = unexpected("a change is of exactly one thing")
	}
	return out, err
}
