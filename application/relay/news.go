package relay

import (
	"context"
	"sync"
)

// news wakes everybody who waits for something that has come true, such as a certificate or a registration.
type news struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newNews() *news { return &news{changed: make(chan struct{})} }

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// until waits for something to be so, and says whether it is: it is not where the context ended first.
func (n *news) until(ctx context.Context, so func() bool) bool {
	for {
		changed := n.next()
		if ctx.Err() != nil {
			return false
		}
		if so() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// identified waits until the node has a certificate that is accepted.
func (n *Node) identified(ctx context.Context) bool { return n.news.until(ctx, n.keeper.usable) }

// registered waits until this process is the node, and has a certificate that is accepted.
func (n *Node) registered(ctx context.Context) bool {
	return n.news.until(ctx, func() bool {
		n.state.mu.RLock()
		defer n.state.mu.RUnlock()
		return n.state.generation > 0 && n.state.lost == nil
	})
}
