package pgnotify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/e2e/lab"
	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

// terminate ends one connection of every relay on the database, as an administrator does.
func terminate(tb testing.TB, dsn, name string) {
	tb.Helper()
	if n := execute(tb, dsn, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND application_name = 'berth hints, "+name+"'"); n == "0" {
		tb.Fatalf("nothing was %s", name)
	}
}

// A listener whose backend is gone comes back, and everybody who waits at that replica is woken, once, since what was
// sent in the gap is lost. Nobody at another replica is.
func TestListenerTerminated(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	b := ready(t, dsn, Options{Timing: hasty()})
	sub, topicless := b.subscribes(t, "a"), b.subscribes(t)
	terminate(t, dsn, "listening")
	hinted(t, sub)
	b.settles(t, 2)
	a := ready(t, dsn, Options{Timing: hasty()})
	a.passesTo(t, b)
	quiet(t, sub)
	quiet(t, topicless)
	if s := b.Stats(); s.Wakes != 2 || s.Connects != 3 || a.Stats().Wakes != 1 {
		t.Errorf("it counted %+v, and the other %+v", s, a.Stats())
	}
}

// A sender whose backend is gone loses nothing: what waits, or was under way, is sent when it is back.
func TestSenderTerminated(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{Timing: hasty()}), ready(t, dsn, Options{Timing: hasty()})
	for range 5 {
		sub := b.subscribes(t, "a")
		terminate(t, dsn, "sending")
		a.Publish(t.Context(), "a")
		hinted(t, sub)
	}
	if s := b.Stats(); s.Wakes != 1 {
		t.Errorf("it counted %+v", s)
	}
}

// A relay may be opened before its server is there. What is published meanwhile wakes who waits here, and reaches the
// others once it is.
func TestOpenedBeforeTheServer(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	b, network := ready(t, dsn, Options{}), newProxy(t, "")
	a := open(t, through(t, dsn, network), Options{Timing: hasty()})
	here, there := a.subscribes(t, "a"), b.subscribes(t, "a")
	a.Publish(t.Context(), "a")
	hinted(t, here)
	if s := a.Stats(); s.Connected || s.Sending || s.Listening || s.Waiting != 1 || s.Connects != 0 {
		t.Errorf("it counted %+v", s)
	}
	network.to(server(t, dsn))
	hinted(t, there)
	hinted(t, here) // woken with everybody
	a.settles(t, 1)
}

// The server restarts: both replicas come back by themselves, wake everybody, and hints pass again.
func TestServerRestarted(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	network := newProxy(t, server(t, dsn))
	a, b := ready(t, through(t, dsn, network), Options{Timing: hasty()}), ready(t, through(t, dsn, network), Options{Timing: hasty()})
	for wakes := uint64(2); wakes < 5; wakes++ {
		sub := b.subscribes(t, "a")
		network.to("")
		for _, r := range []replica{a, b} {
			eventually(t, "it is found out", func() bool { s := r.Stats(); return !s.Sending && !s.Listening })
		}
		a.Publish(t.Context(), "lost in time")
		network.to(server(t, dsn))
		hinted(t, sub)
		a.settles(t, wakes)
		b.settles(t, wakes)
		a.passesTo(t, b)
		b.passesTo(t, a)
	}
}

// A server that is paused, or a network that swallows what it is given, is found out though no connection breaks; and so
// when it is back.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	network, timing := newProxy(t, server(t, dsn)), hasty()
	timing.Answer, timing.Connect = 200*time.Millisecond, 200*time.Millisecond
	a := ready(t, dsn, Options{Timing: hasty()})
	b := open(t, through(t, dsn, network), Options{Timing: timing})
	b.settles(t, 1)
	wakes := b.Stats().Wakes
	sub := b.subscribes(t, "a")
	network.silent.Store(true)
	eventually(t, "it is found out", func() bool { s := b.Stats(); return !s.Sending && !s.Listening })
	a.Publish(t.Context(), "a")
	b.Publish(t.Context(), "b")
	network.silent.Store(false)
	hinted(t, sub)
	b.settles(t, wakes+1)
	a.passesTo(t, b)
	b.passesTo(t, a)
}

// A standby is passed over, and after a failover the new primary is found: once the old one is a standby, hints pass
// through the other host.
func TestFailover(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	standby, primary := answering(t, "t", nil), server(t, dsn)
	first, second := newProxy(t, standby), newProxy(t, primary)
	both := through(t, dsn, first, second)
	a, b := ready(t, both, Options{Timing: hasty()}), ready(t, both, Options{Timing: hasty()})
	a.passesTo(t, b)
	sub := b.subscribes(t, "a")
	second.to("") // the primary dies; for a while there is none
	eventually(t, "it is found out", func() bool { return !a.Stats().Listening && !b.Stats().Sending })
	first.to(primary)
	second.to(standby)
	hinted(t, sub)
	a.settles(t, 2)
	b.settles(t, 2)
	a.passesTo(t, b)
	b.passesTo(t, a)
}

// A pooler that gives each statement another backend takes LISTEN and brings nothing: the relay does not believe it.
func TestNoEcho(t *testing.T) {
	t.Parallel()
	var log lines
	timing := hasty()
	timing.Answer = 100 * time.Millisecond
	r := open(t, "postgres://u@"+answering(t, "f", nil)+"/db?sslmode=disable", Options{Timing: timing, Log: logTo(&log)})
	eventually(t, "both connections failed", func() bool { return log.count("reason=") == 2 })
	if s := r.Stats(); s.Listening || s.Sending || s.Wakes != 0 || !strings.Contains(log.String(), "connection=listening") {
		t.Errorf("it counted %+v", s)
	}
}

// Attempts to connect are few, however long a server is away or refuses, and however soon it fails again after it took a
// connection; and one who reads the log is told once.
func TestReconnectsAreBounded(t *testing.T) {
	t.Parallel()
	timing := hasty()
	timing.RetryLeast, timing.RetryMost = 50*time.Millisecond, time.Hour
	down, flapping := newProxy(t, ""), newProxy(t, answering(t, "t", nil))
	start := time.Now()
	var log lines
	for _, p := range []*proxy{down, flapping} {
		open(t, "postgres://u@"+p.addr()+"/db?sslmode=disable", Options{Timing: timing, Log: logTo(&log)})
	}
	for _, p := range []*proxy{down, flapping} {
		eventually(t, "it tried again and again", func() bool { return p.accepted.Load() >= 12 })
	}
	// The pauses are at least 25, 50, 100 … ms, on each of two connections.
	most, spent := int64(2), time.Duration(0)
	for wait := 25 * time.Millisecond; spent <= time.Since(start); wait *= 2 {
		spent += wait
		most += 2
	}
	if down.accepted.Load() > most || flapping.accepted.Load() > most {
		t.Errorf("%d and %d attempts in %v", down.accepted.Load(), flapping.accepted.Load(), time.Since(start))
	}
	if n := log.count("reason="); n != 4 {
		t.Errorf("logged %d times for 4 connections", n)
	}
}

// Close is prompt whatever the server does: away, silent on old connections, silent on new ones; and twice.
func TestClose(t *testing.T) {
	t.Parallel()
	long := Timing{Answer: time.Hour, Silence: 50 * time.Millisecond, Connect: time.Hour, RetryLeast: time.Hour, RetryMost: time.Hour}
	for name, stop := range map[string]func(p *proxy){
		"connected":        func(*proxy) {},
		"the server away":  func(p *proxy) { p.to("") },
		"the server hangs": func(p *proxy) { p.silent.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := lab.Postgres(t)
			network := newProxy(t, server(t, dsn))
			r := ready(t, through(t, dsn, network), Options{Timing: long})
			stop(network)
			r.Publish(t.Context(), "a")
			closes(t, r)
			sub := r.subscribes(t, "a")
			r.Publish(t.Context(), "a")
			hinted(t, sub)
			if s := r.Stats(); s.Connected || s.Sending || s.Listening {
				t.Errorf("after Close: %+v", s)
			}
		})
	}
	t.Run("the server never answered", func(t *testing.T) {
		t.Parallel()
		network := newProxy(t, newProxy(t, "").addr())
		network.silent.Store(true)
		r := open(t, "postgres://u:p@"+network.addr()+"/db", Options{Timing: long})
		eventually(t, "it connects", func() bool { return network.accepted.Load() > 0 })
		closes(t, r)
	})
	t.Run("while it wakes", func(t *testing.T) {
		t.Parallel()
		hub := notifytest.NewFake()
		r, err := Open(lab.Postgres(t), Options{Local: slow{hub}, Timing: hasty()})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is connected", func() bool { return r.Stats().Connected })
		closes(t, replica{Relay: r})
	})
}

// What is published within the gap after a sending goes together; and Close sends it without waiting for the gap's end.
func TestGap(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{Timing: Timing{Gap: time.Hour}}), ready(t, dsn, Options{})
	first, last := b.subscribes(t, "a"), b.subscribes(t, "tenant/99")
	a.Publish(t.Context(), "a")
	hinted(t, first)
	for i := range 100 {
		a.Publish(t.Context(), notify.Topic(fmt.Sprint("tenant/", i)))
	}
	ready(t, dsn, Options{}).passesTo(t, b) // which takes longer than a sending
	quiet(t, last)
	a.Close()
	hinted(t, last)
	if s := a.Stats(); s.Notifies != 3 { // the first was the probe
		t.Errorf("it took %d statements", s.Notifies)
	}
}

func closes(tb testing.TB, r replica) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Close()
		r.Close()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second): // the driver by itself would wait for 15
		tb.Fatal("Close waits for a server")
	}
}

// A role whose sessions may not idle for long still listens: a listener is silent by nature.
func TestListensWhereSessionsMayNotIdle(t *testing.T) {
	t.Parallel()
	timing := hasty()
	timing.Silence = 300 * time.Millisecond
	dsn := lab.Postgres(t)
	r := ready(t, dsn+"&idle_session_timeout=100", Options{Timing: timing})
	eventually(t, "it asked for several echoes", func() bool { return r.Stats().Notifies >= 4 })
	if s := r.Stats(); s.Connects != 2 || !s.Connected {
		t.Errorf("it connected %d times", s.Connects)
	}
}

// What a DSN tells the driver of the store about its statements does not keep hints from passing.
func TestDSNWithParametersOfTheDriver(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	for _, more := range []string{"default_query_exec_mode=exec", "statement_cache_capacity=0", "description_cache_capacity=9"} {
		ready(t, dsn+"&"+more, Options{Timing: hasty()})
	}
}
