package connect_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"berth/adapters/connect"
	"berth/adapters/contract"
	"berth/application/relay"
	"berth/domain/fault"
	"berth/ports/authority"
)

// refused reads a problem and compares status and slug.
func refused(tb testing.TB, r answer, status int, slug string) contract.Problem {
	tb.Helper()
	var p contract.Problem
	if err := json.Unmarshal([]byte(r.Body), &p); err != nil {
		tb.Fatalf("%s %q is no problem: %v", r.Status, r.Body, err)
	}
	if r.StatusCode != status || p.Status != status || p.Slug() != slug || r.Header.Get("Content-Type") != contract.ProblemType ||
		p.RequestID == "" || r.Header.Get("X-Request-Id") != p.RequestID {
		tb.Errorf("answered %s %+v (%v), want %d %s", r.Status, p, r.Header, status, slug)
	}
	return p
}

const (
	offer = "Sec-WebSocket-Protocol: " + contract.ConnectProtocol
	alice = "Authorization: Bearer acme.alice"
)

// What is no opening handshake of this protocol is answered as a problem that says what is wrong, and opens no session.
func TestUpgradesAreRefusedAsProblems(t *testing.T) {
	t.Parallel()
	l := limits()
	l.HeaderTimeout = time.Second // a body that was announced is waited for so long
	s := newSite(t, l)
	good := upgradeRequest(offer, alice)
	edit := func(old, new string) string {
		out := strings.Replace(good, old, new, 1)
		if out == good {
			t.Fatalf("%q is not in the request", old)
		}
		return out
	}
	for _, c := range []struct {
		request string
		status  int
		slug    string
	}{
		{edit("GET", "POST"), 405, "method_not_allowed"},
		{edit("/connect/v1", "/connect/v2"), 404, "path_unknown"},
		{edit("/connect/v1", "/connect/v1/"), 404, "path_unknown"},
		{edit("/connect/v1", "//connect/v1"), 404, "path_unknown"},
		{edit("/connect/v1", "/connect/%761"), 404, "path_unknown"},
		{edit("/connect/v1", "/attachments/../connect/v1"), 404, "path_unknown"},
		{edit("/connect/v1", "*"), 404, "path_unknown"},
		{edit("Connection: Upgrade\r\n", ""), 426, "upgrade_required"},
		{edit("Upgrade: websocket\r\n", "Upgrade: h2c\r\n"), 426, "upgrade_required"},
		{edit("Version: 13", "Version: 12"), 426, "websocket_version"},
		{edit("Version: 13\r\n", "Version: 13\r\nSec-WebSocket-Version: 13\r\n"), 426, "websocket_version"},
		{edit("Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: dGhlIHNhbXBsZQ=="), 400, "websocket_key"},
		{edit("Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: *"), 400, "websocket_key"},
		{edit(offer, offer+"\r\nContent-Length: 2"), 400, "body_unexpected"},
		{edit(offer, "Sec-WebSocket-Protocol: other"), 400, "subprotocol_missing"},
		{edit(offer, "Sec-WebSocket-Protocol: BERTH.connect.v1"), 400, "subprotocol_missing"},
		{edit(offer+"\r\n", ""), 400, "subprotocol_missing"},
		{edit(alice, "X: y"), 401, "token_missing"},
		{edit(alice, alice+"\r\n"+alice), 401, "token_ambiguous"},
		{edit(offer, offer+", berth.token.acme.alice"), 401, "token_ambiguous"},
		{edit(alice, "Authorization: Basic YTpi"), 401, "token_malformed"},
		{edit(alice, "Authorization: Bearer"), 401, "token_malformed"},
		{edit(alice, alice+" "+"x"), 401, "token_malformed"},
		{edit(alice, "Authorization: Bearer a/b"), 401, "token_malformed"},
		{edit(alice, "Authorization: Bearer ünicode"), 401, "token_malformed"},
	} {
		_, r := s.attempt(c.request)
		p := refused(t, r, c.status, c.slug)
		if c.status == 401 && (r.Header.Get("WWW-Authenticate") != "Bearer" || !r.Close) {
			t.Errorf("%s: %v", p.Slug(), r.Header)
		}
	}
	_, r := s.attempt(edit("Version: 13", "Version: 8"))
	if got := r.Header.Get("Sec-WebSocket-Version"); got != "13" {
		t.Errorf("another version is told %q", got)
	}
	if s.left != 0 || s.open() != 0 {
		t.Error("a session was opened")
	}
}

// What the node refuses before the upgrade is a problem of its kind: every fault of a token (they are found by the node),
// the standing of tenant and device, and what there is too much of, with a time to come back. No session stays.
func TestFaultsOfTheNodeAreProblems(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	for _, slug := range []string{
		"device_token_too_large", "device_token_malformed", "device_token_header", "device_token_algorithm", "device_token_type",
		"device_token_key_unknown", "device_token_key_retired", "device_token_signature", "device_token_claims",
		"device_token_issuer", "device_token_audience", "device_token_lifetime", "device_token_from_future", "device_token_expired",
	} {
		s.mu.Lock()
		s.tokens["acme.bad"] = fault.New(fault.Unauthenticated, slug, "the token is refused")
		s.mu.Unlock()
		_, r := s.attempt(upgradeRequest(offer, "Authorization: Bearer acme.bad"))
		refused(t, r, 401, slug)
		refused(t, s.do(t, http.MethodGet, attachment(digestOf("x")), "acme.bad", nil), 401, slug)
	}
	for _, c := range []struct {
		err    *fault.Error
		status int
		wait   string
	}{
		{fault.New(fault.Forbidden, "principal_revoked", "the device is revoked"), 403, ""},
		{fault.New(fault.Forbidden, "tenant_suspended", "the tenant is suspended"), 403, ""},
		{fault.New(fault.Exhausted, "engines_exhausted", "too many").After(2500 * time.Millisecond), 429, "3"},
		{fault.New(fault.Unavailable, "snapshot_stale", "the node is cut off"), 503, "1"},
		{fault.New(fault.Conflict, "generation_changed", "it moved"), 409, ""},
		{fault.New(fault.Internal, "engine_damaged", "a secret").Because(errors.New("more of it")), 500, ""},
	} {
		s.mu.Lock()
		s.entering, s.filing = c.err, c.err
		s.mu.Unlock()
		slug := c.err.Slug
		if c.status == 500 {
			slug = "internal"
		}
		_, r := s.attempt(upgradeRequest(offer, alice))
		if p := refused(t, r, c.status, slug); strings.Contains(p.Detail, "secret") || r.Header.Get("Retry-After") != c.wait {
			t.Errorf("answered %+v, %v", p, r.Header)
		}
		refused(t, s.do(t, http.MethodGet, attachment(digestOf("x")), "acme.alice", nil), c.status, slug)
	}
	if c := s.handler.Counts(); c.Connections != 0 || c.Transfers != 0 {
		t.Errorf("left are %+v", c)
	}
}

// A page in a browser connects with its token as a subprotocol, from any origin; only the protocol's own name comes back.
func TestBrowsersConnect(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, r, err := websocket.Dial( //nolint:bodyclose // it is the library's
		ctx, "wss://"+s.address+"/connect/v1", &websocket.DialOptions{
			HTTPClient: s.client, Subprotocols: []string{contract.ConnectProtocol, contract.ConnectTokenPrefix + "acme.alice"},
			HTTPHeader: http.Header{"Origin": {"https://elsewhere.example"}},
		})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if got := r.Header.Values("Sec-WebSocket-Protocol"); len(got) != 1 || got[0] != contract.ConnectProtocol {
		t.Errorf("chosen is %v", got)
	}
	if got := r.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("extensions are %q", got)
	}
	if err := ws.Write(ctx, websocket.MessageText, []byte(`{"op":"publish","handle":"alice-main","id":"x","body":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, payload, err := ws.Read(ctx); err != nil || !strings.Contains(string(payload), `"ack"`) {
		t.Errorf("answered %q %v", payload, err)
	}
	if err := ws.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("closing: %v", err)
	}
	eventually(t, "the session is left", func() bool { return s.open() == 0 })
}

// What a device sends right behind its handshake, in the same record, is not lost.
func TestEarlyFramesAreServed(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	early := masked(whole|opText, []byte(`{"op":"publish","handle":"alice-main","id":"x","body":1}`))
	p, r := s.attempt(upgradeRequest(offer, alice) + string(early))
	if r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(r.Status)
	}
	p.expect(contract.Frame{Op: contract.OpAck, ID: "x", Seq: 1})
}

// peers answers forwarded requests by a function.
type peers func(w http.ResponseWriter, r *http.Request, to authority.Route) error

func (f peers) Forward(w http.ResponseWriter, r *http.Request, to authority.Route) error {
	return f(w, r, to)
}

func there(node string) func() (relay.Where, error) {
	return func() (relay.Where, error) { return relay.Where{To: authority.Route{Tenant: "acme", Node: node}}, nil }
}

// A tenant of another node is passed on to it; where the route was stale it is asked for once more; and where nobody takes
// the request the device is told when to come back.
func TestForwarding(t *testing.T) {
	t.Parallel()
	var asked []string
	s := newSiteWith(t, limits(), peers(func(w http.ResponseWriter, r *http.Request, to authority.Route) error {
		asked = append(asked, to.Node+" "+r.URL.Path)
		if to.Node != "good" {
			return fault.New(fault.Unavailable, "peer_unreachable", "it is gone")
		}
		w.WriteHeader(http.StatusTeapot)
		return nil
	}))
	set := func(where ...func() (relay.Where, error)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		asked, s.where = nil, where
	}
	url := attachment(digestOf("x"))
	for _, c := range []struct {
		where []func() (relay.Where, error)
		want  int
		asked int
	}{
		{[]func() (relay.Where, error){there("good")}, 418, 1},
		{[]func() (relay.Where, error){there("stale"), there("good")}, 418, 2},
		{[]func() (relay.Where, error){there("stale"), there("stale"), there("good")}, 503, 2},
		{[]func() (relay.Where, error){there("stale")}, 404, 1}, // and then here
		{[]func() (relay.Where, error){func() (relay.Where, error) {
			return relay.Where{}, fault.New(fault.Unavailable, "route_unknown", "nobody knows")
		}}, 503, 0},
	} {
		set(c.where...)
		r := s.do(t, http.MethodGet, url, "acme.alice", nil)
		if r.StatusCode != c.want || len(asked) != c.asked {
			t.Errorf("answered %s after %v", r.Status, asked)
		}
	}
	set(there("good"))
	if _, r := s.attempt(upgradeRequest(offer, alice)); r.StatusCode != http.StatusTeapot {
		t.Errorf("an upgrade is answered %s", r.Status)
	}
	if n := s.handler.Counts().Connections; n != 0 {
		t.Errorf("%d connections are counted", n)
	}
}

// What is wrong with a request itself is said without a peer, or as the peer's forwarder says it; nobody holds it against the
// route, which other devices use.
func TestForwardingBlamesNoRoute(t *testing.T) {
	t.Parallel()
	var asked int
	var refusal error
	s := newSiteWith(t, limits(), peers(func(http.ResponseWriter, *http.Request, authority.Route) error {
		asked++
		return refusal
	}))
	put := "PUT " + attachment(digestOf("x")) + " HTTP/1.1\r\nHost: x\r\n" + alice + "\r\n"
	for name, c := range map[string]struct {
		request string
		refusal error
		status  int
		asked   int
	}{
		"too large":     {put + "Content-Length: 9223372036854775807\r\n\r\n", nil, 413, 0},
		"encoded":       {put + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", nil, 415, 0},
		"another range": {put + "Content-Range: bytes 0-0/9\r\nContent-Length: 2\r\n\r\nxx", nil, 400, 0},
		"refused":       {put + "Content-Length: 1\r\n\r\nx", fault.New(fault.Invalid, "body_too_large", "it is too large"), 422, 1},
		"ended":         {put + "Content-Length: 1\r\n\r\nx", fault.New(fault.Unavailable, "request_ended", "it ended"), 503, 1},
	} {
		asked, refusal = 0, c.refusal
		s.mu.Lock()
		s.where = []func() (relay.Where, error){there("n2"), func() (relay.Where, error) {
			t.Errorf("%s: the route is taken for a bad one", name)
			return relay.Where{}, fault.New(fault.Unavailable, "route_refused", "it was refused just now")
		}}
		s.mu.Unlock()
		if _, r := s.attempt(c.request); r.StatusCode != c.status || asked != c.asked {
			t.Errorf("%s: answered %s, asked %d times", name, r.Status, asked)
		}
	}
}

// A request that a peer forwarded is served here or refused, never passed on again; the generation that the peer believes
// is the node's to judge. A device can not claim to be a peer.
func TestForwardedRequestsGoNoFurther(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, limits(), peers(func(http.ResponseWriter, *http.Request, authority.Route) error {
		t.Error("it was passed on")
		return nil
	}))
	s.where = append(s.where, there("other"))
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(upgradeRequest(offer, alice))))
	if err != nil {
		t.Fatal(err)
	}
	got := record(t, s.handler, r.WithContext(contract.WithForwarded(r.Context(), contract.Forwarded{Node: "n2", Generation: 5})))
	refused(t, got, 409, "not_holder")
	if len(s.believed) != 1 || s.believed[0] == nil || *s.believed[0] != 5 {
		t.Errorf("believed is %v", s.believed)
	}
	s.attempt(upgradeRequest(offer, alice, contract.ForwardedGeneration+": 5"))
	if s.believed[1] != nil {
		t.Error("a device's word is taken for a peer's")
	}
}

// A stop ends the WebSockets that are passed on, and waits for the attachments that are, as for its own.
func TestStopWaitsForAttachmentsPassedOn(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan string), make(chan string, 2)
	through := make(chan struct{})
	s := newSiteWith(t, limits(), peers(func(w http.ResponseWriter, r *http.Request, _ authority.Route) error {
		begun <- r.URL.Path
		select {
		case <-through:
			w.WriteHeader(http.StatusTeapot)
		case <-r.Context().Done():
			w.WriteHeader(http.StatusBadGateway)
		}
		ended <- r.URL.Path
		return nil
	}))
	s.where = append(s.where, there("other"), there("other"))
	answers := make(chan int, 1)
	go func() {
		_, r := s.attempt(upgradeRequest(offer, alice))
		answers <- r.StatusCode
	}()
	<-begun
	fetched := make(chan int, 1)
	go func() { fetched <- s.do(t, http.MethodGet, attachment(digestOf("x")), "acme.alice", nil).StatusCode }()
	<-begun
	stopped := make(chan struct{})
	go func() { s.handler.Stop(t.Context()); close(stopped) }()
	if first := <-ended; first != contract.ConnectPath || <-answers != http.StatusBadGateway {
		t.Errorf("%s ended first", first)
	}
	select {
	case <-stopped:
		t.Error("the stop did not wait")
	case code := <-fetched:
		t.Errorf("the attachment was answered %d", code)
	case <-time.After(50 * time.Millisecond): // what would end at once has by now
	}
	close(through)
	if code := <-fetched; code != http.StatusTeapot {
		t.Errorf("the attachment was answered %d", code)
	}
	<-stopped
}

// Who shows no token holds no place: whatever is asked for without a look at one ends the connection.
func TestWithoutATokenNoPlaceIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	for name, request := range map[string]string{
		"elsewhere":      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"no upgrade":     "GET /connect/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"another method": "DELETE " + attachment(digestOf("x")) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"another path":   "GET /attachments/v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"no token":       "GET " + attachment(digestOf("x")) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		p, r := s.attempt(request)
		if _, err := p.in.ReadByte(); r.StatusCode < 400 || !r.Close || !errors.Is(err, io.EOF) {
			t.Errorf("%s: answered %s, and the connection goes on: %v", name, r.Status, err)
		}
	}
}

var _ connect.Forwarder = peers(nil)
