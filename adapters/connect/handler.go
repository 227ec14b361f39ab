package connect

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"berth/adapters/contract"
	"berth/application/relay"
	"berth/domain/fault"
)

// Handler serves /connect/v1 and /attachments/v1/. Use New.
type Handler struct {
	o       Options
	plane   Plane
	forward Forwarder
	crowd   *crowd
	counts  counts

	transfers *transfers
	requests  *requests

	ctx   context.Context //nolint:containedctx // the life of the handler, which outlives every request that begins a connection
	end   context.CancelFunc
	epoch time.Time
	tick  atomic.Int64
	swept chan struct{}
}

// New returns a handler. It is stopped with Stop.
func New(o Options, p Plane, f Forwarder) *Handler {
	h := &Handler{o: o, plane: p, forward: f, epoch: time.Now(), swept: make(chan struct{})}
	h.crowd, h.transfers = newCrowd(&h.o.Limits), newTransfers(&h.o.Limits)
	h.requests = newRequests()
	h.ctx, h.end = context.WithCancel(context.Background())
	go h.sweep()
	return h
}

// ServeHTTP answers a device's request, on the devices' listener or, forwarded, on the peers'.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // net/http reads past a body that nobody read
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.Limits.HeaderTimeout)) // a dead connection says so below
	}
	if !h.requests.begin() {
		h.refuse(w, r, errStopping())
		return
	}
	defer h.requests.end()
	path, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case path == contract.ConnectPath:
		h.connect(w, r)
	case strings.HasPrefix(path, contract.AttachmentsPath):
		h.attachments(w, r, path)
	default:
		h.reject(w, r, pathUnknown())
	}
}

// settle has a request answered by the peer that serves its tenant, and says whether that is this node. An error was not
// answered.
func (h *Handler) settle(w http.ResponseWriter, r *http.Request, d relay.Device) (here bool, err error) {
	var believed *int64
	if f, ok := contract.ForwardedIn(r.Context()); ok {
		believed = &f.Generation
	}
	where, err := h.plane.Locate(r.Context(), d.Tenant, believed)
	const attempts = 2 // a stale route is refreshed, not retried blindly (R3)
	for range attempts {
		switch {
		case err != nil:
			return false, err
		case where.Here:
			return true, nil
		case believed != nil:
			return false, fault.New(fault.Conflict, "not_holder", "this node does not serve the tenant, and passes nothing on twice")
		}
		h.counts.forwarded.Add(1)
		refused := h.forward.Forward(w, r, where.To)
		if refused == nil {
			return false, nil
		}
		h.o.Log.Debug("a peer did not take a request", "tenant", d.Tenant, "peer", where.To.Node, "error", refused)
		if blameless(refused) {
			return false, refused
		}
		where, err = h.plane.Relocate(r.Context(), where.To)
	}
	if err == nil {
		err = fault.New(fault.Unavailable, "route_refused", "no node takes the tenant's requests just now").After(time.Second)
	}
	return false, err
}

// blameless says whether a request was not passed on for what it is itself, or because it ended: nothing that the route is to be
// held against, by which other devices of the tenant come.
func blameless(refused error) bool {
	return fault.KindOf(refused) == fault.Invalid || fault.SlugOf(refused) == "request_ended"
}

func (h *Handler) identify(r *http.Request, offers []string) (relay.Device, error) {
	token, err := tokenOf(r, offers)
	if err != nil {
		return relay.Device{}, err
	}
	return h.plane.Authenticate(token)
}

// untilStop is a request that ends when the handler stops, whatever becomes of it.
func (h *Handler) untilStop(r *http.Request) (_ *http.Request, release func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(h.requests.ctx, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
}

// jitter is when a device is to come back, so that not all do at once.
func (h *Handler) jitter() time.Duration {
	return rand.N(max(h.o.Limits.ReconnectWithin, 1)) //nolint:gosec // it only has to spread
}
