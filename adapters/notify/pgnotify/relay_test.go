package pgnotify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"berth/domain/fault"
	"berth/e2e/lab"
	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

// Hints keep the laws of the port from one replica to another.
func TestConformanceAcross(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(tb testing.TB) notifytest.Subject {
		d := lab.Postgres(tb)
		a, b := ready(tb, d, Options{}), ready(tb, d, Options{})
		b.hub.Admit(notifytest.Room)
		return notifytest.Subject{Publisher: a, Subscriber: b.hub}
	})
}

// They keep them within one replica as well, whether or not it has a server.
func TestConformanceWithin(t *testing.T) {
	t.Parallel()
	t.Run("connected", func(t *testing.T) {
		t.Parallel()
		notifytest.Run(t, func(tb testing.TB) notifytest.Subject { return within(ready(tb, lab.Postgres(tb), Options{})) })
	})
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		notifytest.Run(t, func(tb testing.TB) notifytest.Subject {
			return within(open(tb, "postgres://u@"+newProxy(tb, "").addr()+"/db", Options{}))
		})
	})
}

func within(r replica) notifytest.Subject {
	r.hub.Admit(notifytest.Room)
	return notifytest.Subject{Publisher: r, Subscriber: r.hub}
}

// A topic is any string; one that is too long to send still wakes who waits here, and is counted.
func TestAnyTopicReachesTheOther(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{}), ready(t, dsn, Options{})
	for _, topic := range []notify.Topic{"", ",", "a,b", "%2C", "nul\x00", "broken \xff\xc3", "ß丈😀", `'"\;--`, "\n"} {
		sub, other := b.subscribes(t, topic), b.subscribes(t, topic+"x")
		a.Publish(t.Context(), topic)
		hinted(t, sub)
		quiet(t, other)
	}
	long := notify.Topic(strings.Repeat("x", topicMax+1))
	here, there := a.subscribes(t, long), b.subscribes(t, long)
	a.Publish(t.Context(), long)
	hinted(t, here)
	a.passesTo(t, b)
	quiet(t, there)
	if s := a.Stats(); s.TooLong != 1 || s.Overruns != 0 {
		t.Errorf("counted %+v", s)
	}
}

// A change stands whether or not its caller still listens, and so does its hint.
func TestPublishWithAnEndedContext(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn, Options{}), ready(t, dsn, Options{})
	sub := b.subscribes(t, "a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a.Publish(ended, "a")
	hinted(t, sub)
}

// What a replica sent itself wakes nobody there a second time.
func TestOwnHintsComeBackToNobody(t *testing.T) {
	t.Parallel()
	a := ready(t, lab.Postgres(t), Options{})
	sub, before := a.subscribes(t, "a"), a.Stats().Lag
	a.Publish(t.Context(), "a")
	hinted(t, sub)
	eventually(t, "its echo came back", func() bool { return a.Stats().Lag != before })
	quiet(t, sub)
	if s := a.Stats(); s.Received != 0 || s.Lag <= 0 {
		t.Errorf("counted %+v", s)
	}
}

// Two databases of one server do not hear one another.
func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	one, two := lab.Postgres(t), lab.Postgres(t)
	a, b := ready(t, one, Options{}), ready(t, one, Options{})
	stranger, other := ready(t, two, Options{}), ready(t, two, Options{})
	sub := stranger.subscribes(t, "a")
	a.Publish(t.Context(), "a")
	a.passesTo(t, b)
	other.passesTo(t, stranger)
	quiet(t, sub)
	if s := stranger.Stats(); s.Received != 1 || s.Foreign != 0 {
		t.Errorf("it heard %+v", s)
	}
}

// Installations in two schemas of one database share the channel: they wake one another without cause, and no worse.
func TestSchemasShareTheChannel(t *testing.T) {
	t.Parallel()
	dsn := lab.Postgres(t)
	a, b := ready(t, dsn+"&search_path=one", Options{}), ready(t, dsn+"&search_path=two", Options{})
	sub := b.subscribes(t, "a")
	a.Publish(t.Context(), "a")
	hinted(t, sub)
	if s := b.Stats(); s.Received != 1 || s.Foreign != 0 || s.Wakes != 1 {
		t.Errorf("it counted %+v", s)
	}
}

// A DSN that can not be read is refused before anything is dialed, and the refusal holds none of it.
func TestMalformedDSN(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:s3cr3t%zz@h/db", "postgres://u:s3cr3t@h:port/db", "host=h password='s3cr3t", "postgres://u:a@s3cr3t@h/db",
		"postgres://u:s3cr3t@h/db?sslmode=bogus", "postgres://u:s3cr3t@h,a@b/db", "s3cr3t",
		"postgres://u:s3cr3t@h/db?connect_timeout=soon",
	} {
		r, err := Open(dsn, Options{Local: notifytest.NewFake()})
		if err == nil {
			r.Close()
			t.Errorf("%s was taken", dsn)
			continue
		}
		if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "dsn_malformed" || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "s3cr3t") {
			t.Errorf("%s was refused with %+v", dsn, err)
		}
	}
}

// Whatever is wrong with a server, the log says what, says it once, and holds nothing of the DSN.
func TestReasonsHoldNoSecret(t *testing.T) {
	t.Parallel()
	refusing := func(code string) string {
		return answering(t, "", &pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "no way in with s3cr3t"})
	}
	for reason, dsn := range map[string]string{
		"refused the user or the password": "postgres://u:s3cr3t@" + refusing("28P01") + "/db",
		"no such database":                 "postgres://u:s3cr3t@" + refusing("3D000") + "/s3cr3t",
		"no connection left":               "postgres://u:s3cr3t@" + refusing("53300") + "/db",
		"SQLSTATE 42501":                   "postgres://u:s3cr3t@" + refusing("42501") + "/db",
		"a standby":                        "postgres://u:s3cr3t@" + answering(t, "t", nil) + "/db",
		"the connection failed":            "postgres://u:s3cr3t@" + answering(t, "f", nil) + "/db?sslmode=require", // has no TLS
		"host name was not found":          "postgres://s3cr3t.invalid:/s3cr3t@h/db",
		"connection refused":               "postgres://u:s3cr3t@127.0.0.1:1/db",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			var log lines
			r := open(t, dsn, Options{Timing: hasty(), Log: slog.New(slog.NewTextHandler(&log, nil))})
			eventually(t, "both connections failed", func() bool { return log.count("reason=") == 2 })
			r.Close()
			if text := log.String(); strings.Count(text, reason) != 2 || strings.Contains(text, "s3cr3t") || log.count("reason=") != 2 {
				t.Errorf("logged %s", text)
			}
		})
	}
}

// The password is asked for anew for each connection, so that one that was rotated needs no restart; and why it can not
// be had is said without what may be in the error.
func TestPasswordIsAskedForEachTime(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var broken atomic.Bool
	var log lines
	dsn := lab.Postgres(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	right, _ := u.User.Password()
	u.User = url.UserPassword(u.User.Username(), "wrong")
	r := ready(t, u.String(), Options{Timing: hasty(), Log: logTo(&log), Password: func() (string, error) {
		asked.Add(1)
		if broken.Load() {
			return "", errors.New("s3cr3t")
		}
		return right, nil
	}})
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times for two connections", n)
	}
	broken.Store(true)
	terminate(t, dsn, "sending")
	eventually(t, "it is asked again", func() bool { return asked.Load() >= 4 })
	broken.Store(false)
	r.settles(t, 1)
	r.Close()
	if text := log.String(); strings.Contains(text, "s3cr3t") {
		t.Errorf("logged %s", text)
	}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) count(s string) int { return strings.Count(l.String(), s) }

// Each connection has the settings that keep the server from waiting, and asks for none of them in its first message,
// where a pooler refuses what it does not know.
func TestSettingsOfAConnection(t *testing.T) {
	t.Parallel()
	r := ready(t, lab.Postgres(t), Options{Timing: hasty()})
	for name, value := range r.config.RuntimeParams {
		if name != "application_name" {
			t.Errorf("the first message asks for %s = %s", name, value)
		}
	}
	l, err := r.dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for name, want := range map[string]string{
		"synchronous_commit": "off", "statement_timeout": "2s", "lock_timeout": "2s", "tcp_user_timeout": "30000",
	} {
		results, err := l.Exec(t.Context(), "SHOW "+name).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(results[0].Rows[0][0]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
