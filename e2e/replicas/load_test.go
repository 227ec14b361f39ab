package replicas

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// load is clients that write without a pause through all replicas. Each write makes an operator token of a name of its own,
// under an Idempotency-Key; what was not answered is asked for again under the same key, through the next replica.
type load struct {
	w       *world
	stop    chan struct{}
	writers sync.WaitGroup

	mu      sync.Mutex
	acked   map[string]time.Time // when a write was answered
	unsure  map[string]bool      // whose outcome nobody could tell the client
	answers map[string]int       // how many there were of each kind
	last    harness.Answer
}

const writersEach = 2 // on each replica

func (w *world) load() *load {
	l := &load{
		w: w, stop: make(chan struct{}), acked: map[string]time.Time{}, unsure: map[string]bool{}, answers: map[string]int{},
	}
	for i := range 2 * writersEach {
		l.writers.Go(func() { l.write(i) })
	}
	w.t.Cleanup(l.end)
	return l
}

func (l *load) ended() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// end lets every writer finish what it is at.
func (l *load) end() {
	if !l.ended() {
		close(l.stop)
	}
	l.writers.Wait()
}

func (l *load) write(writer int) {
	pause := time.NewTicker(25 * time.Millisecond)
	defer pause.Stop()
	for n := 0; !l.ended(); n++ {
		name := fmt.Sprintf("w%d-%05d", writer, n)
		for try := 0; !l.settled(name, l.ask(name, writer+try)); try++ {
			select {
			case <-l.stop:
				return
			case <-pause.C:
			}
		}
	}
}

// patience is how long a client waits for an answer before it asks elsewhere.
const patience = 4 * time.Second

func (l *load) ask(name string, replica int) harness.Answer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s := l.w.turn(replica)
	return s.Ask(ctx, s.Token, "POST", "/api/v1/tokens", contract.NewToken{Name: name, Role: "viewer"},
		contract.HeaderIdempotencyKey, name)
}

// settled notes an answer and says whether the writer goes on to its next write.
func (l *load) settled(name string, a harness.Answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = a
	switch {
	case a.Err != nil:
		l.answers["no answer"]++
		return false
	case a.Status == 201:
		l.answers["201"]++
		l.acked[name] = time.Now()
		return true
	case a.Slug() == "idempotency_outcome_unknown":
		l.answers[a.Slug()]++
		l.unsure[name] = true
		return true
	}
	l.answers[fmt.Sprintf("%d %s", a.Status, a.Slug())]++
	return false
}

// count is how many writes were answered so far.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// flows waits until n more writes were answered.
func (l *load) flows(n int, bound time.Duration) {
	l.w.t.Helper()
	from := l.count()
	within(l.w.t, bound, fmt.Sprintf("%d more writes are answered", n), func() bool { return l.count() >= from+n },
		func() string {
			l.mu.Lock()
			defer l.mu.Unlock()
			return fmt.Sprintf("%v, the last of them %d %s %v", l.answers, l.last.Status, l.last.Body, l.last.Err)
		})
}

// check ends the load and fails the test where an answered write is lost, or any write was carried out twice.
func (l *load) check() {
	l.w.t.Helper()
	l.end()
	found := map[string]int{}
	for page := ""; ; {
		var list contract.Tokens
		l.w.one.Operator("GET", "/api/v1/tokens?limit=500&cursor="+url.QueryEscape(page), nil, 200, &list)
		for _, token := range list.Tokens {
			found[token.Name]++
		}
		if page = list.Next; page == "" {
			break
		}
	}
	for name := range l.acked {
		if found[name] != 1 {
			l.w.t.Errorf("%s was answered and is there %d times", name, found[name])
		}
	}
	for name, times := range found {
		if times > 1 {
			l.w.t.Errorf("%s is there %d times", name, times)
		}
	}
	l.w.whole(l.w.one)
	l.w.t.Logf("%d writes answered, %d of unknown outcome; answers: %v", len(l.acked), len(l.unsure), l.answers)
}

// within waits until something is so; what describes why it is not may be nil.
func within(t *testing.T, bound time.Duration, what string, ok func() bool, why func() string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(bound); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			if why == nil {
				why = func() string { return "" }
			}
			t.Fatalf("after %s it is not so that %s: %s", bound, what, why())
		}
	}
}
