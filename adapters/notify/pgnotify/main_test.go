package pgnotify

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hasty finds out soon that a connection is gone, and wakes without spreading.
func hasty() Timing {
	return Timing{
		Answer: 2 * time.Second, Silence: 100 * time.Millisecond, RetryLeast: 5 * time.Millisecond,
		RetryMost: 50 * time.Millisecond, WakeOver: time.Millisecond,
	}
}

// replica is a process that waits and publishes.
type replica struct {
	*Relay
	hub *notifytest.Fake
}

func open(tb testing.TB, dsn string, o Options) replica {
	tb.Helper()
	hub := notifytest.NewFake()
	o.Local = hub
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r, err := Open(dsn, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return replica{Relay: r, hub: hub}
}

// ready waits until the replica is connected and has woken everybody for it.
func ready(tb testing.TB, dsn string, o Options) replica {
	tb.Helper()
	r := open(tb, dsn, o)
	r.settles(tb, 1)
	return r
}

func (r replica) settles(tb testing.TB, wakes uint64) {
	tb.Helper()
	eventually(tb, "the replica is connected", func() bool { s := r.Stats(); return s.Connected && s.Wakes >= wakes })
}

func (r replica) subscribes(tb testing.TB, topics ...notify.Topic) notify.Subscription {
	tb.Helper()
	sub, err := r.hub.Subscribe(topics...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(sub.Close)
	return sub
}

// patience bounds the wait for what must come. It does not measure.
const patience = 20 * time.Second

func hinted(tb testing.TB, sub notify.Subscription) {
	tb.Helper()
	select {
	case <-sub.C():
	case <-time.After(patience):
		tb.Fatal("no hint came")
	}
}

func quiet(tb testing.TB, sub notify.Subscription) {
	tb.Helper()
	select {
	case <-sub.C():
		tb.Fatal("a hint came that nobody gave")
	default:
	}
}

func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(until) {
			tb.Fatalf("it never came about that %s", what)
		}
	}
}

// passesTo checks that a hint goes from one replica to the other, and that all hints before it have.
func (r replica) passesTo(tb testing.TB, other replica) {
	tb.Helper()
	marker := other.subscribes(tb, "marker")
	defer marker.Close()
	r.Publish(tb.Context(), "marker")
	hinted(tb, marker)
}

func execute(tb testing.TB, dsn, sql string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	if rows := results[len(results)-1].Rows; len(rows) > 0 {
		return string(rows[0][0])
	}
	return ""
}

// say puts a payload on the channel, as anybody may who can connect.
func say(tb testing.TB, dsn, payload string) {
	tb.Helper()
	execute(tb, dsn, "SELECT pg_notify('"+channel+"', '"+strings.ReplaceAll(payload, "'", "''")+"')")
}

func server(tb testing.TB, dsn string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal("the DSN is no URL")
	}
	return u.Host
}

// through is the DSN with other hosts.
func through(tb testing.TB, dsn string, proxies ...*proxy) string {
	tb.Helper()
	addrs := make([]string, len(proxies))
	for i, p := range proxies {
		addrs[i] = p.addr()
	}
	return strings.Replace(dsn, server(tb, dsn), strings.Join(addrs, ","), 1)
}
