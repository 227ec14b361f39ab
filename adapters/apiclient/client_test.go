package apiclient_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/identity"
)

const secretToken = "bt_tok_abcdefghijklmnopqrstuvwxyz234567"

func serve(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

func client(tb testing.TB, o apiclient.Options) *apiclient.Client {
	tb.Helper()
	c, err := apiclient.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// A problem comes back as the fault that it was: kind by its status, slug, cure, each part, and Retry-After.
func TestProblemsBecomeFaults(t *testing.T) {
	t.Parallel()
	const body = `{"type":"urn:berth:problem:node_full","title":"x","status":409,"detail":"no room","cure":"make room","later":1,
		"errors":[{"slug":"a","field":"body.a","detail":"b"}]}`
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		answer(http.StatusConflict, contract.ProblemType, body)(w, r)
	})
	_, err := apiclient.NewOperator(client(t, apiclient.Options{Base: base})).Tenant(t.Context(), "demo")
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Conflict || f.Slug != "node_full" || f.Cure != "make room" || f.RetryAfter != 7*time.Second {
		t.Fatalf("got %#v", err)
	}
	if len(f.Errors) != 1 || f.Errors[0].Field != "body.a" || f.Errors[0].Kind != fault.Conflict {
		t.Fatalf("got parts %v", f.Errors)
	}
}

// What is no answer of the contract is a fault of the kind that its status says, and never a success.
func TestStrangeAnswersAreFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		kind fault.Kind
		slug string
	}{
		"a proxy's page":        {answer(502, "text/html", "<html>"), fault.Unavailable, "unexpected_answer"},
		"plain text refusal":    {answer(404, "text/plain", "404 page not found"), fault.NotFound, "unexpected_answer"},
		"status without a kind": {answer(413, contract.ProblemType, `{"type":"urn:berth:problem:body_too_large"}`), fault.Invalid, "body_too_large"},
		"success without JSON":  {answer(200, "text/html", "<html>"), fault.Internal, "unexpected_answer"},
		"success with a twin":   {answer(200, "application/json", `{"id":"a","id":"b"}`), fault.Internal, "unexpected_answer"},
		"problem without type":  {answer(500, contract.ProblemType, `{}`), fault.Internal, "unexpected_answer"},
		"not modified unasked":  {answer(304, "", ""), fault.Internal, "unexpected_answer"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/steal", http.StatusTemporaryRedirect)
		}, fault.Internal, "unexpected_answer"},
		"an answer cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, fault.Unavailable, "server_unreachable"},
		"an answer without end": {func(w http.ResponseWriter, r *http.Request) {
			for chunk := strings.Repeat(" ", 1<<20); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}, fault.Internal, "unexpected_answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := apiclient.NewOperator(client(t, apiclient.Options{Base: serve(t, c.h), Proof: apiclient.Bearer(secretToken)}))
			_, err := o.Tenant(t.Context(), "demo")
			if fault.KindOf(err) != c.kind || fault.SlugOf(err) != c.slug {
				t.Fatalf("got %v", err)
			}
			hidden(t, err)
		})
	}
}

// A server that is away, and one that does not answer in time, are Unavailable; an ended context is told apart.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	slow := apiclient.NewOperator(client(t, apiclient.Options{Base: base, Timeout: 50 * time.Millisecond, Proof: apiclient.Bearer(secretToken)}))
	_, err := slow.Tenant(t.Context(), "demo")
	expectSlug(t, err, "server_unreachable")
	away := apiclient.NewOperator(client(t, apiclient.Options{Base: "http://127.0.0.1:1", Proof: apiclient.Bearer(secretToken)}))
	_, err = away.Tenant(t.Context(), "demo")
	expectSlug(t, err, "server_unreachable")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = slow.Tenant(ended, "demo")
	expectSlug(t, err, "request_ended")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v does not say that the context ended", err)
	}
}

func expectSlug(tb testing.TB, err error, slug string) {
	tb.Helper()
	if fault.KindOf(err) != fault.Unavailable || fault.SlugOf(err) != slug {
		tb.Fatalf("got %v, not %s", err, slug)
	}
	hidden(tb, err)
}

func hidden(tb testing.TB, err error) {
	tb.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), secretToken) {
			tb.Fatal("the error shows the token")
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", apiclient.Bearer(secretToken), apiclient.Bearer(secretToken), apiclient.Bearer(secretToken)); strings.Contains(text, secretToken) {
		tb.Fatal("a printed bearer shows the token")
	}
}

// A token goes over https, or stays on the machine.
func TestBasesAreChecked(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"", "berth.example", "http://berth.example", "http://10.0.0.1:80", "https://", "https://h/path", "https://u:p@h",
		"https://h?q", "ftp://h", "unix:",
	} {
		if _, err := apiclient.New(apiclient.Options{Base: base}); fault.SlugOf(err) != "invalid_url" {
			t.Errorf("%q is taken: %v", base, err)
		}
	}
	for _, base := range []string{"https://berth.example", "https://berth.example:8440/", "http://127.0.0.1:80", "http://[::1]:80", "http://localhost", "unix:/x"} {
		if _, err := apiclient.New(apiclient.Options{Base: base}); err != nil {
			t.Errorf("%q is refused: %v", base, err)
		}
	}
}

// An assertion is about exactly the request that arrives, query, host and body included, also over a Unix socket.
func TestAssertionsFitTheRequest(t *testing.T) {
	t.Parallel()
	secret := identity.IngressSecret{ID: "one", Key: []byte(strings.Repeat("k", 32))}
	secrets, err := identity.NewIngressSecrets([]identity.IngressSecret{secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := identity.RelayID("dev.example", "local", "n1")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 4)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		_, err := identity.OpenAssertion(r.Header.Values(contract.HeaderAssertion), secrets, identity.Arrived{
			Method: r.Method, Target: r.RequestURI, Host: r.Host, BodySHA256: sha256.Sum256(data),
		}, time.Now(), 0)
		refused <- err
		answer(200, "application/json", "{}")(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	sign := apiclient.Assert(func(a identity.Arrived) (string, error) {
		return identity.Seal(secret, identity.Payload{
			SPIFFEID: id, Fingerprint: strings.Repeat("ab", 32), Method: a.Method, Target: a.Target, Host: a.Host,
			BodySHA256: a.BodySHA256, IssuedAt: time.Now(), ExpiresAt: time.Now().Add(10 * time.Second), Nonce: make([]byte, 16),
		})
	})
	n := apiclient.NewNode(client(t, apiclient.Options{Base: "unix:" + path, Proof: sign}), "n1")
	_, first := n.Heartbeat(t.Context(), contract.Heartbeat{Generation: 1, Sequence: 2})
	_, second := n.Delta(t.Context(), "demo", 3, 4)
	for _, err := range []error{first, second, <-refused, <-refused} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Assignments are asked for by the version that is known; 304 is "unchanged", and no error.
func TestAssignmentsAreConditional(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"7"` && r.URL.Query().Get("wait") == "3" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		answer(200, "application/json", `{"version":7,"placements":[{"tenant":"demo","generation":2}]}`)(w, r)
	})
	n := apiclient.NewNode(client(t, apiclient.Options{Base: base}), "n1")
	all, changed, err := n.Assignments(t.Context(), 0, 0)
	if err != nil || !changed || all.Version != 7 || all.Placements[0].Generation != 2 {
		t.Fatalf("got %v %v %v", all, changed, err)
	}
	if _, changed, err = n.Assignments(t.Context(), 7, 3*time.Second); err != nil || changed {
		t.Fatalf("got %v %v", changed, err)
	}
}

// A key makes writes repeatable and is not sent with reads; ids are escaped.
func TestRequestsAsTheyArrive(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 2)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		answer(200, "application/json", "{}")(w, r)
	})
	o := apiclient.NewOperator(client(t, apiclient.Options{Base: base, Proof: apiclient.Bearer(secretToken)}))
	ctx := apiclient.Keyed(t.Context(), "k1")
	if _, err := o.Suspend(ctx, "a/../b"); err != nil {
		t.Fatal(err)
	}
	r := <-seen
	if r.RequestURI != "/api/v1/tenants/a%2F..%2Fb/suspend" || r.Header.Get("Idempotency-Key") != "k1" ||
		r.Header.Get("Authorization") != "Bearer "+secretToken || r.ContentLength != 0 {
		t.Fatalf("got %s %v", r.RequestURI, r.Header)
	}
	if _, err := o.Nodes(ctx, "eu", apiclient.Page{Cursor: "x", Limit: 5}); err != nil {
		t.Fatal(err)
	}
	if r = <-seen; r.RequestURI != "/api/v1/nodes?cursor=x&limit=5&region=eu" || r.Header.Get("Idempotency-Key") != "" {
		t.Fatalf("got %s %v", r.RequestURI, r.Header)
	}
}
