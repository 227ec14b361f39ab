package relay

import (
	"container/list"
	"context"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/authority"
)

// routes are where the tenants of other nodes are served (R3): what was told lately, of the tenants that were asked for last.
type routes struct {
	*Node
	slots chan struct{} // questions that are asked at a time

	mu    sync.Mutex
	known map[string]*list.Element // of *routed
	used  *list.List               // the latest first
}

// routed is one tenant.
type routed struct {
	tenant string
	placement.Routing
	asking  *question // the one that is on its way
	failure error     // of the last question; nil where it was answered
	failed  time.Duration
	refused bool          // the node that the route leads to refused, and nothing was learnt since
	retried time.Duration // when it was asked last because of that
	again   bool          // there was such a question
}

// question is one that any number of connections wait for.
type question struct {
	done  chan struct{}
	route placement.Route
	err   error
}

const (
	mostRoutes    = 20_000
	mostQuestions = 32
	askAgain      = time.Second // after a failure, and after a refusal of a route that was just asked for
)

func newRoutes(n *Node) *routes {
	return &routes{Node: n, slots: make(chan struct{}, mostQuestions), known: map[string]*list.Element{}, used: list.New()}
}

// connected gives the node what it was given ports for.
func (n *Node) connected() {
	if n.Authority.Keys != nil && n.Devices != nil {
		n.keys = newKeys(n)
		n.verifier = n.keys
	}
	if n.Authority.Peers != nil {
		n.peers = newPeers(n)
	}
	if n.Authority.Routes != nil {
		n.router = newRoutes(n)
	}
}

// locate says whether a tenant is served here, by what this node was told last, else by whom. It does not say that it may be
// served here just now: the gate does.
func (r *routes) locate(ctx context.Context, tenant string, forwarded *int64) (Where, error) {
	generation, here := r.state.holds(tenant)
	switch {
	case forwarded != nil && !here:
		return Where{}, fault.New(fault.Unavailable, "not_holder", "this node does not hold the tenant, and a forwarded connection goes no further").After(askAgain)
	case forwarded != nil && generation != *forwarded:
		return Where{}, fault.New(fault.Conflict, "generation_changed", "this node holds the tenant at another generation than %d", *forwarded).After(askAgain)
	case here:
		return Where{Here: true}, nil
	}
	route, q, err := r.find(ctx, tenant)
	switch {
	case err != nil:
		return Where{}, err
	case q != nil:
		return r.answer(ctx, q)
	}
	return r.there(route)
}

// RouteRefused notes that the node which a route led to is not the one, or is not to be reached: the route counts again once it
// was asked for anew, which happens at most once a second, and until then devices are sent away for a while (R3).
func (n *Node) RouteRefused(refused authority.Route) {
	r, ok := n.router.(*routes)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.known[refused.Tenant]; at != nil {
		at.Value.(*routed).refuse(placement.Route(refused)) //nolint:errcheck,forcetypeassert // nothing else is in the list
	}
}

// holds says whether this node is the one that serves a tenant, and at which generation, by what it was told last.
func (s *state) holds(tenant string) (generation int64, here bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tenants[tenant]
	if t == nil || t.told == nil {
		return 0, false
	}
	self := s.settings.Self.Node()
	h := t.told.Held(self)
	if t.held.Node != "" && t.held.Version > h.Version {
		h = t.held
	}
	return h.Generation, h.Node == self
}

// find is the route that may be used, else the question that all wait for who need it. It is decided under one lock: whoever came too
// late for a question has its answer. Faults: Unavailable route_refused; as of the last question, while that failed just now.
func (r *routes) find(ctx context.Context, tenant string) (placement.Route, *question, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.entry(tenant), r.Clock.Elapsed()
	if route, ok := e.Alive(now, r.settings.RouteLife); ok && !e.refused {
		return route, nil, nil
	}
	if e.asking == nil {
		switch {
		case e.refused && e.again && now-e.retried < askAgain:
			return placement.Route{}, nil, fault.New(fault.Unavailable, "route_refused",
				"the node that the route leads to is not the one, or is not to be reached").After(askAgain)
		case e.failure != nil && now-e.failed < askAgain:
			return placement.Route{}, nil, e.failure
		}
		if e.refused {
			e.again, e.retried = true, now
		}
		e.asking = &question{done: make(chan struct{})}
		go r.put(context.WithoutCancel(ctx), e, e.asking)
	}
	return placement.Route{}, e.asking, nil
}

// refuse notes a refusal of a route, unless another one was learnt since it was tried. The caller holds the lock.
func (e *routed) refuse(tried placement.Route) {
	if !e.Beyond(tried) && e.asking == nil {
		e.refused = true
	}
}

// entry finds or makes what is known of a tenant. The caller holds the lock.
func (r *routes) entry(tenant string) *routed {
	if at := r.known[tenant]; at != nil {
		r.used.MoveToFront(at)
		return at.Value.(*routed) //nolint:errcheck,forcetypeassert // nothing else is in the list
	}
	e := &routed{tenant: tenant}
	r.known[tenant] = r.used.PushFront(e)
	if last := r.used.Back(); r.used.Len() > mostRoutes && last != nil {
		r.used.Remove(last)
		delete(r.known, last.Value.(*routed).tenant) //nolint:errcheck,forcetypeassert // nothing else is in the list
	}
	return e
}

// answer waits for the answer to a question, which outlives the connections that wait for it.
func (r *routes) answer(ctx context.Context, q *question) (Where, error) {
	select {
	case <-q.done:
	case <-ctx.Done():
		return Where{}, fault.New(fault.Unavailable, "request_ended", "the connection ended first").Because(context.Cause(ctx))
	}
	if q.err != nil {
		return Where{}, q.err
	}
	return r.there(q.route)
}

func (r *routes) put(ctx context.Context, e *routed, q *question) {
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeout)
	defer cancel()
	route, sent, err := r.fetch(ctx, e.tenant)
	r.mu.Lock()
	if err == nil {
		if err = e.Learn(route, sent); err == nil {
			route, _ = e.Route()
			e.refused = false
		} else {
			err = unknownRoute(err)
		}
	}
	if e.failure, e.failed = err, r.Clock.Elapsed(); err == nil {
		e.failure = nil
	}
	e.asking = nil
	r.mu.Unlock()
	q.route, q.err = route, err
	close(q.done)
}

// fetch asks once its turn has come.
func (r *routes) fetch(ctx context.Context, tenant string) (placement.Route, time.Duration, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return placement.Route{}, 0, fault.New(fault.Unavailable, "route_unknown", "too many routes are asked for at a time").After(askAgain)
	}
	sent := r.Clock.Elapsed()
	in, err := r.Authority.Routes.Route(ctx, tenant)
	if err != nil {
		return placement.Route{}, 0, r.unanswered(ctx, err, sent)
	}
	if in.Tenant != tenant {
		return placement.Route{}, 0, unknownRoute(fault.New(fault.Internal, "answer_misdirected", "the route is of another tenant"))
	}
	r.state.mu.RLock()
	defer r.state.mu.RUnlock()
	if t := r.state.tenants[tenant]; t != nil && (in.Version < t.seen.Version || in.Generation < t.seen.Generation) {
		return placement.Route{}, 0, unknownRoute(fault.New(fault.Conflict, "route_older", "the route is older than what this node was told of the tenant"))
	}
	return placement.Route(in), sent, nil
}

// unanswered is what a device is told: that there is no such tenant, or that nobody knows. What the control plane has against
// this node is none of its business.
func (r *routes) unanswered(ctx context.Context, err error, sent time.Duration) error {
	r.counts.failures.Add(1)
	r.keeper.heard(ctx, err, sent)
	if fault.KindOf(err) == fault.NotFound {
		return err
	}
	return unknownRoute(err)
}

func unknownRoute(err error) error {
	return fault.New(fault.Unavailable, "route_unknown", "this node can not find out who holds the tenant").Because(err).After(askAgain)
}

// there judges whether a route can be followed from here. It leads to a peer: what leads back to this node is a placement of
// which it was not told yet.
func (r *routes) there(route placement.Route) (Where, error) {
	self := r.settings.Self
	id, err := identity.ParseSPIFFEID(route.SPIFFEID)
	switch {
	case err != nil || id.Node() != route.Node || id.TrustDomain() != self.TrustDomain():
		return Where{}, fault.New(fault.Internal, "route_malformed", "the route names no node of this trust domain").Because(err)
	case id.Region() != self.Region():
		return Where{}, fault.New(fault.Conflict, "region_changed", "the tenant lives in another region").
			Curable("ask for the device's connection anew, and connect where it says")
	case id == self:
		return Where{}, fault.New(fault.Unavailable, "not_holder", "this node was not told yet that the tenant is its own").After(askAgain)
	case route.Address == "":
		return Where{}, fault.New(fault.Unavailable, "peer_address_unknown", "the node that holds the tenant does not say where its peers reach it").After(askAgain)
	}
	return Where{To: authority.Route(route)}, nil
}
