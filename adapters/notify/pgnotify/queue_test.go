package pgnotify

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/ports/notify"
)

// What was put and not taken is taken next, once each, in the order it was first put; or, past a bound, as one hint for
// everybody. So nothing is lost but a topic that is too long, and never is there more than the bounds say.
func TestQueueAgainstAModel(t *testing.T) {
	t.Parallel()
	const topicsBound, bytesBound = 5, 12
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(topicsBound, bytesBound)
		var want []notify.Topic
		all := false
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				topics := rapid.SliceOfN(rapid.Map(rapid.StringMatching(`[a-e]{0,3}`),
					func(s string) notify.Topic { return notify.Topic(s) }), 0, 4).Draw(t, "topics")
				q.put(topics...)
				for _, topic := range topics {
					if !slices.Contains(want, topic) {
						want = append(want, topic)
					}
				}
				all = all || len(want) > topicsBound || size(want) > bytesBound
			},
			"take, and fail to send": func(*rapid.T) { q.merge(q.take()) },
			"put what is too long":   func(*rapid.T) { q.put(notify.Topic(strings.Repeat("x", topicMax+1))) },
			"take": func(t *rapid.T) {
				got := q.take()
				if got.all != all || !all && !slices.Equal(got.topics, want) || all && len(got.topics) > 0 {
					t.Fatalf("took %+v, not %q (all: %v)", got, want, all)
				}
				want, all = nil, false
			},
			"": func(t *rapid.T) {
				if len(q.order) > topicsBound || size(q.order) > bytesBound || len(q.queued) != len(q.order) {
					t.Fatalf("it holds %q", q.order)
				}
				if full := len(want) > 0; (len(q.ready) == 1) != full {
					t.Fatalf("ready is %d with %q waiting", len(q.ready), want)
				}
			},
		})
	})
}

func size(topics []notify.Topic) int {
	n := 0
	for _, t := range topics {
		n += len(t)
	}
	return n
}

func BenchmarkQueue(b *testing.B) {
	q := newQueue(10_000, 1<<20)
	topics := make([]notify.Topic, 1000)
	for i := range topics {
		topics[i] = notify.Topic("tenant/" + strconv.Itoa(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.put(topics[i%len(topics)])
		if i%len(topics) == 0 {
			q.take()
		}
	}
}
