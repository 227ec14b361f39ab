package node

import (
	"sync"

	"golang.org/x/time/rate"

	"berth/domain/fault"
)

// Limits bound how many requests a second each node may make, so that one node can neither fill the nonce table nor
// starve the others. It is asked after the assertion held, so its size is that of the fleet.
type Limits struct {
	perSecond rate.Limit
	burst     int
	mu        sync.Mutex
	nodes     map[string]*rate.Limiter
}

// NewLimits allows each node perSecond requests a second, and burst at once.
func NewLimits(perSecond float64, burst int) *Limits {
	return &Limits{perSecond: rate.Limit(perSecond), burst: burst, nodes: map[string]*rate.Limiter{}}
}

// Take counts one request of a node. Fault: Exhausted rate_limited.
func (l *Limits) Take(node string) error {
	l.mu.Lock()
	limiter := l.nodes[node]
	if limiter == nil {
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		l.nodes[node] = limiter
	}
	l.mu.Unlock()
	if limiter.Allow() {
		return nil
	}
	return fault.New(fault.Exhausted, "rate_limited", "node %s makes too many requests", node)
}
