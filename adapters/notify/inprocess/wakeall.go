package inprocess

import (
	"context"
	"slices"
	"time"
)

// A part of WakeAll is at least so many subscriptions, so that a few are not kept waiting for nothing, and there are at
// most so many parts, so that the pauses between them are long enough for a timer to keep.
const (
	leastPart = 32
	mostParts = 50
)

// WakeAll wakes everybody, in equal parts.
func (h *Hub) WakeAll(ctx context.Context, over time.Duration) {
	all := h.everybody()
	if over <= 0 {
		h.wakeThoseLeft(all)
		return
	}
	part := max(leastPart, (len(all)+mostParts-1)/mostParts)
	pause := time.NewTicker(max(over/mostParts, 1))
	defer pause.Stop()
	for some := range slices.Chunk(all, part) {
		if ctx.Err() != nil {
			return
		}
		h.wakeThoseLeft(some)
		if len(some) < part { // the last one
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

func (h *Hub) everybody() []*subscription {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := make([]*subscription, 0, len(h.subscriptions))
	for s := range h.subscriptions {
		if len(s.topics) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// wakeThoseLeft passes over who closed meanwhile: no hint is sent after Close returned.
func (h *Hub) wakeThoseLeft(some []*subscription) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range some {
		if _, left := h.subscriptions[s]; left {
			s.wake()
		}
	}
}
