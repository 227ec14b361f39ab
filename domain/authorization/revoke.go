package authorization

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

type requesterKind uint8

const (
	nobody requesterKind = iota
	operator
	node
	device
)

// Requester is who asks for a change of somebody's rights (A5). The zero value may do nothing.
type Requester struct {
	kind  requesterKind
	id    string
	asker *Principal
}

// ByOperator is an operator, by id.
func ByOperator(id string) Requester { return Requester{kind: operator, id: id} }

// ByNode is a relay node that passes on what one of its devices asked. That the node holds the placement is the access
// table's to decide (I8). A nil asker, one that nobody knows, may do nothing.
func ByNode(asker *Principal) Requester { return Requester{kind: node, asker: asker} }

// ByOwner is a device that asks through the API itself; only an owner may.
func ByOwner(asker *Principal) Requester { return Requester{kind: device, asker: asker} }

func (r Requester) operator() bool { return r.kind == operator }

// owner says whether the asker is, or was, an owner of the tenant.
func (r Requester) owner(t *Tenant) bool {
	return (r.kind == node || r.kind == device) && r.asker != nil && r.asker.r.Tenant == t.r.ID && r.asker.r.Role == Owner
}

func (r Requester) activeOwner(t *Tenant) bool { return r.owner(t) && r.asker.Active() }

// self says whether a device asks, through its node, for its own revocation.
func (r Requester) self(p *Principal) bool {
	return r.kind == node && r.asker != nil && r.asker.r.Tenant == p.r.Tenant && r.asker.r.ID == p.r.ID
}

func (r Requester) subject() string {
	if r.operator() {
		return "operator/" + r.id
	}
	return "principal/" + r.asker.r.ID
}

// Revocation is what a revocation answers, and what it changed: Changes is empty when it repeated an earlier one.
type Revocation struct {
	Revision int64 // the revision that the revocation made, now or when it was first asked for
	Handles  int   // how many handles it revoked
	Changes  []Change
}

// Revoke ends a principal and all of its handles, which the caller passes completely (A5). It works in every status of
// the tenant. Repeating it changes nothing and answers the same, also for an asker that was revoked in between: the
// first answer may have been lost. The store then saves the principal and the handles.
// Faults: NotFound principal_not_found for one of another tenant; Forbidden revoke_not_allowed; Conflict last_owner;
// Exhausted revision_exhausted; Internal handle_mismatch.
func (t *Tenant) Revoke(p *Principal, handles []*Handle, by Requester, now time.Time) (Revocation, error) {
	if p.r.Tenant != t.r.ID {
		return Revocation{}, errNoPrincipal()
	}
	if err := t.mayRevoke(p, by); err != nil {
		return Revocation{}, err
	}
	active, err := p.activeHandles(handles)
	if err != nil {
		return Revocation{}, err
	}
	if !p.Active() {
		return p.revocation(handles), nil
	}
	if err := t.canChange(); err != nil {
		return Revocation{}, err
	}
	return t.revoke(p, active, by, now), nil
}

func (t *Tenant) mayRevoke(p *Principal, by Requester) error {
	allowed := by.operator() || by.self(p) || by.activeOwner(t) || !p.Active() && by.owner(t)
	if !allowed {
		return fault.New(fault.Forbidden, "revoke_not_allowed",
			"only an active owner, the device itself or an operator revokes a device")
	}
	if p.Active() && p.r.Role == Owner && t.r.Owners <= 1 && !by.operator() {
		return fault.New(fault.Conflict, "last_owner", "this device is the tenant's last owner").
			Curable("admit another owner first, or ask an operator")
	}
	return nil
}

func (t *Tenant) revoke(p *Principal, active []*Handle, by Requester, now time.Time) Revocation {
	revision, at := t.r.Revision+1, ident.Instant(now)
	p.r.Status, p.r.RevokedAt, p.r.RevokedBy, p.r.RevokedRevision, p.r.Handles = Revoked, at, by.subject(), revision, 0
	changes := []Change{{Kind: ChangePrincipal, Principal: p.view()}}
	for _, h := range active {
		h.r.Status, h.r.RevokedAt, h.r.RevokedRevision = Revoked, at, revision
		changes = append(changes, Change{Kind: ChangeHandle, Handle: h.view()})
	}
	t.r.Principals--
	t.r.Handles -= len(active)
	if p.r.Role == Owner {
		t.r.Owners--
	}
	return Revocation{Revision: revision, Handles: len(active), Changes: t.commit(now, changes...)}
}

// activeHandles picks the active ones, and refuses a list that is not this principal's or not complete: a handle that
// was left out would outlive its principal.
func (p *Principal) activeHandles(handles []*Handle) ([]*Handle, error) {
	var active []*Handle
	for _, h := range handles {
		if !h.of(p) {
			return nil, errHandleMismatch()
		}
		if h.r.Status == Active {
			active = append(active, h)
		}
	}
	if len(active) != p.r.Handles {
		return nil, errHandleMismatch()
	}
	return active, nil
}

// revocation is the answer that the revocation of a revoked principal gave.
func (p *Principal) revocation(handles []*Handle) Revocation {
	out := Revocation{Revision: p.r.RevokedRevision}
	for _, h := range handles {
		if h.r.RevokedRevision == p.r.RevokedRevision {
			out.Handles++
		}
	}
	return out
}
