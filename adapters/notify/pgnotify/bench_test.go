package pgnotify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"berth/e2e/lab"
	"berth/ports/notify"
)

// From Publish on one replica to the wake on the other: now and then, and one after another, where each falls into the
// gap after the one before; alone, and while another replica publishes 1,000 topics a second.
func BenchmarkWakeAcross(b *testing.B) {
	for _, c := range []struct {
		name        string
		rest, other time.Duration
	}{
		{"now and then", 3 * time.Millisecond, 0}, {"one after another", 0, 0},
		{"now and then beside 1000 a second", 3 * time.Millisecond, time.Millisecond},
	} {
		b.Run(c.name, func(b *testing.B) {
			dsn := lab.Postgres(b)
			from, to, busy := ready(b, dsn, Options{}), ready(b, dsn, Options{}), ready(b, dsn, Options{})
			defer background(busy, c.other)()
			sub := to.subscribes(b, "tenant/acme")
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				from.Publish(b.Context(), "tenant/acme", "node/alpha")
				<-sub.C()
				took = append(took, time.Since(start))
				if c.rest > 0 {
					pause(b.Context(), c.rest)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// background publishes a topic each time, until it is stopped.
func background(r replica, each time.Duration) (stop func()) {
	if each == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; pause(ctx, each); i++ {
			r.Publish(ctx, notify.Topic("tenant/"+strconv.Itoa(i%5000)))
		}
	})
	return func() { cancel(); done.Wait() }
}

// What publishing as fast as possible costs the publisher, and how many statements it costs the server. Two topics each,
// as a revoke publishes.
func BenchmarkPublishUnderLoad(b *testing.B) {
	topics := make([]notify.Topic, 5000)
	for i := range topics {
		topics[i] = notify.Topic("tenant/" + strconv.Itoa(i))
	}
	dsn := lab.Postgres(b)
	a := ready(b, dsn, Options{})
	ready(b, dsn, Options{})
	before, start := a.Stats(), time.Now()
	var n atomic.Int64
	b.ResetTimer()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			a.queue.put(topics[i%5000], topics[i%200]) // the fake hub, which remembers all, would be what is measured
		}
	})
	eventually(b, "all is sent", func() bool { return a.Stats().Waiting == 0 })
	after, took := a.Stats(), time.Since(start).Seconds()
	b.ReportMetric(float64(n.Load())/took, "publishes/s")
	b.ReportMetric(float64(after.Notifies-before.Notifies)/took, "NOTIFYs/s")
	b.ReportMetric(float64(after.Sent-before.Sent)/took, "topics/s")
}

// What hints cost the commits that they are about, of eight writers who each have a table of their own: with none; with
// the relay's; with NOTIFY in the transaction, which makes the commits wait for one another.
func BenchmarkCommits(b *testing.B) {
	for _, c := range []struct {
		name, sql string
		relay     bool
	}{
		{name: "no hints", sql: "UPDATE w%d SET n = n + 1"},
		{name: "relay", sql: "UPDATE w%d SET n = n + 1", relay: true},
		{name: "NOTIFY within", sql: "UPDATE w%[1]d SET n = n + 1; SELECT pg_notify('" + channel + "', 'tenant/%[1]d')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			dsn := lab.Postgres(b)
			a := ready(b, dsn, Options{})
			ready(b, dsn, Options{})
			before := a.Stats().Notifies
			var left atomic.Int64
			left.Store(int64(b.N))
			var writers sync.WaitGroup
			start := make(chan struct{})
			for w := range 8 {
				conn := writer(b, dsn, w)
				sql := fmt.Sprintf(c.sql, w)
				writers.Go(func() {
					<-start
					for left.Add(-1) >= 0 {
						if _, err := conn.Exec(b.Context(), sql).ReadAll(); err != nil {
							b.Error(err)
							return
						}
						if c.relay {
							a.Publish(b.Context(), notify.Topic("tenant/"+strconv.Itoa(w)))
						}
					}
				})
			}
			b.ResetTimer()
			close(start)
			writers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64(a.Stats().Notifies-before)/b.Elapsed().Seconds(), "relay-NOTIFYs/s")
		})
	}
}

func writer(b *testing.B, dsn string, w int) *pgconn.PgConn {
	b.Helper()
	execute(b, dsn, fmt.Sprintf("CREATE TABLE w%[1]d (n BIGINT NOT NULL) WITH (fillfactor = 10); INSERT INTO w%[1]d VALUES (0)", w))
	conn, err := pgconn.Connect(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
