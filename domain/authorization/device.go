package authorization

import (
	"time"

	"berth/domain/fault"
)

// Fresh denies all from the hard bound on (A6): a node that was not told anything for so long decides nothing. A view
// from the future, which no clock of one machine makes, is not believed either.
// Faults: Unavailable authorization_unknown while nothing is held, authorization_stale.
func (v *View) Fresh(now time.Duration) error {
	age := now - v.sentAt
	switch {
	case !v.held:
		return fault.New(fault.Unavailable, "authorization_unknown", "this node does not know the tenant yet")
	case age < 0 || age >= v.config.Bound:
		return fault.New(fault.Unavailable, "authorization_stale", "this node was not told anything for too long")
	}
	return nil
}

// Open says whether anybody may use the tenant at the monotonic instant now.
// Faults: as of Fresh; Forbidden tenant_suspended, tenant_closed.
func (v *View) Open(now time.Duration) error {
	if err := v.Fresh(now); err != nil {
		return err
	}
	if v.status != TenantActive {
		return errNotActive(v.status)
	}
	return nil
}

// Admits says whether a principal may use the tenant at the monotonic instant now. It is asked before a message is
// taken, and again after its commit and before it is acknowledged.
// Faults: as of Open; Forbidden principal_unknown (it may be newer than the view), principal_revoked.
func (v *View) Admits(principal string, now time.Duration) error {
	if err := v.Open(now); err != nil {
		return err
	}
	p, known := v.principals[principal]
	_, buried := v.buried[principal]
	switch {
	case buried, known && p.Status != Active:
		return fault.New(fault.Forbidden, "principal_revoked", "the device is revoked").Curable("pair the device anew")
	case !known:
		return fault.New(fault.Forbidden, "principal_unknown", "the tenant has no such device")
	}
	return nil
}

// Owns says whether a principal is an owner that may use the tenant. Faults: as of Admits; Forbidden revoke_not_allowed.
func (v *View) Owns(principal string, now time.Duration) error {
	if err := v.Admits(principal, now); err != nil {
		return err
	}
	if v.principals[principal].Role != Owner {
		return fault.New(fault.Forbidden, "revoke_not_allowed", "only an active owner revokes a device")
	}
	return nil
}

// errNotActive denies in every status but active, those that this program does not know included.
func errNotActive(s TenantStatus) error {
	if s == TenantSuspended {
		return fault.New(fault.Forbidden, "tenant_suspended", "the tenant is suspended")
	}
	return fault.New(fault.Forbidden, "tenant_closed", "the tenant is closed")
}

// Claims are what a device token says, its signature, key window and times having been verified.
type Claims struct {
	Tenant    string // of aud
	Region    string // of aud
	Principal string // sub
}

// CheckDevice is the part of A7 that a view decides: audience, tenant, principal and route handle. It returns the
// handle's route and the principal's role through their views. A handle that does not exist, is revoked or is somebody
// else's is refused in the same words.
// Faults: Unauthenticated audience_mismatch; as of View.Admits; Forbidden handle_refused.
func CheckDevice(v *View, c Claims, handle Digest, now time.Duration) (PrincipalView, HandleView, error) {
	if c.Tenant != v.config.Tenant || c.Region != v.config.Region {
		return PrincipalView{}, HandleView{}, fault.New(fault.Unauthenticated, "audience_mismatch",
			"the token is for another tenant or region")
	}
	if err := v.Admits(c.Principal, now); err != nil {
		return PrincipalView{}, HandleView{}, err
	}
	h, known := v.handles[handle]
	if !known || h.Principal != c.Principal || h.Status != Active {
		return PrincipalView{}, HandleView{}, fault.New(fault.Forbidden, "handle_refused",
			"the device has no such route handle")
	}
	return v.principals[c.Principal], h, nil
}
