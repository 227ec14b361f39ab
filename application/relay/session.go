package relay

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/stream"
	"berth/ports/engine"
)

// Session is one device's use of one tenant, over one connection. All methods are safe for concurrent use.
type Session struct {
	hub     *hub
	device  Device
	line    Line
	token   atomic.Pointer[Device] // the one that it goes by; its device is always the same
	taking  sync.Mutex             // held by the one who takes
	entered time.Duration

	// These belong to hub.mu.
	member *member
	subs   []*subscription
	turn   int // which of them is taken from first
	flying int // messages that are not committed yet

	mu   sync.Mutex
	in   bool // Enter has returned it
	over *End // why it has ended; nil while it has not
}

// Publish is a message that a device publishes. Its Body belongs to the session from here on.
type Publish struct {
	Handle string
	ID     string
	Body   []byte // one JSON value
}

// Subscribed says which route a handle stands for, and the sequence of its last message.
type Subscribed struct {
	Route string
	Head  int64
}

// maxSubscriptions is how many a session may have.
const maxSubscriptions = 64

// Enter opens a session. Faults: Unauthenticated device_token_expired; those of authorization.View.Admits and of Gate.Read;
// Exhausted engines_exhausted, too_many_connections.
func (n *Node) Enter(ctx context.Context, d Device, l Line) (*Session, error) {
	s, err := n.rooms.session(ctx, d, l)
	if err != nil {
		return nil, n.refused(n.later(err))
	}
	n.counts.entered.Add(1)
	return s, nil
}

func (r *rooms) session(ctx context.Context, d Device, l Line) (*Session, error) {
	if err := r.stands(d); err != nil {
		return nil, err
	}
	if err := r.another(); err != nil {
		return nil, err
	}
	m, h, err := r.enter(ctx, d.Tenant)
	if err != nil {
		r.sessions.Add(-1)
		return nil, err
	}
	m.greet(ctx, d)
	s := &Session{hub: h, device: d, line: l, entered: r.Clock.Elapsed()}
	s.token.Store(&d)
	if err := h.add(s); err != nil {
		r.sessions.Add(-1)
		r.leave(m)
		return nil, err
	}
	// It is seen by whatever ends sessions from here on: what was decided before is found here, what is decided after ends it.
	err = r.state.device(d, reading()).err
	s.mu.Lock()
	s.in = err == nil && s.over == nil
	if s.over != nil && err == nil {
		err = s.over.Err
	}
	s.mu.Unlock()
	if err != nil {
		s.finish(End{Err: err})
		return nil, err
	}
	return s, nil
}

// another counts one more session. Fault: Exhausted too_many_connections.
func (r *rooms) another() error {
	n := r.sessions.Add(1)
	if n > int64(r.settings.MaxConnections) {
		r.sessions.Add(-1)
		return fault.New(fault.Exhausted, "too_many_connections", "the node has as many connections as it may have").
			After(time.Second + r.chance.upTo(9*time.Second))
	}
	if n > r.crowd.Load() { // of two that come at once the lower may stay, which is as good
		r.crowd.Store(n)
	}
	return nil
}

// finish ends the session, once, and tells its line.
func (s *Session) finish(e End) {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return
	}
	s.over = &e
	tell := s.in && e.Reason != ""
	s.mu.Unlock()
	s.hub.remove(s)
	n := s.hub.node
	n.rooms.sessions.Add(-1)
	n.rooms.leave(s.hub.room)
	if tell {
		n.counts.ended.Add(1)
		s.line.End(e)
	}
}

// Leave ends the session; its line is not told.
func (s *Session) Leave() { s.finish(End{Err: errEnded()}) }

// ended says why the session has ended; nil while it has not.
func (s *Session) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		return nil
	}
	return errEnded().Because(s.over.Err)
}

// Publish has a message appended, and calls done once: with its sequence, once it is durable and the node may still say so
// (P8); or with why not. done may be called on another goroutine, also before Publish returned, and must not block.
func (s *Session) Publish(p Publish, done func(seq int64, err error)) {
	n := s.hub.node
	n.counts.publishes.Add(1)
	w, r, err := s.prepare(p)
	if err != nil {
		done(0, n.refused(err))
		return
	}
	s.hub.engine.Append(w, func(a engine.Appended, err error) {
		s.hub.landed(s)
		done(s.appended(w, r, a, err))
	})
}

// prepare asks all that is to be asked before a write begins.
func (s *Session) prepare(p Publish) (engine.Write, *route, error) {
	n := s.hub.node
	if err := s.ended(); err != nil {
		return engine.Write{}, nil, err
	}
	digest, err := authorization.ParseHandle(p.Handle)
	if err != nil {
		return engine.Write{}, nil, err
	}
	if err := fault.All(stream.CheckID(p.ID), stream.CheckSize(p.Body)); err != nil {
		return engine.Write{}, nil, err
	}
	at := n.state.handle(s.device, writing(), digest)
	if at.err != nil {
		return engine.Write{}, nil, s.denied(at.err)
	}
	r, err := s.hub.routeOf(n.rooms.ctx, at.route)
	if err != nil {
		s.hub.failed(err)
		return engine.Write{}, nil, err
	}
	if err := s.hub.admit(s, at.now.Elapsed); err != nil {
		return engine.Write{}, nil, err
	}
	return engine.Write{
		Generation: at.generation, Route: at.route, Principal: s.device.Principal, ID: p.ID, At: at.now.Wall, Body: p.Body,
	}, r, nil
}

// denied is what a device is told of a frame that the gate refuses. Where the session is not to be any more, though nobody has
// ended it yet, this ends it: a refusal of the frame alone would have a device give up what it can do once it is back.
func (s *Session) denied(err error) error {
	n := s.hub.node
	if why := n.state.device(s.device, reading()).err; why != nil {
		s.finish(n.cutOf(s.device.Tenant, why))
		return errEnded().Because(why)
	}
	return n.later(err)
}

// appended is what becomes of a message once its commit is known. Nobody is told of it, neither who published it nor who
// subscribed, unless all that permitted it holds still (P8).
func (s *Session) appended(w engine.Write, r *route, a engine.Appended, err error) (int64, error) {
	n := s.hub.node
	if err != nil {
		s.hub.failed(err)
		return 0, n.refused(err)
	}
	if at := n.state.device(s.device, acknowledging(w.Generation)); at.err != nil {
		s.finish(n.cutOf(s.device.Tenant, at.err))
		return 0, n.refused(at.err)
	}
	m := engine.Message{Route: w.Route, Seq: a.Seq, ID: w.ID, From: w.Principal, At: a.At, Body: w.Body}
	s.hub.deliver(r, m, a.Before)
	n.counts.acknowledged.Add(1)
	return a.Seq, nil
}

// Subscribe begins, or begins anew, to take the messages of a handle's route after a sequence. Messages may be taken before it
// has returned: whoever answers it first takes nothing meanwhile.
// Faults: Invalid invalid_handle, after_beyond_end; Forbidden handle_refused; Exhausted too_many_subscriptions.
func (s *Session) Subscribe(ctx context.Context, handle string, after int64) (Subscribed, error) {
	out, err := s.subscribe(ctx, handle, after)
	if err != nil {
		return Subscribed{}, s.hub.node.refused(err)
	}
	return out, nil
}

func (s *Session) subscribe(ctx context.Context, handle string, after int64) (Subscribed, error) {
	if err := s.ended(); err != nil {
		return Subscribed{}, err
	}
	digest, err := authorization.ParseHandle(handle)
	if err != nil {
		return Subscribed{}, err
	}
	at := s.hub.node.state.handle(s.device, reading(), digest)
	if at.err != nil {
		return Subscribed{}, s.denied(at.err)
	}
	r, err := s.hub.routeOf(ctx, at.route)
	if err != nil {
		s.hub.failed(err)
		return Subscribed{}, err
	}
	return s.follow(r, digest, after)
}

func (s *Session) follow(r *route, digest authorization.Digest, after int64) (Subscribed, error) {
	h := s.hub
	h.mu.Lock()
	if err := s.canFollow(r, after); err != nil {
		h.mu.Unlock()
		return Subscribed{}, err
	}
	s.unfollow(r)
	sub := &subscription{session: s, route: r, digest: digest, cursor: after}
	s.subs = append(s.subs, sub)
	r.subs++
	head := r.released
	if after == head {
		sub.park()
	}
	h.mu.Unlock()
	if after < head {
		s.line.Wake()
	}
	return Subscribed{Route: r.id, Head: head}, nil
}

// canFollow judges a subscription. The caller holds hub.mu.
func (s *Session) canFollow(r *route, after int64) error {
	if _, is := s.hub.sessions[s]; !is {
		return errEnded()
	}
	if err := stream.CheckAfter(after, r.released); err != nil {
		return err
	}
	again := slices.ContainsFunc(s.subs, func(sub *subscription) bool { return sub.route == r })
	if !again && len(s.subs) >= maxSubscriptions {
		return fault.New(fault.Exhausted, "too_many_subscriptions", "a connection follows at most %d routes", maxSubscriptions)
	}
	return nil
}

// unfollow ends the subscription of a route, if there is one. The caller holds hub.mu.
func (s *Session) unfollow(r *route) {
	s.subs = slices.DeleteFunc(s.subs, func(sub *subscription) bool {
		if sub.route != r {
			return false
		}
		sub.drop()
		return true
	})
}

// Unsubscribe ends a subscription, and returns its route. Faults: Invalid invalid_handle; NotFound not_subscribed.
func (s *Session) Unsubscribe(handle string) (route string, err error) {
	digest, err := authorization.ParseHandle(handle)
	if err != nil {
		return "", s.hub.node.refused(err)
	}
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sub := range s.subs {
		if sub.digest == digest {
			s.unfollow(sub.route)
			return sub.route.id, nil
		}
	}
	return "", h.node.refused(fault.New(fault.NotFound, "not_subscribed", "there is no subscription by this handle"))
}

func errEnded() *fault.Error {
	return fault.New(fault.Unavailable, "session_ended", "the session has ended").After(time.Second)
}

func errExpired() error {
	return fault.New(fault.Unauthenticated, "device_token_expired", "the token has expired").Curable("get another token")
}
