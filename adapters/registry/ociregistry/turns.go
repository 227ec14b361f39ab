package ociregistry

import (
	"context"
	"sync"
)

// turns lets in so many lookups at once, fewer of each host's, so that a registry that never answers holds up only those
// who ask for it.
type turns struct {
	all chan struct{}

	mu    sync.Mutex
	hosts map[string]*lane
}

// lane is one host's; it exists as long as somebody is in it or waits for it.
type lane struct {
	room  chan struct{}
	users int
}

func newTurns() *turns { return &turns{all: make(chan struct{}, atOnce), hosts: map[string]*lane{}} }

// enter waits for room; the function that it returns leaves.
func (t *turns) enter(ctx context.Context, host string) (leave func(), err error) {
	l := t.join(host)
	for taken, room := range []chan struct{}{l.room, t.all} {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			if taken > 0 {
				<-l.room
			}
			t.part(host, l)
			return nil, ctx.Err()
		}
	}
	return func() {
		<-t.all
		<-l.room
		t.part(host, l)
	}, nil
}

func (t *turns) join(host string) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.hosts[host]
	if !ok {
		l = &lane{room: make(chan struct{}, perHost)}
		t.hosts[host] = l
	}
	l.users++
	return l
}

func (t *turns) part(host string, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.hosts, host)
	}
}
