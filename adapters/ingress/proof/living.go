package proof

import (
	"context"
	"crypto/tls"
	"time"
)

// What follows tries what outlives a handshake: a session, a connection, a request that waits.

func remembering(cache tls.ClientSessionCache) dialing {
	return func(c *tls.Config) { c.ClientSessionCache = cache }
}

// again connects once more with what the server gave to come back with.
func (s *Site) again(ctx context.Context, e *Endpoint, as Member, between func() error) (resumed bool, last Outcome, err error) {
	cache := tls.NewLRUClientSessionCache(4)
	request := e.get(assignments(as.ID)).String()
	if first, err := s.ask(ctx, e, request, showing(as.Certificate), remembering(cache)); err != nil || first.Status != 200 {
		return false, first, orElse(err, trouble("the first connection led to: %s", first))
	}
	if err := between(); err != nil {
		return false, Outcome{}, err
	}
	w, o, err := s.dial(ctx, e, showing(as.Certificate), remembering(cache))
	if w == nil {
		return false, o, err
	}
	defer w.Close()
	return w.resumed, s.talk(ctx, w, request).outcome(), nil
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func tryResumed(ctx context.Context, s *Site) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	resumed, o, err := s.again(ctx, e, s.First, func() error { return nil })
	if err != nil {
		return Outcome{}, err
	}
	if resumed {
		o.Note = "the session was taken up again, and the certificate not shown"
		return o, nil
	}
	return Outcome{Way: Held, Note: "a full handshake each time"}, nil
}

func tryResumedRevoked(ctx context.Context, s *Site) (Outcome, error) {
	e, m, revoke, err := s.spare(ctx)
	if err != nil {
		return Outcome{}, err
	}
	_, o, err := s.again(ctx, e, m, revoke)
	return o, err
}

// spare is a node of the probe's own, since it will be revoked.
func (s *Site) spare(ctx context.Context) (*Endpoint, Member, func() error, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return nil, Member{}, nil, err
	}
	if s.Spare == nil {
		return nil, Member{}, nil, cannot("no node could be enrolled to be revoked meanwhile")
	}
	m, revoke, err := s.Spare(ctx)
	if err != nil {
		return nil, Member{}, nil, trouble("no node could be enrolled: %w", err)
	}
	return e, m, func() error {
		if err := revoke(ctx); err != nil {
			return trouble("the certificate could not be revoked: %w", err)
		}
		return nil
	}, nil
}

func tryRevokedLater(ctx context.Context, s *Site) (Outcome, error) {
	e, m, revoke, err := s.spare(ctx)
	if err != nil {
		return Outcome{}, err
	}
	w, o, err := s.dial(ctx, e, showing(m.Certificate))
	if w == nil {
		return o, orElse(err, trouble("no connection: %s", o))
	}
	defer w.Close()
	request := e.get(assignments(m.ID)).String()
	if first := s.talk(ctx, w, request); first.outcome().Status != 200 || !first.open {
		return Outcome{}, trouble("the first request led to: %s, and the connection stayed open: %t", first.outcome(), first.open)
	}
	if err := revoke(); err != nil {
		return Outcome{}, err
	}
	return s.talk(ctx, w, request).outcome(), nil
}

// aMoment is far shorter than the poll waits, so that a machine with other work does not take one for the other.
const aMoment = 750 * time.Millisecond

// tryRevokedWaiting revokes once the poll waits, which shows in that it is not answered for a moment.
func tryRevokedWaiting(ctx context.Context, s *Site) (Outcome, error) {
	e, m, revoke, err := s.spare(ctx)
	if err != nil {
		return Outcome{}, err
	}
	w, o, err := s.dial(ctx, e, showing(m.Certificate))
	if w == nil {
		return o, orElse(err, trouble("no connection: %s", o))
	}
	defer w.Close()
	if first := s.talk(ctx, w, e.get(assignments(m.ID)).String()).outcome(); first.Status != 200 {
		return Outcome{}, trouble("the first request led to: %s", first)
	}
	came := make(chan heard, 1)
	go func() { came <- s.talk(ctx, w, e.post(poll(m.ID), waitingPoll).String()) }()
	select {
	case h := <-came:
		return Outcome{}, trouble("the poll did not wait: %s", h.outcome())
	case <-time.After(aMoment):
	}
	if err := revoke(); err != nil {
		return Outcome{}, err
	}
	return (<-came).outcome(), nil
}
