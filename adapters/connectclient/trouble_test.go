package connectclient_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

// An upload of which everything came, and which was not made whole by then, is made again.
func TestUploadThatIsAllThere(t *testing.T) {
	t.Parallel()
	content := []byte("0123456789")
	var got []byte
	f := files(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.Header.Get("Content-Range") == "":
			got, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusCreated)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.Header().Set(contract.UploadOffset, fmt.Sprint(len(content)))
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	if _, err := f.Attach(t.Context(), bytes.NewReader(content)); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%q arrived, %v", got, err)
	}
}

// A HEAD that is refused for a moment says nothing of what a GET is answered then.
func TestUploadAfterAMomentsRefusal(t *testing.T) {
	t.Parallel()
	heads := 0
	f := files(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead && heads == 0:
			heads++
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusCreated)
		default:
			w.Header().Set(contract.UploadOffset, "0")
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	if _, err := f.Attach(t.Context(), strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
}

// A token that runs out in the middle of a transfer ends neither: it goes on with another one. An origin that takes no token at all
// is believed.
func TestTransfersOutliveTheirToken(t *testing.T) {
	t.Parallel()
	puts := 0
	f := files(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet, r.Method == http.MethodPut && puts == 0:
			puts++
			w.Header().Set("Content-Type", contract.ProblemType)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"urn:berth:problem:device_token_expired"}`)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusCreated)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	if _, err := f.Attach(t.Context(), strings.NewReader("x")); err != nil {
		t.Errorf("the upload: %v", err)
	}
	if _, err := f.Fetch(t.Context(), sha256.Sum256(nil), io.Discard); fault.SlugOf(err) != "device_token_expired" {
		t.Errorf("the download: %v", err)
	}
}

// A token goes to its origin alone: neither in plain text, nor to where the origin would send it.
func TestTokensGoToTheirOrigin(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came elsewhere", r.URL)
	}))
	defer elsewhere.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	for _, url := range []string{"wss" + s.URL[len("https"):], "ws" + elsewhere.URL[len("http"):], elsewhere.URL} {
		c, err := connectclient.Connect(t.Context(), connectclient.Options{URL: url + contract.ConnectPath, TLS: trusting(s), Tokens: lasting{}})
		if err == nil {
			c.Abort()
			t.Errorf("%s is an origin", url)
		}
	}
}

// Whoever waits in vain is told what is in the way.
func TestWhoWaitsInVainIsToldWhy(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Close()
	failed := make(chan struct{}, 100)
	c := connectclient.Dial(t.Context(), connectclient.Options{
		URL: "wss" + s.URL[len("https"):] + contract.ConnectPath, Tokens: lasting{},
		Notify: func(connectclient.Event) { failed <- struct{}{} },
	})
	defer c.Close()
	<-failed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.Publish(ctx, "h", "one", []byte(`1`))
	if fault.SlugOf(err) != "request_ended" || !strings.Contains(err.Error(), "the origin does not answer") {
		t.Errorf("%v", err)
	}
}

// A connection that ends because its token counts no more is followed by one with another token; one on which a frame was too slow,
// by another one.
func TestComesBack(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(n int64, l *line) {
		switch l.gets(contract.OpPublish); n {
		case 1:
			l.says(goaway(contract.GoawayExpired, 0))
		case 2:
			l.says(contract.Frame{Op: contract.OpError, Slug: "frame_too_slow"})
		default:
			l.says(contract.Frame{Op: contract.OpAck, ID: "one", Seq: 1})
			l.waits()
		}
	})
	opts := o.options()
	tokens := &refused{}
	opts.Tokens, opts.Pause = tokens, time.Millisecond
	if _, err := o.dial(opts).Publish(t.Context(), "h", "one", []byte(`1`)); err != nil || tokens.dropped.Load() != 1 {
		t.Errorf("%v, %d tokens dropped", err, tokens.dropped.Load())
	}
}
