package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/domain/fault"
)

type counted struct{ slugs []string }

func (c *counted) Answered(_, _ string, _ int, slug string, _ float64) {
	c.slugs = append(c.slugs, slug)
}

type thingIn struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"8"`
		Count int64  `json:"count" minimum:"0" maximum:"9007199254740991"`
	}
}

type thingOut struct {
	Body struct {
		Name  string   `json:"name"`
		Items []string `json:"items"`
	}
}

// serve makes an API of one operation that answers as handle says.
func serve(t *testing.T, handle func(context.Context, *thingIn) (*thingOut, error)) (http.Handler, *counted) {
	t.Helper()
	seen := &counted{}
	e := NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: seen, NewID: func() string { return "req_1" },
	})
	api := NewAPI(e, Audience{Title: "Test", Prefix: "/t/v1", Version: "1"}, Conditional)
	huma.Register(api, Op("make", "POST", "/t/v1/things", "Make", Created, nil), handle)
	huma.Register(api, Op("get", "GET", "/t/v1/things", "Get", OK, nil),
		func(ctx context.Context, _ *struct{}) (*thingOut, error) { return handle(ctx, nil) })
	return e, seen
}

func fine(context.Context, *thingIn) (*thingOut, error) {
	out := &thingOut{}
	out.Body.Name = "n"
	return out, nil
}

func do(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func slugOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var p contract.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	if p.Status != w.Code || w.Header().Get("Content-Type") != contract.ProblemType || p.RequestID != "req_1" {
		t.Fatalf("status %d, type %s: %+v", w.Code, w.Header().Get("Content-Type"), p)
	}
	return p.Slug()
}

// Only the contract's JSON is read; anything else is told apart by its slug, and every failed field is named at once.
func TestStrictBodies(t *testing.T) {
	h, seen := serve(t, fine)
	for body, want := range map[string]string{
		`{"name":"a","count":1,"name":"b"}`:     "duplicate_field",
		`{"Name":"a","count":1}`:                "unknown_field",
		`{"name":"a","count":1,"x":1}`:          "unknown_field",
		`{"name":1,"count":1}`:                  "wrong_type",
		`{"name":"a","count":9007199254740993}`: "out_of_range",
		`{"name":"a","count":-1}`:               "out_of_range",
		`{"name":"","count":1}`:                 "invalid_length",
		`{"name":"a\u0000","count":1}`:          "invalid_text",
		"{\"name\":\"\xff\",\"count\":1}":       "malformed_json",
		`[`:                                     "malformed_json",
		`{"name":"a","count":1} {}`:             "malformed_json",
		`{"count":-1}`:                          "validation_failed",
		`null`:                                  "wrong_type",
	} {
		w := do(h, "POST", "/t/v1/things", body)
		if got := slugOf(t, w); got != want || (w.Code != 400 && w.Code != 422) {
			t.Errorf("%s: %d %s, want %s\n%s", body, w.Code, got, want, w.Body)
		}
		if strings.Contains(w.Body.String(), `"value"`) {
			t.Errorf("%s: the answer repeats what was sent: %s", body, w.Body)
		}
	}
	if len(seen.slugs) != 13 || seen.slugs[0] == "" {
		t.Errorf("counted %v", seen.slugs)
	}
	if w := do(h, "POST", "/t/v1/things", `{"name":"a","count":1}`); w.Code != 201 || w.Body.String() != `{"name":"n","items":[]}` {
		t.Errorf("a good body: %d %s", w.Code, w.Body)
	}
	if w := do(h, "POST", "/t/v1/things", `{"name":"a","count":1}`, "Content-Type", "text/plain"); slugOf(t, w) != "media_type_unsupported" {
		t.Errorf("another media type: %d %s", w.Code, w.Body)
	}
}

// Each kind of fault has its status; what is Internal shows nothing of itself; Unavailable says when to come back.
func TestFaultsAsProblems(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		if contract.StatusOf(kind) == 0 {
			t.Errorf("%s has no status", kind)
		}
	}
	var err error
	h, _ := serve(t, func(context.Context, *thingIn) (*thingOut, error) { return nil, err })
	for _, c := range []struct {
		err    error
		status int
		slug   string
	}{
		{fault.New(fault.Conflict, "heartbeat_sequence_stale", "x"), 409, "heartbeat_sequence_stale"},
		{fault.New(fault.Gone, "delta_unavailable", "x"), 410, "delta_unavailable"},
		{fault.New(fault.Internal, "broken", "the secret is s3cr3t"), 500, "internal"},
		{errors.New("s3cr3t"), 500, "internal"},
		{fault.New(fault.Unavailable, "store_unavailable", "x").After(2500 * time.Millisecond), 503, "store_unavailable"},
	} {
		err = c.err
		w := do(h, "GET", "/t/v1/things", "")
		if w.Code != c.status || slugOf(t, w) != c.slug || strings.Contains(w.Body.String(), "s3cr3t") {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
		if c.status == 503 && w.Header().Get("Retry-After") != "3" {
			t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
		}
	}
}

// A panic, an unknown path, a wrong method and an ambiguous target are problems like any other.
func TestWhatIsNotAnOperation(t *testing.T) {
	h, _ := serve(t, func(context.Context, *thingIn) (*thingOut, error) { panic("s3cr3t") })
	for _, c := range []struct {
		method, path string
		status       int
		slug         string
	}{
		{"GET", "/t/v1/things", 500, "internal"}, {"GET", "/none", 404, "path_unknown"},
		{"DELETE", "/t/v1/things", 405, "method_not_allowed"}, {"GET", "/t/v1/things/%2e%2e/x", 422, "target_ambiguous"},
		{"GET", "/t/v1/things?x=1", 422, "invalid_value"},
	} {
		if w := do(h, c.method, c.path, ""); w.Code != c.status || slugOf(t, w) != c.slug {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

// A body past its limit is refused and named so.
func TestBodyLimit(t *testing.T) {
	h, _ := serve(t, fine)
	w := do(h, "POST", "/t/v1/things", `{"name":"`+strings.Repeat("a", contract.MaxBody)+`"}`)
	if w.Code != 413 || slugOf(t, w) != "body_too_large" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What did not change is not sent again; a condition on a write is not ignored.
func TestConditional(t *testing.T) {
	h, _ := serve(t, fine)
	first := do(h, "GET", "/t/v1/things", "")
	tag := first.Header().Get("ETag")
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if w := do(h, "GET", "/t/v1/things", "", "If-None-Match", header); w.Code != 304 || w.Body.Len() != 0 {
			t.Errorf("If-None-Match %s: %d", header, w.Code)
		}
	}
	if w := do(h, "GET", "/t/v1/things", "", "If-None-Match", `"x"`); w.Code != 200 || !bytes.Equal(w.Body.Bytes(), first.Body.Bytes()) {
		t.Errorf("another tag: %d", w.Code)
	}
	if w := do(h, "POST", "/t/v1/things", `{"name":"a","count":1}`, "If-Match", tag); w.Code != 412 {
		t.Errorf("If-Match on a write: %d", w.Code)
	}
}

// Cursors come back as they were made; a stranger's is refused. Waits are bounded.
func TestParameters(t *testing.T) {
	p, err := Paging{Cursor: Cursor("tenant-9"), Limit: 7}.Page()
	if err != nil || p.After != "tenant-9" || p.Limit != 7 || Cursor("") != "" {
		t.Errorf("%+v %v", p, err)
	}
	for _, stranger := range []string{"*", Cursor("a\x00"), Cursor("\xff")} {
		if _, err := (Paging{Cursor: stranger}).Page(); fault.SlugOf(err) != "invalid_cursor" {
			t.Errorf("%q: %v", stranger, err)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "30s": 30 * time.Second, "0": 0} {
		if got, err := Wait(text); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"31s", "-1s", "x", "1h"} {
		if _, err := Wait(text); fault.SlugOf(err) != "invalid_wait" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An address has its burst and then its rate; another address is not held back by it.
func TestSourceLimits(t *testing.T) {
	l := NewSourceLimits(0.001, 3)
	for range 3 {
		if err := l.Take("a"); err != nil {
			t.Fatal(err)
		}
	}
	if fault.KindOf(l.Take("a")) != fault.Exhausted || l.Take("b") != nil {
		t.Error("the limit is not by address")
	}
	for _, address := range []string{"2001:db8::1", "2001:db8::2", "2001:db8:0:0:f::"} {
		if err := l.Take(address); err != nil {
			t.Fatal(err)
		}
	}
	if fault.KindOf(l.Take("2001:db8::3")) != fault.Exhausted || l.Take("2001:db8:0:1::1") != nil || l.Take("192.0.2.1") != nil {
		t.Error("the limit is not by the /64 of an IPv6 address")
	}
}

// The reference page names every operation and what its body takes, and needs nothing from another host.
func TestReferencePage(t *testing.T) {
	h, _ := serve(t, fine)
	page := do(h, "GET", "/t/v1/docs", "").Body.String()
	for _, want := range []string{"/t/v1/things", "<code>name</code> (required)", "<code>count</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("the page leads elsewhere")
	}
}

// An engine with limits by address counts every request, also one for nothing that there is.
func TestEngineLimits(t *testing.T) {
	e := NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: &counted{},
		NewID: func() string { return "req_1" }, Sources: NewSourceLimits(0.001, 2),
	})
	for i, want := range []int{404, 404, 429} {
		if w := do(e, "GET", "/none", ""); w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
}

// A server that stops finishes what it accepted, ends its long polls at once, and takes nothing new.
func TestGracefulStop(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, polled := make(chan struct{}, 2), make(chan error, 1)
	release := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		if r.URL.Path == "/poll" {
			ctx, stop := Waiting(r.Context(), time.Minute)
			defer stop()
			<-ctx.Done()
			polled <- r.Context().Err()
			return
		}
		<-release
		_, _ = io.WriteString(w, "done")
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := &Server{Name: "test", Listener: listener, Handler: handler, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	go func() { ended <- s.Run(ctx, 10*time.Second) }()
	base := "http://" + listener.Addr().String()
	answers := make(chan string, 1)
	go func() { answers <- get(base + "/work") }()
	go get(base + "/poll")
	<-entered
	<-entered
	stop()
	if err := <-polled; err != nil {
		t.Errorf("the poll's request ended too: %v", err)
	}
	close(release)
	if got := <-answers; got != "done" {
		t.Errorf("accepted work was answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if got := get(base + "/work"); got != "" {
		t.Errorf("a stopped server answered %q", got)
	}
}

// Connections that do nothing do not keep others out, however many they are.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	const most = 10
	s := &Server{Name: "test", Listener: listener, Handler: handler, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxConns: most}
	go func() { ended <- s.Run(ctx, 10*time.Second) }()
	for i := range 3 * most {
		idler := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
		defer idler.CloseIdleConnections()
		resp, err := idler.Get("http://" + listener.Addr().String())
		if err != nil {
			t.Fatalf("client %d was kept out: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	data, _ := io.ReadAll(resp.Body)
	return string(data)
}
