package ingress

import (
	"container/list"
	"sync"
)

// pending are the handshakes in flight, the oldest first.
type pending struct {
	most int

	mu    sync.Mutex
	order list.List
	at    map[*link]*list.Element
}

// add counts a handshake. Where there are too many the oldest is cut off.
func (p *pending) add(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[*link]*list.Element{}
	}
	for len(p.at) >= p.most {
		oldest, _ := p.order.Remove(p.order.Front()).(*link)
		delete(p.at, oldest)
		oldest.cut()
	}
	p.at[l] = p.order.PushBack(l)
}

func (p *pending) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.at[l]; ok {
		p.order.Remove(e)
		delete(p.at, l)
	}
}
