package pgstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/store/pgstore"
	"berth/domain/fault"
	"berth/ports/store"
)

const secret = "hunter2secret"

// hides fails where an error tells of the password, however it is printed.
func hides(tb testing.TB, err error) {
	tb.Helper()
	f, _ := fault.As(err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, format := range []string{"%v", "%+v", "%#v"} {
			if text := fmt.Sprintf(format, e); strings.Contains(text, "hunter2") || strings.Contains(text, "secret") {
				tb.Errorf("the password is in %s", text)
			}
		}
	}
	if f != nil && strings.Contains(f.Cure, "hunter2") {
		tb.Errorf("the password is in %s", f.Cure)
	}
}

// What can not be read as an address is refused at once, and no part of it is repeated.
func TestMalformedAddress(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:" + secret + "@host:port/db", "postgres://u:hunter2/" + secret + "@host/db", "postgres://u:12/" + secret + "@host/db",
		"postgres://u:12?" + secret + "@host/db", "postgres://u:12#" + secret + "@host/db", "postgres://u:%zz" + secret + "@host/db",
		"host=h password=" + secret + " hunter2", "password='" + secret, "host=h port=" + secret, "mysql://u:" + secret + "@host/db",
		"postgres://u:" + secret + "@host/db?sslmode=" + secret, "postgres://u:" + secret + "@host/db?sslmode=verify-full&sslrootcert=/" + secret,
	} {
		s, err := pgstore.Open(t.Context(), dsn, pgstore.Options{})
		if err == nil {
			_ = s.Close()
		}
		refused(t, dsn, err, fault.Invalid, "database_url_malformed")
		hides(t, err)
	}
}

// An address may be written as a URL or in keywords.
func TestKeywords(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	dsn := fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable",
		u.Hostname(), u.Port(), u.User.Username(), password, strings.TrimPrefix(u.Path, "/"))
	s := open(t, dsn)
	if err := errors.Join(put(s, "eu"), s.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// A login that the server refuses, a database that is not there and a host that does not answer are told apart, and
// none tells the password.
func TestAddressThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*url.URL)) string {
		c := *u
		change(&c)
		return c.String()
	}
	for name, c := range map[string]struct{ dsn, slug string }{
		"wrong password": {changed(func(c *url.URL) { c.User = url.UserPassword(u.User.Username(), secret) }), "database_login_refused"},
		"wrong user":     {changed(func(c *url.URL) { c.User = url.UserPassword("nobody", secret) }), "database_login_refused"},
		"no database":    {changed(func(c *url.URL) { c.Path = "/nowhere" }), "database_missing"},
		"no server": {changed(func(c *url.URL) {
			c.User, c.Host = url.UserPassword("u", secret), "127.0.0.1:1"
		}), "store_unavailable"},
		"no host": {changed(func(c *url.URL) {
			c.User, c.Host = url.UserPassword("u", secret), "nowhere.invalid:5432"
		}), "store_unavailable"},
		"no answer": {changed(func(c *url.URL) {
			c.User, c.Host = url.UserPassword("u", secret), silent(t)
		}), "store_unavailable"},
	} {
		s := bare(t, c.dsn, pgstore.Options{ConnectTimeout: 300 * time.Millisecond, LockTimeout: 5 * time.Second})
		for what, err := range everything(s) {
			away(t, name+": "+what, err, c.slug)
			hides(t, err)
		}
		hides(t, upgrade(t.Context(), s))
		if strings.Contains(fmt.Sprintf("%+v %#v", s, s), secret) {
			t.Errorf("%s: the password is printed with the store", name)
		}
	}
}

// While the password can not be read the database is away, whatever kind of fault that is to who reads it, and a caller
// is not told of the file.
func TestPasswordThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	right, _ := u.User.Password()
	u.User = url.User(u.User.Username())
	var there atomic.Bool
	s := bare(t, u.String(), pgstore.Options{Password: func() (string, error) {
		if !there.Load() {
			return "", fault.New(fault.Invalid, "file_unreadable", "/etc/berth/password: %s", secret)
		}
		return right, nil
	}})
	for what, err := range everything(s) {
		away(t, what, err, "database_password_unreadable")
		if f, _ := fault.As(err); strings.Contains(f.Detail+f.Cure, secret) {
			t.Errorf("%s tells of the file: %v", what, err)
		}
	}
	there.Store(true)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A server whose certificate is not trusted is told from one that is away: nothing else says what to do about it.
func TestCertificateThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := bare(t, "postgres://berth:"+secret+"@"+untrusted(t)+"/berth?sslmode=verify-full", pgstore.Options{})
	err := s.Ping(t.Context())
	away(t, "a ping", err, "store_unavailable")
	hides(t, err)
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("it is not said that the certificate is the reason: %v", err)
	}
}

// untrusted is the address of a server that takes connections over TLS, with a certificate that nobody vouches for.
func untrusted(tb testing.TB) string {
	tb.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	tb.Cleanup(web.Close)
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 8)
			if _, err := io.ReadFull(conn, request); err == nil {
				_, _ = conn.Write([]byte("S")) // go on with TLS; whatever becomes of it is the client's to tell
				_ = tls.Server(conn, web.TLS).HandshakeContext(context.Background())
			}
			_ = conn.Close()
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// silent is the address of a server that accepts and says nothing.
func silent(tb testing.TB) string {
	tb.Helper()
	p, dsn := between(tb, "postgres://127.0.0.1:1/")
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	p.hold()
	return u.Host
}

// Of several hosts the one that answers is found, whatever its place.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(database(t))
	if err != nil {
		t.Fatal(err)
	}
	good := u.Host
	for _, hosts := range []string{"127.0.0.1:1," + good, good + ",127.0.0.1:1"} {
		u.Host = hosts
		s := open(t, u.String())
		var _ store.Store = s
		if err := s.Ping(t.Context()); err != nil {
			t.Fatalf("%s: %v", hosts, err)
		}
	}
}
