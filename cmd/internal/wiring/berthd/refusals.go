package berthd

import (
	"log/slog"
	"sync"
	"time"

	"berth/adapters/metrics"
	"berth/application/trust"
	"berth/ports/clock"
)

// refusals counts the node requests that are refused, and tells of those that are no node's doing: an ingress that signs by
// another secret, or by another clock, refuses every node, and nothing but the nodes themselves would say so.
type refusals struct {
	metrics *metrics.Metrics
	log     *slog.Logger
	clock   clock.Clock

	mu   sync.Mutex
	told map[string]time.Duration // when, by slug
}

var _ trust.Observer = (*refusals)(nil)

func provideRefusals(m *metrics.Metrics, log *slog.Logger, c clock.Clock) *refusals {
	return &refusals{metrics: m, log: log, clock: c, told: map[string]time.Duration{}}
}

const tellAgain = time.Minute

// AssertionRefused counts one, and tells of it at most once a minute.
func (r *refusals) AssertionRefused(slug string) {
	r.metrics.AssertionRefused(slug)
	why := ""
	switch slug {
	case "assertion_secret_unknown", "assertion_secret_retired", "assertion_mac_mismatch":
		why = "an ingress signs by a secret that is not in force here: compare its secrets_file with ingress_secrets_file"
	case "assertion_expired", "assertion_from_future":
		why = "the clocks of an ingress and of this machine are apart by more than assertion_skew allows: set the one that is wrong"
	}
	if why != "" && r.due(slug) {
		r.log.Error("node requests are refused", "slug", slug, "why", why)
	}
}

func (r *refusals) due(slug string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Elapsed()
	if last, before := r.told[slug]; before && now-last < tellAgain {
		return false
	}
	r.told[slug] = now
	return true
}
