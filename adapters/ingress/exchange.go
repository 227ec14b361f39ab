package ingress

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/upstream"
	"berth/domain/fault"
	"berth/domain/identity"
)

// exchange is one request on its way through.
type exchange struct {
	g       *Ingress
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	link    *link
	start   time.Time

	body     []byte
	bodyRead bool
	held     int64 // of the memory of bodies

	requestID string
	status    int
	bytes     int64
	slug      string
	failure   error // what the slug names, for the log
	gone      bool  // the client is
}

// serve is what happens to every request.
func (g *Ingress) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		g: g, w: w, r: r, control: http.NewResponseController(w), link: linkOf(r.Context()), start: time.Now(),
		bodyRead: r.ContentLength == 0,
	}
	defer x.done()
	defer x.survive()
	if err := x.pass(); err != nil {
		x.refuse(err)
	}
}

// survive tells of a panic, which net/http would tell only to whoever debugs, and breaks the connection off.
func (x *exchange) survive() {
	r := recover()
	if r == nil {
		return
	}
	if r != http.ErrAbortHandler { //nolint:errorlint // the value of a panic, compared as net/http does
		x.slug, x.status = "internal", http.StatusInternalServerError
		x.g.o.Log.Error("a handler panicked", "panic", r, "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler)
}

// done gives back what the request held, and tells of it.
func (x *exchange) done() {
	x.link.safe.Store(false)
	x.release()
	x.tell()
}

func (x *exchange) pass() error {
	if err := x.g.verifier.check(x.link.peer); err != nil {
		return closing(err)
	}
	if !x.link.node.rate.Allow() {
		return fault.New(fault.Exhausted, "rate_limited", "the node makes too many requests").After(time.Second)
	}
	if n := countClaims(x.r.Header); n > 0 {
		x.g.o.Metrics.claims.Add(float64(n))
	}
	if err := judge(x.r); err != nil {
		return err
	}
	if err := x.readBody(x.r); err != nil {
		return err
	}
	// A body takes as long as its sender likes: what ended meanwhile is asserted no more.
	if err := x.g.verifier.check(x.link.peer); err != nil {
		return closing(err)
	}
	q, err := x.request()
	if err != nil {
		return err
	}
	return x.forward(q)
}

const (
	assertionLife = 10 * time.Second
	nonceSize     = 16
)

// request is what goes on to the control plane: the request as it came, with one assertion about it (I3).
func (x *exchange) request() (*upstream.Request, error) {
	r, p := x.r, x.link.peer
	now := x.g.o.Clock.Now()
	payload := identity.Payload{
		SPIFFEID: p.id, Fingerprint: p.fingerprint, Method: r.Method, Target: r.RequestURI, Host: r.Host,
		BodySHA256: sha256.Sum256(x.body), IssuedAt: now, ExpiresAt: now.Add(assertionLife), Nonce: x.g.o.IDs.Secret(nonceSize),
	}
	assertion, err := identity.Seal(x.g.o.Secrets().Sealing(), payload)
	if err != nil {
		return nil, fault.New(fault.Internal, "internal", "the assertion can not be made").Because(err)
	}
	q := &upstream.Request{Method: r.Method, Target: r.RequestURI, Host: r.Host, Body: x.body}
	upgrade := upgrades(r)
	if upgrade {
		q.Upgrade = websocket
	}
	q.Fields = append(make([]upstream.Field, 0, 8), upstream.Field{Name: contract.HeaderAssertion, Value: assertion})
	q.Fields = pass(r, q.Fields, upgrade)
	return q, nil
}

// forward sends the request and passes the answer on.
func (x *exchange) forward(q *upstream.Request) error {
	x.link.safe.Store(contract.Reads(q.Method, q.Target))
	ctx := x.r.Context()
	select {
	case <-x.g.stopping:
		if x.link.safe.Load() {
			return errStopping()
		}
	default:
	}
	a, err := x.g.o.Upstream.Do(ctx, q)
	if err != nil {
		return x.unanswered(ctx, err)
	}
	// What happened to the client's right to an answer while it waited counts (I4).
	if err := x.g.verifier.check(x.link.peer); err != nil {
		a.Close()
		return closing(err)
	}
	if a.Status == http.StatusSwitchingProtocols {
		return x.tunnel(a)
	}
	defer a.Close()
	return x.answer(a)
}

// unanswered says why there is no answer, and whether asking again is safe.
func (x *exchange) unanswered(ctx context.Context, err error) error {
	if failed, ok := errors.AsType[*upstream.Error](err); ok {
		return x.lost(failed)
	}
	if f, ok := fault.As(err); ok { // the connection may not go on, or the ingress stops
		return closing(f)
	}
	x.gone = ctx.Err() != nil
	return &refusal{
		fault: fault.New(fault.Unavailable, "client_gone", "the client left").Because(err), status: statusClientGone, close: true,
	}
}

// statusClientGone is what the log calls an answer that nobody waited for.
const statusClientGone = 499

func (x *exchange) lost(failed *upstream.Error) error {
	var r refusal
	switch failed.Fate {
	case upstream.NotSent:
		r.fault = fault.New(fault.Unavailable, "upstream_unreachable", "the control plane can not be reached").After(time.Second)
	case upstream.Late:
		r.status = http.StatusGatewayTimeout
		r.fault = fault.New(fault.Unavailable, "upstream_timeout", "the control plane did not answer in time; it may have done what was asked")
	case upstream.Broken:
		r.status = http.StatusBadGateway
		r.fault = fault.New(fault.Unavailable, "upstream_broken", "the control plane broke off; it may have done what was asked")
	case upstream.Malformed:
		r.status = http.StatusBadGateway
		r.fault = fault.New(fault.Unavailable, "upstream_malformed", "what the control plane answered can not be passed on")
	}
	// Asking again for what changes nothing is always safe.
	if x.link.safe.Load() {
		r.fault = r.fault.After(time.Second)
	}
	r.fault = r.fault.Because(failed)
	x.g.o.Metrics.upstreamFailed(r.fault.Slug)
	return &r
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// id is the request's: the control plane's own where it answered, so that one id leads through both logs.
func (x *exchange) id() string {
	if x.requestID == "" {
		x.requestID = x.g.o.IDs.New("req")
	}
	return x.requestID
}
