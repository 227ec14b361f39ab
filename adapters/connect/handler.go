package connect

import (
	"context"
	"net/http"
)

// Handler serves /connect/v1 and /attachments/v1/. Use New.
type Handler struct {
	o       Options
	plane   Plane
	forward Forwarder
}

// New returns a handler. It is stopped with Stop.
func New(o Options, p Plane, f Forwarder) *Handler {
	return &Handler{o: o, plane: p, forward: f}
}

// ServeHTTP answers a device's request, on the devices' listener or, forwarded, on the peers'.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}

// Stop refuses what comes, tells every device to come back elsewhere, each at its own time, and waits for what is in
// flight. What is still there when ctx ends is cut. The listeners are closed after it.
func (h *Handler) Stop(ctx context.Context) {}

// Counts is what there is of everything now, and what has happened so far.
type Counts struct {
	Connections int64 // WebSockets that are open
	Transfers   int64 // of attachments, in flight
	Opened      int64 // WebSockets
	Stalled     int64 // were cut because they took nothing
	Silent      int64 // were cut because nothing came
	Flooding    int64 // were cut because too much came
	Malformed   int64 // were closed because of a frame
}

// Counts may be called at any time.
func (h *Handler) Counts() Counts { return Counts{} }
