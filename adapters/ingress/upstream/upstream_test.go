package upstream_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/upstream"
)

// A request is written byte for byte as it is: its target is not cleaned, and no line is added to its header but the length
// of its body.
func TestWrittenAsItIs(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	u := open(t, upstream.Options{}, r)
	q := &upstream.Request{
		Method: "POST", Target: "/a/%2F../b?x=%41&&", Host: "Berth:1", Body: []byte("body"),
		Fields: []upstream.Field{{Name: "b", Value: "1"}, {Name: "A", Value: "2"}, {Name: "b", Value: "3"}},
	}
	long := &upstream.Request{Method: "PUT", Target: "/", Host: "h", Body: []byte(strings.Repeat("x", 100_000))}
	for _, q := range []*upstream.Request{q, {Method: "GET", Target: "/", Host: "h"}, {Method: "POST", Target: "/", Host: "h"}, long} {
		if text, err := ask(t, u, q); text != "ok" || err != nil {
			t.Fatalf("answered %q, %v", text, err)
		}
	}
	want := []string{
		"POST /a/%2F../b?x=%41&& HTTP/1.1\r\nHost: Berth:1\r\nb: 1\r\nA: 2\r\nb: 3\r\nContent-Length: 4\r\n\r\nbody",
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + string(long.Body),
	}
	seen, made := r.all()
	if fmt.Sprint(seen) != fmt.Sprint(want) || made != 1 {
		t.Errorf("over %d connections arrived %.600q", made, seen)
	}
}

// Whatever breaks after a request may have arrived, over a new connection or one that was kept, it arrives once; what is no
// answer that can be passed on is told from one that broke off.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	interim := "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
	for what, c := range map[string]struct {
		says string
		fate upstream.Fate
	}{
		"silence":            {"", upstream.Broken},
		"half a head":        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", upstream.Broken},
		"interim, no answer": {interim, upstream.Broken},
		"half a body":        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", upstream.Broken},
		"half a chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok", upstream.Broken},
		"no last chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", upstream.Broken},
		"garbage":            {"hello\r\n\r\n", upstream.Malformed},
		"HTTP/1.0":           {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", upstream.Malformed},
		"status 600":         {"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n", upstream.Malformed},
		"no length":          {"HTTP/1.1 200 OK\r\n\r\nok", upstream.Malformed},
		"two lengths":        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", upstream.Malformed},
		"space in a name":    {"HTTP/1.1 200 OK\r\nA B: c\r\nContent-Length: 0\r\n\r\n", upstream.Malformed},
		"unasked protocol":   {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", upstream.Malformed},
		"interim flood":      {strings.Repeat(interim, 100) + good, upstream.Malformed},
		"too long a head":    {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", contract.MaxHeader) + "\r\nContent-Length: 2\r\n\r\nok", upstream.Malformed},
		"too many lines":     {"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: a\r\n", contract.MaxHeader/6) + "Content-Length: 2\r\n\r\nok", upstream.Malformed},
		"endless interim":    {"HTTP/1.1 103 Early Hints\r\nA: " + strings.Repeat("a", contract.MaxHeader) + "\r\n\r\n" + good, upstream.Malformed},
	} {
		for _, kept := range []bool{false, true} {
			for _, q := range []*upstream.Request{read(), write()} {
				t.Run(fmt.Sprintf("%s, %s, kept %v", what, q.Method, kept), func(t *testing.T) {
					t.Parallel()
					r := newReplica(t)
					u := open(t, upstream.Options{Leave: time.Nanosecond}, r)
					before := 0
					if kept {
						_, err := ask(t, u, read())
						must(t, err)
						before = 1
					}
					r.answers(says(c.says, false))
					text, err := ask(t, u, q)
					wantFate(t, fmt.Sprintf("%q", text), err, c.fate)
					if seen, _ := r.all(); len(seen) != before+1 {
						t.Errorf("%d requests arrived", len(seen))
					}
					r.answers(says(good, true))
					if text, err := ask(t, u, q); text != "ok" || err != nil {
						t.Errorf("then %q, %v", text, err)
					}
				})
			}
		}
	}
}

// A few interim answers are passed over, and a head of nearly the bound is taken.
func TestAnswersWithinTheBounds(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	u := open(t, upstream.Options{}, r)
	for what, text := range map[string]string{
		"interim": strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", 7) + good,
		"long":    "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", contract.MaxHeader-100) + "\r\nContent-Length: 2\r\n\r\nok",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
	} {
		r.answers(says(text, true))
		if text, err := ask(t, u, write()); text != "ok" || err != nil {
			t.Errorf("%s: %q, %v", what, text, err)
		}
	}
	if _, made := r.all(); made != 1 {
		t.Errorf("%d connections were made", made)
	}
}

// What follows an answer that is longer than it said is never read as the next answer.
func TestMoreThanTheLength(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	u := open(t, upstream.Options{}, r)
	r.answers(says(good+"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsplit", true))
	for range 3 {
		if text, err := ask(t, u, write()); text != "ok" || err != nil {
			t.Fatalf("answered %q, %v", text, err)
		}
	}
	if seen, made := r.all(); len(seen) != 3 || made != 3 {
		t.Errorf("%d requests over %d connections", len(seen), made)
	}
}

// A connection that was closed while nobody used it, or on which something was said unasked, costs no request.
func TestConnectionsThatDiedIdle(t *testing.T) {
	t.Parallel()
	const timeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
	for what, then := range map[string]func(net.Conn) bool{
		"closed": says("", false), "told why and closed": says(timeout, false), "told why": says(timeout, true),
	} {
		for _, tcp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TCP %v", what, tcp), func(t *testing.T) {
				t.Parallel()
				r := newReplica(t)
				if tcp {
					r.overTCP()
				}
				u := open(t, upstream.Options{}, r)
				idle := make(chan struct{}, 1)
				r.answers(func(c net.Conn) bool {
					goesOn := says(good, true)(c) && then(c)
					if !goesOn {
						_ = c.Close()
					}
					idle <- struct{}{}
					return goesOn
				})
				for i := range 5 {
					if text, err := ask(t, u, write()); text != "ok" || err != nil {
						t.Fatalf("request %d: %q, %v", i, text, err)
					}
					<-idle
				}
				if seen, made := r.all(); len(seen) != 5 || made != 5 {
					t.Errorf("%d requests over %d connections", len(seen), made)
				}
			})
		}
	}
}

// An answer that does not begin, or does not go on, is late and not broken; who asked may leave at any time, which ends the
// connection.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	const short, long = 20 * time.Millisecond, time.Hour
	r.answers(func(net.Conn) bool { return true })
	_, err := ask(t, open(t, upstream.Options{Timeout: short, Stall: long}, r), write())
	wantFate(t, "no head", err, upstream.Late)
	r.gone()
	r.answers(says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", true))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := open(t, upstream.Options{Timeout: long, Stall: short}, r).Do(ctx, write())
	must(t, err)
	_, err = io.ReadAll(a)
	a.Close()
	wantFate(t, "half a body", err, upstream.Late)
	r.gone()
	asked := make(chan struct{})
	r.answers(func(net.Conn) bool { close(asked); return true })
	why := errors.New("left")
	left, leave := context.WithCancelCause(t.Context())
	go func() { <-asked; leave(why) }()
	patient := open(t, upstream.Options{}, r)
	if a, err := patient.Do(left, write()); !errors.Is(err, why) {
		t.Errorf("who left was answered %v, %v", a, err)
	}
	r.gone()
	if seen, _ := r.all(); len(seen) != 3 {
		t.Errorf("%d requests arrived", len(seen))
	}
}

// Nothing is sent to a server whose key is not the one that is expected.
func TestPins(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, c, c, public, key)
	must(t, err)
	r := newReplica(t)
	r.secure = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	r.down()
	r.up()
	pinned := func(fits bool) *upstream.Upstream {
		return open(t, upstream.Options{Leave: time.Nanosecond, TLS: &tls.Config{
			ServerName: "berth", MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
			VerifyConnection: func(tls.ConnectionState) error {
				if fits {
					return nil
				}
				return errors.New("another key")
			},
		}}, r)
	}
	_, err = ask(t, pinned(false), write())
	wantFate(t, "another key", err, upstream.NotSent)
	if seen, _ := r.all(); len(seen) != 0 {
		t.Errorf("%q was sent to it", seen)
	}
	if text, err := ask(t, pinned(true), write()); text != "ok" || err != nil {
		t.Errorf("the pinned key: %q, %v", text, err)
	}
	if _, err := ask(t, open(t, upstream.Options{}, r), write()); err == nil {
		t.Error("a CA that nobody knows is believed")
	}
}

// A replica that can not be reached, or broke off, is left out; nobody waits for it, and it is tried again where no other one
// is there. Once it answered it has its turns again.
func TestReplicasAreLeftOutAndComeBack(t *testing.T) {
	t.Parallel()
	for what, fail := range map[string]func(r *replica, u *upstream.Upstream){
		"away": func(r *replica, u *upstream.Upstream) {
			r.down()
			for range 2 { // it is its turn in one of them
				if text, err := ask(r.t, u, write()); text != "ok" || err != nil {
					r.t.Fatalf("with one away: %q, %v", text, err)
				}
			}
			r.up()
		},
		"broken": func(r *replica, u *upstream.Upstream) {
			r.answers(says("", false))
			failed := 0
			for range 10 {
				if _, err := ask(r.t, u, write()); err != nil {
					wantFate(r.t, "broken off", err, upstream.Broken)
					failed++
				}
			}
			if failed != 1 {
				r.t.Errorf("%d requests failed by one replica", failed)
			}
			r.answers(says(good, true))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			one, two := newReplica(t), newReplica(t)
			u := open(t, upstream.Options{Leave: time.Hour}, one, two)
			turns := func(n int) int {
				t.Helper()
				before, _ := one.all()
				for range n {
					if text, err := ask(t, u, write()); text != "ok" || err != nil {
						t.Fatalf("answered %q, %v", text, err)
					}
				}
				after, _ := one.all()
				return len(after) - len(before)
			}
			fail(one, u)
			if n := turns(4); n != 0 {
				t.Errorf("one that is left out got %d", n)
			}
			two.down()
			if n := turns(4); n != 4 {
				t.Errorf("the only one that is there got %d of 4", n)
			}
			two.up()
			if n := turns(4); n != 4 { // it answered, and the other one is left out
				t.Errorf("one that came back got %d of 4", n)
			}
			one.down()
			turns(2)
			one.up()
			if n := turns(4); n != 0 {
				t.Errorf("one that is left out got %d", n)
			}
		})
	}
	none := upstream.New(upstream.Options{Endpoints: []upstream.Endpoint{{Network: "unix", Address: t.TempDir() + "/none"}}})
	_, err := none.Do(t.Context(), write())
	wantFate(t, "nobody is there", err, upstream.NotSent)
}

// A connection that switched protocols is handed over with what was read of it, and is no longer bound to its request.
func TestTake(t *testing.T) {
	t.Parallel()
	r := newReplica(t)
	u := open(t, upstream.Options{}, r)
	r.answers(func(c net.Conn) bool {
		says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly", true)(c)
		_, _ = io.Copy(c, c)
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	q := read()
	q.Upgrade = "websocket"
	a, err := u.Do(ctx, q)
	must(t, err)
	c, early, ok := a.Take()
	cancel()
	if !ok {
		t.Fatal("it was not handed over")
	}
	defer c.Close()
	rest := make([]byte, max(0, len("early")-len(early))+4)
	_, err = io.WriteString(c, "echo")
	must(t, err)
	_, err = io.ReadFull(c, rest)
	if text := string(early) + string(rest); err != nil || text != "earlyecho" {
		t.Errorf("it carries %q, %v", text, err)
	}
}
