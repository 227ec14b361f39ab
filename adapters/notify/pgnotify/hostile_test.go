package pgnotify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/e2e/lab"
	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

func logTo(l *lines) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// slow is a hub whose wakes end only with the context.
type slow struct{ *notifytest.Fake }

func (s slow) WakeAll(ctx context.Context, _ time.Duration) { <-ctx.Done() }

// Whatever others say on the channel is counted and ignored, and hints go on.
func TestForeignPayloads(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{}), ready(t, dsn, Options{})
	sub := b.subscribes(t, "a", "")
	good := newPayload(someone, 1, topicsChanged).text
	foreign := []string{"", "garbage", strings.Repeat("x", payloadMax), good, good + strings.Repeat(",a", (payloadMax-headLen)/2), good + ",%",
		"b9" + good[2:] + ",a", `{"topic":"a"}`}
	for _, payload := range foreign {
		say(t, dsn, payload)
	}
	a.passesTo(t, b)
	quiet(t, sub)
	if s := b.Stats(); s.Foreign != uint64(len(foreign)) || s.Wakes != 1 || s.Received != 1 {
		t.Errorf("it counted %+v", s)
	}
	say(t, dsn, good+",a") // of the right form it is a hint, without cause, which is harmless
	hinted(t, sub)
}

// Somebody who goes on telling everybody to look again makes them look at most once in the time over which they are
// woken, and the replica still hears.
func TestFloodOfWakes(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{}), ready(t, dsn, Options{Timing: Timing{WakeOver: time.Hour}})
	execute(t, dsn, fmt.Sprintf("SELECT count(pg_notify('%s', '%s' || lpad(to_hex(n), 16, '0') || ':a')) FROM generate_series(1, 5000) AS n",
		channel, newPayload(someone, 1, allChanged).text[:len(version)+idDigits+1]))
	a.passesTo(t, b)
	if s := b.Stats(); s.Foreign != 0 || b.hub.Woken() != 1 {
		t.Errorf("woken %d times, counted %+v", b.hub.Woken(), s)
	}
}

// A burst of 100,000 changes while the server hangs holds nobody up and fills no memory; when it is back, whoever waits
// for any of them elsewhere is woken.
func TestBurstWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	network, timing := newProxy(t, server(t, dsn)), hasty()
	timing.Answer, timing.Connect = 500*time.Millisecond, 500*time.Millisecond
	a, b := ready(t, through(t, dsn, network), Options{Timing: timing}), ready(t, dsn, Options{Timing: hasty()})
	sub := b.subscribes(t, "tenant/77777")
	network.silent.Store(true)
	burst(t, a, 100_000)
	s := a.Stats()
	if s.Waiting > 10_000 || s.Overruns == 0 {
		t.Errorf("it counted %+v", s)
	}
	network.silent.Store(false)
	hinted(t, sub)
	a.settles(t, 1)
	a.passesTo(t, b)
}

// With a server that answers, a burst costs it few statements: what is published while one is under way goes together.
func TestBurstIsSentTogether(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{}), ready(t, dsn, Options{})
	subs := make([]notify.Subscription, 2000)
	for i := range subs {
		subs[i] = b.subscribes(t, notify.Topic(fmt.Sprint("tenant/", 50*i)))
	}
	burst(t, a, 100_000)
	for _, sub := range subs {
		hinted(t, sub)
	}
	if s := a.Stats(); s.Notifies > 10_000 {
		t.Errorf("it counted %+v", s)
	}
}

func burst(tb testing.TB, r replica, n int) {
	tb.Helper()
	const publishers = 8
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			for i := p; i < n; i += publishers {
				r.Publish(tb.Context(), notify.Topic(fmt.Sprint("tenant/", i)))
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		tb.Fatal("publishing waits")
	}
}
