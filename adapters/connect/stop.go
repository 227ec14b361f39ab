package connect

import (
	"context"
	"sync"
	"sync/atomic"

	"berth/application/relay"
)

// requests are what is being answered over HTTP, upgrades included.
type requests struct {
	ctx  context.Context //nolint:containedctx // ends with the handler's stop
	stop context.CancelFunc

	mu      sync.Mutex
	over    bool
	running int
	none    chan struct{} // closed once over and none is running
}

func newRequests() *requests {
	r := &requests{none: make(chan struct{})}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// begin counts a request, unless the handler stops.
func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return false
	}
	r.running++
	return true
}

func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	if r.over && r.running == 0 {
		close(r.none)
	}
}

// close begins no more, and returns what is closed once none is running.
func (r *requests) close() <-chan struct{} {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.over = true
		if r.running == 0 {
			close(r.none)
		}
	}
	return r.none
}

// Stop refuses what comes, tells every device to come back, each at its own time, and waits for what is in flight:
// publishes for as long as Limits.SettleTimeout, attachments until ctx ends. What is still there then is cut. The node is
// still to serve meanwhile; the listeners are closed after it. It may be called again.
func (h *Handler) Stop(ctx context.Context) {
	answered, empty := h.requests.close(), h.crowd.stop()
	for _, c := range h.crowd.all(nil) {
		c.End(relay.End{Reason: relay.Shutdown, Retry: h.jitter()})
	}
	select {
	case <-answered:
	case <-ctx.Done():
		h.transfers.cut()
	}
	select {
	case <-empty:
	case <-ctx.Done():
		for _, c := range h.crowd.all(nil) {
			c.cut()
		}
		<-empty
	}
	h.end()
	<-h.swept
}

// counts is what happened.
type counts struct {
	opened, stalled, silent, flooding, malformed, forwarded atomic.Int64
}

// Counts is what there is of everything now, and what has happened so far.
type Counts struct {
	Connections int64 // WebSockets that are open
	Transfers   int64 // of attachments, in flight
	Opened      int64 // WebSockets
	Forwarded   int64 // requests, to peers
	Stalled     int64 // were cut because they took nothing
	Silent      int64 // were cut because nothing came
	Flooding    int64 // were cut because too many pings came
	Malformed   int64 // were closed because of a frame, those included
}

// Counts may be called at any time.
func (h *Handler) Counts() Counts {
	c := &h.counts
	return Counts{
		Connections: int64(h.crowd.count()), Transfers: int64(h.transfers.count()),
		Opened: c.opened.Load(), Forwarded: c.forwarded.Load(), Stalled: c.stalled.Load(), Silent: c.silent.Load(),
		Flooding: c.flooding.Load(), Malformed: c.malformed.Load(),
	}
}
