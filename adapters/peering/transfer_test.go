package peering_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/peering"
	"berth/domain/fault"
	"berth/ports/authority"
)

const attachment = contract.AttachmentsPath + "aabb"

// problem answers as a node that refuses.
func problem(w http.ResponseWriter, err error) {
	p := contract.FromFault(err)
	w.Header().Set("Content-Type", contract.ProblemType)
	w.WriteHeader(p.Status)
	fmt.Fprintf(w, `{"type":%q,"status":%d}`, p.Type, p.Status)
}

func (n *near) put(tb testing.TB, body io.Reader, length int64) answered {
	tb.Helper()
	r := must(http.NewRequestWithContext(tb.Context(), http.MethodPut, n.front.URL+attachment, body))
	r.ContentLength = length
	return n.do(tb, r)
}

func (n *near) do(tb testing.TB, r *http.Request) answered {
	tb.Helper()
	a, err := n.front.Client().Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer a.Body.Close()
	return read(a)
}

// An attachment goes through in both directions, with what its request and its answer say of it, over one connection.
func TestTransferGoesThrough(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	var connections atomic.Int64
	n, o := between(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			got, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Equal(got, content) || r.Header.Get("Content-Range") != "bytes 0-9/10" {
				t.Errorf("%d bytes arrive, %v", len(got), err)
			}
			w.Header().Set("Berth-Upload-Offset", "5")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Etag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	for range 3 {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPut, n.front.URL+attachment, bytes.NewReader(content)))
		r.Header.Set("Content-Range", "bytes 0-9/10")
		if a := n.do(t, r); a.status != http.StatusAccepted || a.header.Get("Berth-Upload-Offset") != "5" {
			t.Fatalf("answered %+v", a)
		}
		r = must(http.NewRequestWithContext(t.Context(), http.MethodGet, n.front.URL+attachment, nil))
		r.Header.Set("Range", "bytes=100-")
		if a := n.do(t, r); a.err != nil || a.status != http.StatusPartialContent || a.header.Get("Etag") != `"x"` || a.body != string(content[100:]) {
			t.Fatalf("answered %d with %d bytes, %v", a.status, len(a.body), a.err)
		}
		connections.Store(int64(o.listener.Counts().Open))
	}
	if connections.Load() != 1 {
		t.Fatalf("%d connections", connections.Load())
	}
}

// A refusal of the route comes before the body is read: the device's body is whole for the next attempt, and the plane is told.
func TestRefusedRouteLeavesTheBody(t *testing.T) {
	t.Parallel()
	r := &registry{}
	var answers atomic.Int64
	refuse := []error{fault.New(fault.Unavailable, "not_holder", "x"), fault.New(fault.Conflict, "generation_changed", "x")}
	o := r.owner(t, r.node("n1"), quick(), func(w http.ResponseWriter, r *http.Request) {
		if i := answers.Add(1) - 1; int(i) < len(refuse) {
			problem(w, refuse[i])
			return
		}
		got, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %v", len(got), err)
	})
	p := r.node("n0")
	f := peering.NewForwarder(quick(), p)
	t.Cleanup(f.Close)
	body := &counting{Reader: strings.NewReader(strings.Repeat("x", 100_000))}
	for i, want := range []string{"not_holder", "generation_changed", ""} {
		in, w := request(t, body, 100_000)
		err := f.Forward(w, in, o.route("n1"))
		if slugOf(err) != want || p.refusals() != min(i+1, 2) {
			t.Fatalf("attempt %d ends with %v, and %d refusals", i, err, p.refusals())
		}
		if want != "" && (body.read != 0 || w.wrote()) {
			t.Fatalf("attempt %d read %d bytes, and wrote %t", i, body.read, w.wrote())
		}
		if want == "" && w.body.String() != "100000 <nil>" {
			t.Fatalf("the last attempt is answered %s", w.body.String())
		}
		if ra, ok := fault.As(err); ok && (ra.RetryAfter <= 0 || ra.Kind != fault.Unavailable && ra.Kind != fault.Conflict) {
			t.Fatalf("the refusal is %+v", ra)
		}
	}
}

type counting struct {
	io.Reader
	read int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += n
	return n, err
}

// A refusal that comes after the body was begun is answered, as there can be no second attempt.
func TestLateRefusalIsAnswered(t *testing.T) {
	t.Parallel()
	n, _ := between(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 10))
		problem(w, fault.New(fault.Unavailable, "not_holder", "x"))
	})
	a := n.put(t, strings.NewReader(strings.Repeat("x", 1000)), 1000)
	if err := n.ended(t, 0); err != nil || a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "not_holder") || a.header.Get("Retry-After") == "" {
		t.Fatalf("answered %+v, and ended with %v", a, err)
	}
}

// An owner's refusal in the middle of a body, such as of a device that was just revoked, reaches a device that sends nothing
// more just then: it does not wait for the rest.
func TestRefusalReachesAStalledDevice(t *testing.T) {
	t.Parallel()
	n, _ := between(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 10))
		problem(w, fault.New(fault.Forbidden, "principal_revoked", "x"))
	})
	device := must(new(net.Dialer).DialContext(t.Context(), "tcp", n.front.Listener.Addr().String()))
	defer device.Close()
	_ = device.SetDeadline(time.Now().Add(10 * time.Second))                                                          // a connection that was just made
	fmt.Fprintf(device, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n%s", attachment, make([]byte, 10)) // and then nothing
	answer, err := http.ReadResponse(bufio.NewReader(device), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	a := read(answer)
	if a.status != http.StatusForbidden || !strings.Contains(a.body, "principal_revoked") {
		t.Fatalf("answered %+v", a)
	}
}

// A 409 or 503 of the owner's that is not about the route reaches the device whole.
func TestOtherRefusalsAreRelayed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 10_000)
	for name, c := range map[string]struct{ kind, body string }{
		"another slug": {contract.ProblemType, `{"type":"urn:berth:problem:lease_run_out"}`},
		"no problem":   {"text/plain", `{"type":"urn:berth:problem:not_holder"}`},
		"a long text":  {contract.ProblemType, long},
	} {
		n, _ := between(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, c.body)
		})
		a, err := n.get(t, attachment)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != http.StatusServiceUnavailable || a.body != c.body || n.refusals() != 0 {
			t.Errorf("%s: answered %d with %d bytes, %d refusals", name, a.status, len(a.body), n.refusals())
		}
	}
}

// A body that is longer than it may be is refused, whether it says so or not, and is not passed on whole.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	r, o := &registry{}, quick()
	o.Limits.Body = 1000
	var got atomic.Int64
	own := r.owner(t, r.node("n1"), o, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
	})
	n := r.near(t, r.node("n0"), o, own.route("n1"))
	if a := n.put(t, strings.NewReader(strings.Repeat("x", 1000)), 1000); a.status != http.StatusOK || got.Load() != 1000 {
		t.Fatalf("just as long: %d, %d bytes", a.status, got.Load())
	}
	got.Store(0)
	if a := n.put(t, strings.NewReader(strings.Repeat("x", 1001)), 1001); a.slug() != "body_too_large" || got.Load() != 0 {
		t.Fatalf("one too long: %+v, %d bytes", a, got.Load())
	}
	a := n.put(t, strings.NewReader(strings.Repeat("x", 100_000)), -1)
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "body_too_large") {
		t.Fatalf("without a length: %+v", a)
	}
	if got.Load() > 1000 || n.refusals() != 0 {
		t.Fatalf("%d bytes arrived, %d refusals", got.Load(), n.refusals())
	}
}

// An answer that breaks off, or stands still, is broken off for the device, who could not tell it from a whole one.
func TestBrokenAnswerIsBrokenOff(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for name, end := range map[string]func(){
		"broken off": func() { panic(http.ErrAbortHandler) }, "standing still": func() { <-hold },
	} {
		r, o := &registry{}, quick()
		o.Limits.StallTimeout = 100 * time.Millisecond
		own := r.owner(t, r.node("n1"), o, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			end()
		})
		n := r.near(t, r.node("n0"), o, own.route("n1"))
		a, err := n.get(t, attachment)
		if err != nil {
			continue // it came before the device had read the head
		}
		if a.err == nil {
			t.Errorf("%s: the device takes %q for whole", name, a.body)
		}
	}
}

// Nothing of this is forwarded again, and a place that is none is named as that.
func TestForwardRefuses(t *testing.T) {
	t.Parallel()
	r := &registry{}
	o := r.owner(t, r.node("n1"), quick(), func(http.ResponseWriter, *http.Request) { t.Error(errNobody) })
	closed := must(net.Listen("tcp", "127.0.0.1:0"))
	_ = closed.Close()
	silent := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = silent.Close() })
	options := quick()
	options.Limits.HandshakeTimeout = 100 * time.Millisecond
	at := func(address string) authority.Route {
		to := o.route("n1")
		to.Address = address
		return to
	}
	for name, c := range map[string]struct {
		to        authority.Route
		forwarded bool
		slug      string
		refusals  int
	}{
		"forwarded before": {o.route("n1"), true, "not_holder", 0},
		"no address":       {at(""), false, "peer_address_unknown", 0},
		"nobody there":     {at(closed.Addr().String()), false, "peer_unreachable", 1},
		"no such host":     {at("nowhere.invalid:1"), false, "peer_unreachable", 1},
		"no handshake":     {at(silent.Addr().String()), false, "peer_silent", 1},
	} {
		p := r.node("n0")
		f := peering.NewForwarder(options, p)
		for _, upgrade := range []bool{false, true} {
			in, w := request(t, nil, 0)
			if upgrade {
				in.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
			}
			if c.forwarded {
				in = in.WithContext(contract.WithForwarded(in.Context(), contract.Forwarded{Node: "n2", Generation: 7}))
			}
			start := time.Now()
			err := f.Forward(w, in, c.to)
			told, _ := fault.As(err)
			if slugOf(err) != c.slug || told.Kind != fault.Unavailable || told.RetryAfter <= 0 || w.wrote() || time.Since(start) > 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
		if p.refusals() != 2*c.refusals {
			t.Errorf("%s: the plane was told %d times", name, p.refusals())
		}
		f.Close()
	}
}

// A peer that takes a request and never answers costs a bounded time, and so does one that takes no body.
func TestSilentPeerIsGivenUp(t *testing.T) {
	t.Parallel()
	r, o := &registry{}, quick()
	o.Limits.AnswerTimeout, o.Limits.ContinueTimeout, o.Limits.StallTimeout = 100*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	own := r.owner(t, r.node("n1"), o, func(http.ResponseWriter, *http.Request) { <-hold })
	p := r.node("n0")
	f := peering.NewForwarder(o, p)
	t.Cleanup(f.Close)
	for name, shape := range map[string]func() *http.Request{
		"a WebSocket": func() *http.Request {
			in, _ := request(t, nil, 0)
			in.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
			return in
		},
		"without a body": func() *http.Request { in, _ := request(t, nil, 0); return in },
		"with a body": func() *http.Request {
			in, _ := request(t, strings.NewReader(strings.Repeat("x", 64<<20)), 64<<20)
			return in
		},
	} {
		w := newRecorder()
		start := time.Now()
		err := f.Forward(w, shape(), own.route("n1"))
		took := time.Since(start)
		ok := slugOf(err) == "peer_silent" || name == "with a body" && err == nil && w.status == http.StatusServiceUnavailable
		if !ok || took > 5*time.Second {
			t.Errorf("%s: %v, answered %d %s after %v", name, err, w.status, w.body.String(), took)
		}
	}
}

// A place that was not to be reached is not dialled again at once.
func TestUnreachablePeerIsGivenARest(t *testing.T) {
	t.Parallel()
	r, o := &registry{}, quick()
	o.Limits.FailFast = time.Hour
	f := peering.NewForwarder(o, r.node("n0"))
	t.Cleanup(f.Close)
	closed := must(net.Listen("tcp", "127.0.0.1:0"))
	to := authority.Route{Tenant: "acme", Node: "n1", Address: closed.Addr().String(), SPIFFEID: spiffe("n1")}
	_ = closed.Close()
	in, w := request(t, nil, 0)
	if err := f.Forward(w, in, to); slugOf(err) != "peer_unreachable" {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp", to.Address)
	if err != nil {
		return // the port is somebody else's by now
	}
	defer again.Close()
	came := make(chan struct{}, 1)
	go func() {
		if c, err := again.Accept(); err == nil {
			came <- struct{}{}
			_ = c.Close()
		}
	}()
	if err := f.Forward(w, in, to); slugOf(err) != "peer_unreachable" {
		t.Fatal(err)
	}
	select {
	case <-came:
		t.Fatal("it was dialled again")
	default:
	}
}
