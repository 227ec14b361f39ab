package authoritytest

import (
	"context"
	"crypto/sha256"
	"fmt"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/authority"
)

// Paired is a device of a tenant, with its clear handles by route.
type Paired struct {
	Tenant    string
	Principal string
	Handles   map[string]string
}

// Pair admits a device to a tenant, with a handle for each of the tenant's routes. That raises the revision.
func (p *Control) Pair(tenant string, role authorization.Role) Paired {
	defer p.enter()()
	t := p.tenants[tenant]
	p.serial++
	out := Paired{Tenant: tenant, Principal: fmt.Sprintf("prn_%06d", p.serial), Handles: map[string]string{}}
	key := sha256.Sum256([]byte(out.Principal))
	principal := must(authorization.NewPrincipal(authorization.PrincipalSpec{
		Tenant: tenant, ID: out.Principal, Kind: authorization.Phone, Role: role, Name: "device", PublicKey: key[:],
	}, p.Clock.Now()))
	var handles []*authorization.Handle
	for _, route := range t.routes {
		id := route.Record().ID
		random := sha256.Sum256([]byte(out.Principal + "/" + id))
		out.Handles[id] = must(authorization.FormatHandle(random[:]))
		handles = append(handles, must(authorization.NewHandle(must(authorization.ParseHandle(out.Handles[id])), principal, route, p.Clock.Now())))
	}
	t.log = append(t.log, must(t.Admit(principal, handles, authorization.DefaultLimits(), p.Clock.Now()))...)
	t.principals = append(t.principals, principal)
	t.handles = append(t.handles, handles...)
	return out
}

// AddRoute makes a route of a tenant, at an operator's wish. Only devices that are paired later have handles for it.
func (p *Control) AddRoute(tenant, route string) {
	defer p.enter()()
	t := p.tenants[tenant]
	r, changes, err := t.AddRoute(route, authorization.ByOperator("test"), authorization.DefaultLimits(), p.Clock.Now())
	if err != nil {
		panic(fmt.Sprintf("authoritytest: %v", err))
	}
	t.routes, t.log = append(t.routes, r), append(t.log, changes...)
}

// CloseTenant closes a tenant for good.
func (p *Control) CloseTenant(id string) { p.change(id, (*authorization.Tenant).Close) }

// Revision is a tenant's authorization revision now.
func (p *Control) Revision(tenant string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tenants[tenant].Revision()
}

// RevokePrincipal revokes a device at an operator's wish, and returns the revision that carries it.
func (p *Control) RevokePrincipal(tenant, principal string) (int64, error) {
	defer p.enter()()
	return p.revoke(p.tenants[tenant], principal, authorization.ByOperator("test"))
}

func (p *Control) revoke(t *tenant, principal string, by authorization.Requester) (int64, error) {
	of := t.principal(principal)
	if of == nil {
		return 0, fault.New(fault.NotFound, "principal_not_found", "the tenant has no such device")
	}
	var handles []*authorization.Handle
	for _, h := range t.handles {
		if h.Record().Principal == principal {
			handles = append(handles, h)
		}
	}
	done, err := t.Revoke(of, handles, by, p.Clock.Now())
	if err != nil {
		return 0, err
	}
	t.log = append(t.log, done.Changes...)
	return done.Revision, nil
}

func (t *tenant) principal(id string) *authorization.Principal {
	for _, p := range t.principals {
		if p.Record().ID == id {
			return p
		}
	}
	return nil
}

// Revoke revokes a principal at another's wish, if the node holds the tenant.
func (c *Client) Revoke(ctx context.Context, r authority.Revoke) (int64, error) {
	return request(ctx, c, "Revoke", func(*node) (int64, error) {
		t, err := c.allowed(authorization.OpRevoke, r.Tenant)
		if err != nil {
			return 0, err
		}
		if err := authorization.CheckGeneration(r.Generation, t.place.Record().Generation); err != nil {
			return 0, err
		}
		return c.Control.revoke(t, r.Principal, authorization.ByNode(t.principal(r.AskedBy)))
	})
}
