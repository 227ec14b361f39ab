package authorization

import "berth/domain/fault"

// Limits bound what is active in one tenant at a time, and with it the size of a snapshot and of a revocation. A limit
// of zero allows nothing.
type Limits struct {
	Principals       int
	Routes           int
	Handles          int
	PrincipalHandles int // handles of one principal
}

// DefaultLimits keep a snapshot below about 5 MB of JSON and a revocation within one delta.
func DefaultLimits() Limits {
	return Limits{Principals: 10_000, Routes: 1_000, Handles: 20_000, PrincipalHandles: 1_000}
}

func exhausted(slug, what string, limit int, cure string) *fault.Error {
	return fault.New(fault.Exhausted, slug, "the tenant may have at most %d %s", limit, what).Curable("%s", cure)
}

func (l Limits) principals(n int) *fault.Error {
	if n <= l.Principals {
		return nil
	}
	return exhausted("principals_exhausted", "active devices", l.Principals, "revoke devices that are not used any more")
}

func (l Limits) routes(n int) *fault.Error {
	if n <= l.Routes {
		return nil
	}
	return exhausted("routes_exhausted", "routes", l.Routes, "use a route that exists")
}

func (l Limits) handles(ofTenant, ofPrincipal int) *fault.Error {
	switch {
	case ofPrincipal > l.PrincipalHandles:
		return exhausted("principal_handles_exhausted", "active route handles for each device", l.PrincipalHandles,
			"use a handle that the device has")
	case ofTenant > l.Handles:
		return exhausted("handles_exhausted", "active route handles", l.Handles,
			"revoke devices that are not used any more")
	}
	return nil
}
