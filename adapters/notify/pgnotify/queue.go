package pgnotify

import (
	"sync"

	"berth/ports/notify"
)

// batch is what the other replicas are to be told: that these topics changed, or, with all, that anything may have.
type batch struct {
	topics []notify.Topic
	all    bool
}

// queue gathers what is to be sent. A topic that waits already is not queued again. Past its bound it keeps no topics but
// the one fact that there were too many, which still makes everybody look who has to: a herd of reads, spread over a
// second, for a few bytes of memory.
type queue struct {
	topicsMax, bytesMax int
	ready               chan struct{} // holds one while there is something to take

	mu     sync.Mutex
	order  []notify.Topic // as they were first published: the last is told of last
	queued map[notify.Topic]struct{}
	bytes  int
	all    bool
	stats  queueStats
}

// queueStats counts since the start.
type queueStats struct {
	tooLong  uint64
	overruns uint64
}

func newQueue(topicsMax, bytesMax int) *queue {
	return &queue{
		topicsMax: topicsMax, bytesMax: bytesMax, ready: make(chan struct{}, 1), queued: map[notify.Topic]struct{}{},
	}
}

func (q *queue) put(topics ...notify.Topic) { q.merge(batch{topics: topics}) }

// merge adds a batch, new or one that could not be sent.
func (q *queue) merge(b batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.all {
		q.overrun()
	}
	for _, t := range b.topics {
		q.add(t)
	}
	if q.all || len(q.order) > 0 {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	}
}

func (q *queue) add(t notify.Topic) {
	if len(t) > topicMax {
		q.stats.tooLong++
		return
	}
	if _, there := q.queued[t]; there || q.all {
		return
	}
	if len(q.order) >= q.topicsMax || q.bytes+len(t) > q.bytesMax {
		q.stats.overruns++
		q.overrun()
		return
	}
	q.queued[t] = struct{}{}
	q.order = append(q.order, t)
	q.bytes += len(t)
}

func (q *queue) overrun() {
	q.all = true
	q.order, q.queued, q.bytes = nil, map[notify.Topic]struct{}{}, 0
}

// take returns everything that waits, and leaves nothing.
func (q *queue) take() batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batch{topics: q.order, all: q.all}
	q.overrun()
	q.all = false
	select {
	case <-q.ready:
	default:
	}
	return b
}

func (q *queue) counted() queueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// waiting returns how many topics wait to be sent.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}
