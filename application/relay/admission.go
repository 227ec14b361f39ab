package relay

import (
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
)

// admission is the answer to a device's question, as of one instant.
type admission struct {
	now        placement.Clocks
	generation int64
	route      string // of the handle that was asked about
	err        error
}

// device says whether a device may use its tenant: what the gate says, and what the view says of the principal (A7, P8).
func (s *state) device(d Device, u use) admission {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out, view := s.admission(d.Tenant, u)
	if out.err == nil {
		out.err = view.Admits(d.Principal, out.now.Elapsed)
	}
	return out
}

// handle says that, and which route a handle of the device stands for.
func (s *state) handle(d Device, u use, digest authorization.Digest) admission {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out, view := s.admission(d.Tenant, u)
	if out.err != nil {
		return out
	}
	_, h, err := authorization.CheckDevice(view, s.claims(d), digest, out.now.Elapsed)
	out.route, out.err = h.Route, err
	return out
}

// owner says whether a device may use its tenant, and is an owner of it.
func (s *state) owner(d Device) admission {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out, view := s.admission(d.Tenant, reading())
	if out.err == nil {
		out.err = view.Owns(d.Principal, out.now.Elapsed)
	}
	return out
}

// admission asks the gate. Of a tenant that is not active the view says why. The caller holds the lock.
func (s *state) admission(tenant string, u use) (admission, *authorization.View) {
	out := admission{now: s.read()}
	t := s.tenants[tenant]
	if out.generation, out.err = s.judge(tenant, u, out.now); out.err == nil {
		return out, t.view
	}
	if t != nil && t.view != nil && t.open {
		if shut := t.view.Open(out.now.Elapsed); fault.KindOf(shut) == fault.Forbidden && shut != nil {
			out.err = shut
		}
	}
	return out, nil
}

func (s *state) claims(d Device) authorization.Claims {
	return authorization.Claims{Tenant: d.Tenant, Region: s.settings.Self.Region(), Principal: d.Principal}
}

// unadmitted are those of a tenant's sessions that may not be any more, each with why. What denies the whole tenant is the
// guard's to end.
func (s *state) unadmitted(tenant string, all []*Session) map[*Session]error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.read()
	t := s.tenants[tenant]
	if t == nil || t.view == nil || t.view.Open(now.Elapsed) != nil {
		return nil
	}
	var out map[*Session]error
	for _, one := range all {
		err := t.view.Admits(one.device.Principal, now.Elapsed)
		if err == nil {
			continue
		}
		if out == nil {
			out = map[*Session]error{}
		}
		out[one] = err
	}
	return out
}
