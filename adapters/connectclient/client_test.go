package connectclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

func goaway(reason string, retry int64) contract.Frame {
	return contract.Frame{Op: contract.OpGoaway, Reason: reason, RetryAfterMS: retry}
}

// A publish whose connection breaks before the acknowledgement is sent again by the same id, until it is acknowledged.
func TestPublishesUntilAcknowledged(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(n int64, l *line) {
		f := l.gets(contract.OpPublish)
		if f.ID != "one" || f.Handle != "h" || string(f.Body) != `{"a":1}` {
			t.Errorf("connection %d: %+v", n, f)
		}
		if n < 3 {
			return
		}
		l.says(contract.Frame{Op: contract.OpAck, ID: "one", Seq: 7})
		l.waits()
	})
	seq, err := o.dial(o.options()).Publish(t.Context(), "h", "one", []byte(`{"a":1}`))
	if seq != 7 || err != nil || o.came.Load() != 3 {
		t.Errorf("%d, %v, over %d connections", seq, err, o.came.Load())
	}
}

// A subscription goes on after the last message that was seen, each is delivered once, and the origin's word on when to come
// back is kept.
func TestSubscribesAgain(t *testing.T) {
	t.Parallel()
	const retry = 300
	var left atomic.Int64
	o := newOrigin(t, func(n int64, l *line) {
		f := l.gets(contract.OpSubscribe)
		if want := []int64{4, 6}[n-1]; f.After == nil || *f.After != want {
			t.Errorf("connection %d subscribes after %v, want %d", n, f.After, want)
		}
		l.says(contract.Frame{Op: contract.OpSubscribed, Route: "main", Seq: 6})
		if n == 1 {
			l.says(message(5))
			l.says(message(6))
			left.Store(time.Now().UnixMilli())
			l.says(goaway(contract.GoawayShutdown, retry))
			return
		}
		if waited := time.Now().UnixMilli() - left.Load(); waited < retry {
			t.Errorf("it came back after %d ms", waited)
		}
		l.says(message(6))
		l.says(message(7))
		l.waits()
	})
	got := make(chan int64, 8)
	c := o.dial(o.options())
	route, head, err := c.Subscribe(t.Context(), "h", 4, func(m connectclient.Message) { got <- m.Seq })
	if route != "main" || head != 6 || err != nil {
		t.Fatalf("%q %d %v", route, head, err)
	}
	if seqs := []int64{<-got, <-got, <-got}; !slices.Equal(seqs, []int64{5, 6, 7}) {
		t.Errorf("it was delivered %v", seqs)
	}
	if _, _, err := c.Subscribe(t.Context(), "h", 0, nil); fault.SlugOf(err) != "subscribed_already" {
		t.Errorf("a second subscription: %v", err)
	}
}

// A device that is revoked does not come back, and everything that waits is told.
func TestRevokedForGood(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(_ int64, l *line) {
		l.gets(contract.OpPublish)
		l.says(goaway(contract.GoawayRevoked, 0))
	})
	c := o.dial(o.options())
	_, err := c.Publish(t.Context(), "h", "one", []byte(`1`))
	<-c.Done()
	if g, ok := errors.AsType[*connectclient.Goaway](err); !ok || g.Reason != contract.GoawayRevoked || !errors.Is(c.Err(), err) || o.came.Load() != 1 {
		t.Errorf("%v, %v, over %d connections", err, c.Err(), o.came.Load())
	}
}

// What is refused is told to who asked, by the origin's slug; the others go on.
func TestRefusals(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(_ int64, l *line) {
		l.says(contract.Frame{Op: contract.OpError, Of: contract.OpPublish, ID: l.gets(contract.OpPublish).ID, Slug: "publish_id_reused", Detail: "x"})
		l.gets(contract.OpSubscribe)
		l.says(contract.Frame{Op: contract.OpError, Of: contract.OpSubscribe, Slug: "after_beyond_end", Detail: "x"})
		l.gets(contract.OpRevoke)
		l.says(contract.Frame{Op: contract.OpRevoked, Principal: "p", Revision: 9})
		l.waits()
	})
	c := o.dial(o.options())
	if _, err := c.Publish(t.Context(), "h", "one", []byte(`1`)); fault.SlugOf(err) != "publish_id_reused" || fault.KindOf(err) != fault.Conflict {
		t.Errorf("publish: %v", err)
	}
	if _, _, err := c.Subscribe(t.Context(), "h", 9, nil); fault.SlugOf(err) != "after_beyond_end" {
		t.Errorf("subscribe: %v", err)
	}
	if revision, err := c.Revoke(t.Context(), "p"); revision != 9 || err != nil {
		t.Errorf("revoke: %d, %v", revision, err)
	}
	if err := c.Close(); err != nil || fault.SlugOf(c.Err()) != "client_closed" {
		t.Errorf("closed: %v, %v", err, c.Err())
	}
	if _, err := c.Publish(t.Context(), "h", "two", nil); fault.SlugOf(err) != "client_closed" {
		t.Errorf("after it was closed: %v", err)
	}
}

// A publish that is refused for now is sent again when it may be; whoever waits for it is told when it is durable.
func TestPublishesWhenItMay(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(_ int64, l *line) {
		for range 2 {
			f := l.gets(contract.OpPublish)
			l.says(contract.Frame{Op: contract.OpError, Of: f.Op, ID: f.ID, Slug: "rate_limited", Detail: "x", RetryAfterMS: 1})
		}
		l.says(contract.Frame{Op: contract.OpAck, ID: l.gets(contract.OpPublish).ID, Seq: 3})
		l.waits()
	})
	if seq, err := o.dial(o.options()).Publish(t.Context(), "h", "one", []byte(`1`)); seq != 3 || err != nil || o.came.Load() != 1 {
		t.Errorf("%d, %v, over %d connections", seq, err, o.came.Load())
	}
}

// ageing gives tokens of two seconds, and counts them.
type ageing struct{ given atomic.Int64 }

func (a *ageing) Token(context.Context) (contract.AccessToken, error) {
	a.given.Add(1)
	return contract.AccessToken{AccessToken: "t", ExpiresAt: time.Now().Add(2 * time.Second)}, nil
}
func (a *ageing) Forget(string) {}

// A connection's token is renewed before it runs out, and the connection stays.
func TestRenewsItsToken(t *testing.T) {
	t.Parallel()
	renewed := make(chan struct{})
	o := newOrigin(t, func(_ int64, l *line) {
		l.gets(contract.OpRenew)
		l.says(contract.Frame{Op: contract.OpRenewed})
		close(renewed)
		l.waits()
	})
	opts := o.options()
	tokens := &ageing{}
	opts.Tokens = tokens
	o.dial(opts)
	<-renewed
	if tokens.given.Load() != 2 || o.came.Load() != 1 {
		t.Errorf("%d tokens for %d connections", tokens.given.Load(), o.came.Load())
	}
}

// refused counts the tokens that were dropped.
type refused struct {
	lasting
	dropped atomic.Int64
}

func (r *refused) Forget(string) { r.dropped.Add(1) }

// An origin that refuses every fresh token is believed in the end; one that has no room for now is asked again, and one that
// forbids is not.
func TestOriginRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slug    string
		status  int
		came    int64
		dropped int64
	}{{"device_token_audience", http.StatusUnauthorized, 6, 6}, {"principal_revoked", http.StatusForbidden, 1, 0}} {
		var came atomic.Int64
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if came.Add(1) == 1 && c.came > 1 {
				w.Header().Set("Retry-After", "9")
			}
			w.Header().Set("Content-Type", contract.ProblemType)
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"type":"urn:berth:problem:` + c.slug + `","detail":"no"}`))
		}))
		tokens := &refused{}
		client := connectclient.Dial(t.Context(), connectclient.Options{
			Pause: 50 * time.Millisecond,
			URL:   "wss" + s.URL[len("https"):] + "/connect/v1", TLS: trusting(s), Tokens: tokens,
		})
		<-client.Done()
		if fault.SlugOf(client.Err()) != c.slug || came.Load() != c.came || tokens.dropped.Load() != c.dropped {
			t.Errorf("%s: %v after %d attempts, %d tokens dropped", c.slug, client.Err(), came.Load(), tokens.dropped.Load())
		}
		s.Close()
	}
}
