package relay

import (
	"context"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/authority"
	"berth/ports/engine"
)

// Revoke revokes a principal on behalf of an owner, and returns once that is committed and the principal's sessions here have
// ended (A5). Where nobody knows whether it is committed, it can be repeated.
// Faults: Forbidden revoke_not_allowed; those of authority.Revocations.
func (s *Session) Revoke(ctx context.Context, principal string) (revision int64, err error) {
	n := s.hub.node
	if revision, err = s.revoke(ctx, principal); err != nil {
		return 0, n.refused(err)
	}
	n.counts.revokes.Add(1)
	return revision, nil
}

func (s *Session) revoke(ctx context.Context, principal string) (int64, error) {
	n := s.hub.node
	if err := s.ended(); err != nil {
		return 0, err
	}
	at := n.state.owner(s.device)
	if at.err != nil {
		return 0, at.err
	}
	sent := n.Clock.Elapsed()
	timed, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	revision, err := n.Authority.Revocations.Revoke(timed, authority.Revoke{
		Tenant: s.device.Tenant, Generation: at.generation, Principal: principal, AskedBy: s.device.Principal,
	})
	if err != nil {
		n.keeper.heard(ctx, err, sent)
		return 0, err
	}
	s.hub.bury(ctx, engine.Tombstone{Principal: principal, Revision: revision})
	return revision, nil
}

// bury ends what a principal has here, whose revocation is committed: at the gate, until what is told reaches that revision; then
// what is open. The disk remembers it for a control plane that forgets (D4).
func (h *hub) bury(ctx context.Context, t engine.Tombstone) {
	h.node.state.bury(h.room.tenant, t)
	h.judge()
	h.remember(ctx, t)
}

// remember has the disk remember revocations that were heard of, for a control plane that forgets them (D4). What is not open
// remembers none: it is told of all when it opens.
func (r *rooms) remember(tenant string, revoked authorization.Buried) {
	m := r.of(tenant)
	if m == nil || len(revoked) == 0 {
		return
	}
	h := m.hub.Load()
	if h == nil {
		return
	}
	r.spawn(func() {
		for principal, revision := range revoked {
			h.remember(r.ctx, engine.Tombstone{Principal: principal, Revision: revision})
		}
	})
}

func (h *hub) remember(ctx context.Context, t engine.Tombstone) {
	if err := h.engine.Bury(context.WithoutCancel(ctx), t); err != nil { // it is committed, whoever waits still
		h.node.Log.WarnContext(ctx, "the disk does not let a revocation be remembered", "tenant", h.room.tenant, "error", err)
	}
}

// Renew has the session go on with another token of the same device, and returns when that one expires.
// Faults: those of Authenticate; Forbidden token_of_another_device.
func (s *Session) Renew(token string) (expiresAt time.Time, err error) {
	d, err := s.hub.node.Authenticate(token)
	if err != nil {
		return time.Time{}, err
	}
	if d.Tenant != s.device.Tenant || d.Principal != s.device.Principal {
		return time.Time{}, s.hub.node.refused(fault.New(fault.Forbidden, "token_of_another_device",
			"the token is another device's than the one that the connection began with"))
	}
	for {
		now := s.token.Load()
		if !d.ExpiresAt.After(now.ExpiresAt) { // an earlier end takes nothing away
			return now.ExpiresAt, nil
		}
		if s.token.CompareAndSwap(now, &d) {
			return d.ExpiresAt, nil
		}
	}
}
