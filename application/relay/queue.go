package relay

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"berth/ports/clock"
)

// queue holds which tenants are to be looked at and when. One tenant is in no two hands at a time. Use newQueue.
type queue struct {
	clock clock.Clock
	wake  chan struct{}

	mu   sync.Mutex
	due  dues
	at   map[string]*dueAt
	busy map[string]bool
	late map[string]bool // came due while busy
}

type dueAt struct {
	tenant string
	when   time.Duration
	index  int
}

func newQueue(c clock.Clock) *queue {
	return &queue{
		clock: c, wake: make(chan struct{}, 1), at: map[string]*dueAt{}, busy: map[string]bool{}, late: map[string]bool{},
	}
}

// add has a tenant looked at after a time; of two times the earlier holds.
func (q *queue) add(tenant string, after time.Duration) {
	when := q.clock.Elapsed() + max(0, after)
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.at[tenant]
	switch {
	case d == nil:
		d = &dueAt{tenant: tenant, when: when}
		q.at[tenant] = d
		heap.Push(&q.due, d)
	case when < d.when:
		d.when = when
		heap.Fix(&q.due, d.index)
	default:
		return
	}
	if d.index == 0 {
		q.rouse()
	}
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run gives what is due to the given number of hands until the context ends, and all hands are empty.
func (q *queue) run(ctx context.Context, hands int, do func(context.Context, string)) {
	work := make(chan string)
	var all sync.WaitGroup
	for range hands {
		all.Go(func() {
			for tenant := range work {
				do(ctx, tenant)
				q.done(tenant)
			}
		})
	}
	for {
		tenant, ok := q.take(ctx)
		if !ok {
			break
		}
		work <- tenant
	}
	close(work)
	all.Wait()
}

// take waits for the next tenant that is due.
func (q *queue) take(ctx context.Context) (string, bool) {
	for ctx.Err() == nil {
		tenant, wait := q.pop()
		if tenant != "" {
			return tenant, true
		}
		timer := q.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
	return "", false
}

// idle is how long the queue sleeps at most: a suspended machine's timers are late.
const idle = time.Minute

func (q *queue) pop() (tenant string, wait time.Duration) {
	now := q.clock.Elapsed()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.due) > 0 {
		first := q.due[0]
		if first.when > now {
			return "", min(idle, first.when-now)
		}
		heap.Pop(&q.due)
		delete(q.at, first.tenant)
		if !q.busy[first.tenant] {
			q.busy[first.tenant] = true
			return first.tenant, 0
		}
		q.late[first.tenant] = true
	}
	return "", idle
}

func (q *queue) done(tenant string) {
	q.mu.Lock()
	delete(q.busy, tenant)
	late := q.late[tenant]
	delete(q.late, tenant)
	q.mu.Unlock()
	if late {
		q.add(tenant, 0)
	}
}

// waiting is how many tenants are in the queue.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.due)
}

// dues is a heap by time.
type dues []*dueAt

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return cmp.Compare(d[i].when, d[j].when) < 0 }
func (d dues) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push is for package heap.
func (d *dues) Push(x any) {
	one := x.(*dueAt) //nolint:errcheck,forcetypeassert // the heap holds nothing else
	one.index = len(*d)
	*d = append(*d, one)
}

// Pop is for package heap.
func (d *dues) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = nil
	*d = slices.Delete(*d, last, last+1)
	return one
}
