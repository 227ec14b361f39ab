package authorization_test

import (
	"reflect"
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// One revocation ends the principal and all of its handles at one revision, and nothing else (A5).
func TestRevoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asker, phone := w.mustAdmit(authorization.Owner, 1), w.mustAdmit(authorization.Member, 2)
	before := w.tenant.Record()
	w.now = dawn.Add(time.Minute)

	r, err := w.revoke(phone, authorization.ByNode(asker))
	wantNone(t, err)
	if r.Revision != before.Revision+1 || r.Handles != 2 || len(r.Changes) != 3 {
		t.Errorf("the revocation is %+v after revision %d", r, before.Revision)
	}
	p := phone.Record()
	if p.Status != authorization.Revoked || p.RevokedBy != "principal/"+id(asker) || !p.RevokedAt.Equal(w.now) ||
		p.RevokedRevision != r.Revision || p.Handles != 0 {
		t.Errorf("the principal is %+v", p)
	}
	for _, h := range w.handles[id(phone)] {
		if h := h.Record(); h.Status != authorization.Revoked || h.RevokedRevision != r.Revision || !h.RevokedAt.Equal(w.now) {
			t.Errorf("a handle is %+v", h)
		}
	}
	checkParts(t, r.Changes, r.Revision)
	after := w.tenant.Record()
	if after.Owners != 1 || after.Principals != 1 || after.Handles != 1 || after.Routes != 1 {
		t.Errorf("the head counts %+v", after)
	}
	if !asker.Active() || w.handles[id(asker)][0].Record().Status != authorization.Active {
		t.Error("somebody else was revoked too")
	}
}

// checkParts checks that the changes are all of one revision and number its parts.
func checkParts(t *testing.T, changes []authorization.Change, revision int64) {
	t.Helper()
	for i, c := range changes {
		if c.Revision != revision || c.Part != i+1 || c.Parts != len(changes) {
			t.Errorf("change %d is %+v", i, c)
		}
	}
}

// Repeating a revocation answers the same and changes nothing, whatever happened since: later changes, the asker's own
// revocation, a suspension (A5).
func TestRevokeRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asker, other := w.mustAdmit(authorization.Owner, 0), w.mustAdmit(authorization.Owner, 0)
	phone := w.mustAdmit(authorization.Member, 2)
	first, err := w.revoke(phone, authorization.ByNode(asker))
	wantNone(t, err)

	w.now = dawn.Add(time.Hour)
	_, err = w.revoke(asker, authorization.ByOwner(other))
	wantNone(t, err)
	wantNone(t, w.status(w.tenant.Suspend))
	head, record := w.tenant.Record(), phone.Record()

	askers := map[string]authorization.Requester{
		"the same asker, revoked since": authorization.ByNode(asker), "the device itself": authorization.ByNode(phone),
		"another owner": authorization.ByOwner(other), "an operator": authorization.ByOperator("ada"),
	}
	for who, by := range askers {
		again, err := w.revoke(phone, by)
		wantNone(t, err)
		if again.Revision != first.Revision || again.Handles != first.Handles || len(again.Changes) != 0 {
			t.Errorf("%s gets %+v, first was %+v", who, again, first)
		}
		if w.tenant.Record() != head || !reflect.DeepEqual(phone.Record(), record) {
			t.Errorf("the repetition by %s changed something", who)
		}
	}
	_, err = w.revoke(phone, authorization.ByNode(w.principals[0]))
	wantNone(t, err)
	_, err = w.revoke(phone, authorization.ByNode(nil))
	wantSlug(t, err, fault.Forbidden, "revoke_not_allowed")
}

// Who may revoke whom (A5).
func TestWhoMayRevoke(t *testing.T) {
	t.Parallel()
	type cast struct{ owner, member, gone, stranger *authorization.Principal }
	cases := map[string]struct {
		by      func(cast) authorization.Requester
		allowed bool
	}{
		"an operator":             {func(cast) authorization.Requester { return authorization.ByOperator("ada") }, true},
		"an owner by its node":    {func(c cast) authorization.Requester { return authorization.ByNode(c.owner) }, true},
		"an owner by the API":     {func(c cast) authorization.Requester { return authorization.ByOwner(c.owner) }, true},
		"the device by its node":  {func(c cast) authorization.Requester { return authorization.ByNode(c.member) }, true},
		"a member by the API":     {func(c cast) authorization.Requester { return authorization.ByOwner(c.member) }, false},
		"a revoked owner":         {func(c cast) authorization.Requester { return authorization.ByNode(c.gone) }, false},
		"another tenant's owner":  {func(c cast) authorization.Requester { return authorization.ByNode(c.stranger) }, false},
		"a device nobody knows":   {func(cast) authorization.Requester { return authorization.ByNode(nil) }, false},
		"an owner that is no one": {func(cast) authorization.Requester { return authorization.ByOwner(nil) }, false},
		"nobody, the zero value":  {func(cast) authorization.Requester { return authorization.Requester{} }, false},
	}
	for who, c := range cases {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			people := cast{
				owner: w.mustAdmit(authorization.Owner, 0), member: w.mustAdmit(authorization.Member, 1),
				gone: w.mustAdmit(authorization.Owner, 0),
				// Its id is the member's: ids do not cross tenants.
				stranger: authorization.RestorePrincipal(authorization.PrincipalRecord{
					Tenant: "rival", ID: "prn_000002", Role: authorization.Owner, Status: authorization.Active,
				}),
			}
			_, err := w.revoke(people.gone, authorization.ByOperator("ada"))
			wantNone(t, err)
			head := w.tenant.Record()
			_, err = w.revoke(people.member, c.by(people))
			if c.allowed {
				wantNone(t, err)
				return
			}
			wantSlug(t, err, fault.Forbidden, "revoke_not_allowed")
			if w.tenant.Record() != head || !people.member.Active() {
				t.Error("the refusal changed something")
			}
		})
	}
}

// A member revokes nobody but itself.
func TestMemberRevokesItselfOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustAdmit(authorization.Owner, 0)
	a, b := w.mustAdmit(authorization.Member, 0), w.mustAdmit(authorization.Member, 0)
	_, err := w.revoke(b, authorization.ByNode(a))
	wantSlug(t, err, fault.Forbidden, "revoke_not_allowed")
}

// The last active owner is revoked by an operator only; owners that were revoked do not count (A5).
func TestLastOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, last := w.mustAdmit(authorization.Owner, 0), w.mustAdmit(authorization.Owner, 0)
	_, err := w.revoke(first, authorization.ByNode(last))
	wantNone(t, err)
	for _, by := range []authorization.Requester{authorization.ByNode(last), authorization.ByOwner(last)} {
		_, err = w.revoke(last, by)
		wantSlug(t, err, fault.Conflict, "last_owner")
	}
	_, err = w.revoke(last, authorization.ByOperator("ada"))
	wantNone(t, err)
	if last.Record().RevokedBy != "operator/ada" || w.tenant.Record().Owners != 0 {
		t.Errorf("the last owner is %+v, owners %d", last.Record(), w.tenant.Record().Owners)
	}
}

// Revoking works while a tenant is suspended or closed: rights can always be taken away.
func TestRevokeInEveryStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.mustAdmit(authorization.Member, 1), w.mustAdmit(authorization.Member, 1)
	wantNone(t, w.status(w.tenant.Suspend))
	_, err := w.revoke(a, authorization.ByOperator("ada"))
	wantNone(t, err)
	wantNone(t, w.status(w.tenant.Close))
	_, err = w.revoke(b, authorization.ByOperator("ada"))
	wantNone(t, err)
}

// A revocation that was not given all handles of the principal, or others', is refused: what was left out would live on.
func TestRevokeWantsAllHandles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.mustAdmit(authorization.Member, 2), w.mustAdmit(authorization.Member, 2)
	lists := map[string][]*authorization.Handle{
		"none": nil, "one of two": w.handles[id(a)][:1], "another's": w.handles[id(b)],
		"another's too": append(w.handles[id(a)][:2:2], w.handles[id(b)]...),
	}
	head := w.tenant.Record()
	for name, list := range lists {
		_, err := w.tenant.Revoke(a, list, authorization.ByOperator("ada"), dawn)
		if fault.SlugOf(err) != "handle_mismatch" || w.tenant.Record() != head || !a.Active() {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// A principal of another tenant is not found, whoever asks.
func TestRevokeOtherTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := authorization.RestorePrincipal(authorization.PrincipalRecord{Tenant: "rival", ID: "prn_9", Status: authorization.Active})
	_, err := w.tenant.Revoke(other, nil, authorization.ByOperator("ada"), dawn)
	wantSlug(t, err, fault.NotFound, "principal_not_found")
}
