package peering_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/adapters/contract"
	"berth/adapters/peering"
)

// recorder is a device that a Forwarder answers, without a connection.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) SetReadDeadline(time.Time) error { return nil }

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

func (r *recorder) wrote() bool { return r.status != 0 || r.body.Len() != 0 || len(r.header) != 0 }

// request is a device's, as its server hands it on.
func request(tb testing.TB, body io.Reader, length int64) (*http.Request, *recorder) {
	tb.Helper()
	method := http.MethodGet
	if length != 0 {
		method = http.MethodPut
	}
	r := must(http.NewRequestWithContext(tb.Context(), method, "https://eu.test"+attachment, body))
	r.ContentLength = length
	if length == 0 {
		r.Body = http.NoBody
	}
	return r, newRecorder()
}

// A device's claims stay here, whatever they are called, and so does what is about one hop: the owner sees what a device says to it, and
// the generation that the near node believes.
func TestHeadersThatGoOn(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 2)
	target := make(chan string, 2)
	n, _ := between(t, func(w http.ResponseWriter, r *http.Request) {
		f, ok := contract.ForwardedIn(r.Context())
		if !ok || f.Generation != 7 {
			t.Errorf("the owner is told %+v", f)
		}
		got <- r.Header.Clone()
		target <- r.Host + " " + r.RequestURI
		for _, name := range []string{"Keep-Alive", "Proxy-Authenticate", "X-Hop", contract.ForwardedGeneration} {
			w.Header().Set(name, "1")
		}
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Request-Id", "abc")
		w.WriteHeader(http.StatusNotFound)
	})
	for _, upgrade := range []bool{false, true} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, n.front.URL+attachment+"?a=b", nil))
		r.Host = "eu.test"
		for name, value := range map[string]string{
			contract.ForwardedGeneration: "9", "berth_forwarded_generation": "9", "Forwarded": "x", "X-Forwarded-For": "x", "Cookie": "x",
			"Proxy-Authorization": "x", "Berth-Ingress-Assertion": "x", "X-Other": "x", "Te": "trailers", "Keep-Alive": "x", "Accept": "image/png",
			"Authorization": "Bearer abc", "Range": "bytes=0-1", "If-Match": `"x"`, "Sec-Websocket-Extensions": "permessage-deflate",
			"Sec-Websocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Accept-Encoding": "gzip", "User-Agent": "device/1",
		} {
			r.Header[name] = []string{value}
		}
		r.Header["Connection"] = []string{"keep-alive, If-Match"}
		want := "Accept Authorization Range"
		if upgrade {
			r.Header["Connection"], r.Header["Upgrade"] = []string{"keep-alive, Upgrade, If-Match"}, []string{"websocket"}
			want += " Connection Upgrade Sec-Websocket-Key"
		}
		a, err := n.front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		h := <-got
		for name := range strings.FieldsSeq(want) {
			if len(h[name]) != 1 {
				t.Errorf("upgrade %t: %s is %q", upgrade, name, h[name])
			}
			delete(h, name)
		}
		if len(h) != 0 {
			t.Errorf("upgrade %t: the owner also sees %v", upgrade, h)
		}
		if to := <-target; to != "eu.test "+attachment+"?a=b" {
			t.Errorf("it arrives at %s", to)
		}
		for _, name := range []string{"Keep-Alive", "Proxy-Authenticate", "X-Hop", contract.ForwardedGeneration} {
			if a.Header.Get(name) != "" {
				t.Errorf("the device sees %s", name)
			}
		}
		if a.StatusCode != http.StatusNotFound || a.Header.Get("X-Request-Id") != "abc" {
			t.Errorf("answered %+v", a)
		}
	}
}

// A peer is held to the form: a path of devices, one generation in its one spelling, and a header of a bounded size.
func TestListenerIsStrict(t *testing.T) {
	t.Parallel()
	r := &registry{}
	peer := r.node("n1")
	o := r.owner(t, r.node("n0"), quick(), func(w http.ResponseWriter, r *http.Request) {
		f, _ := contract.ForwardedIn(r.Context())
		fmt.Fprint(w, f.Node, f.Generation, len(r.Header[contract.ForwardedGeneration]))
	})
	config := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{peer.shown.der}, PrivateKey: peer.shown.key}}}
	generation := func(values ...string) (out string) {
		for _, v := range values {
			out += contract.ForwardedGeneration + ": " + v + "\r\n"
		}
		return out
	}
	for name, c := range map[string]struct{ path, header, want string }{
		"good":               {"/connect/v1", generation("7"), "HTTP 200 OK n17 0"},
		"the highest":        {"/connect/v1?x", generation(fmt.Sprint(1<<53 - 1)), "HTTP 200 OK n19007199254740991 0"},
		"none":               {"/connect/v1", "", "forwarded_generation"},
		"two":                {"/connect/v1", generation("7", "7"), "forwarded_generation"},
		"zero":               {"/connect/v1", generation("0"), "forwarded_generation"},
		"another spelling":   {"/connect/v1", generation("07"), "forwarded_generation"},
		"a sign":             {"/connect/v1", generation("+7"), "forwarded_generation"},
		"too large":          {"/connect/v1", generation(fmt.Sprint(1 << 53)), "forwarded_generation"},
		"no number":          {"/connect/v1", generation("seven"), "forwarded_generation"},
		"another path":       {"/metrics", generation("7"), "path_unknown"},
		"a path below":       {"/connect/v1/x", generation("7"), "path_unknown"},
		"an escaped path":    {"/%63onnect/v1", generation("7"), "path_unknown"},
		"an absolute target": {"https://x/connect/v1", generation("7"), "path_unknown"},
		"a header of 40 KiB": {"/connect/v1", generation("7") + "X: " + strings.Repeat("x", 40<<10) + "\r\n", "HTTP 431"},
	} {
		got := spoken(t, o.address, config, "GET "+c.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+c.header+"\r\n")
		if !strings.Contains(got, c.want) || strings.Contains(c.want, "_") && !strings.Contains(got, "urn:berth:problem:") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What is too much is closed before its handshake; a handshake that does not come is given up, and gives its place back.
func TestListenerIsBounded(t *testing.T) {
	t.Parallel()
	r, options := &registry{}, quick()
	options.Limits.Handshakes, options.Limits.HeaderTimeout = 2, 300*time.Millisecond
	o := r.owner(t, r.node("n1"), options, echo)
	idle := []net.Conn{must(net.Dial("tcp", o.address)), must(net.Dial("tcp", o.address))}
	within(t, 5*time.Second, "both are pending", func() bool { return o.listener.Counts().Pending == 2 })
	third := must(net.Dial("tcp", o.address))
	defer third.Close()
	_ = third.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Fatal("the third is heard")
	}
	if n := o.listener.Counts().Refused["too_many_connections"]; n != 1 {
		t.Fatalf("%d were too many", n)
	}
	within(t, 5*time.Second, "they are given up", func() bool { c := o.listener.Counts(); return c.Pending == 0 && c.Open == 0 })
	for _, c := range idle {
		_ = c.Close()
	}
	n := r.near(t, r.node("n0"), options, o.route("n1"))
	c, _, err := n.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	says(t, c, []byte("x"))
	if at := o.listener.Counts(); at.Open != 1 || at.Pending != 0 {
		t.Fatalf("%+v", at)
	}
}

// A listener that shuts down waits for what is answered, and cuts what is left when its time is over.
func TestShutdownWaits(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	n, o := between(t, func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = io.WriteString(w, "done")
	})
	done := make(chan string, 1)
	go func() {
		a, err := n.get(t, attachment)
		if err != nil {
			done <- err.Error()
			return
		}
		done <- a.body
	}()
	<-began
	over := make(chan error, 1)
	go func() { over <- o.listener.Shutdown(context.Background()) }()
	within(t, 5*time.Second, "nobody is let in any more", func() bool {
		c, err := net.Dial("tcp", o.address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(finish)
	if got := <-done; got != "done" {
		t.Fatalf("what was being answered ends with %s", got)
	}
	if err := <-over; err != nil || o.listener.Counts().Open != 0 {
		t.Fatalf("shut down with %v, %d are open", err, o.listener.Counts().Open)
	}
}

// Wherever frames are cut into pieces, another one may come just where each message ends, and nowhere once a close went by.
func TestFramesAreFollowed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []byte
		ends, cuts := map[int]bool{0: true}, []int{0}
		for range rapid.IntRange(0, 5).Draw(t, "messages") {
			parts := rapid.IntRange(1, 3).Draw(t, "parts")
			for i := range parts {
				if i > 0 && rapid.Bool().Draw(t, "ping") {
					all = append(all, 0x89, 2, 'h', 'i')
				}
				size := rapid.SampledFrom([]int{0, 1, 125, 126, 300, 65535, 65536, 70000}).Draw(t, "size")
				first := byte(0x01)
				if i > 0 {
					first = 0
				}
				if i == parts-1 {
					first |= 0x80
				}
				all = append(append(all, header(first, size)...), make([]byte, size)...)
				cuts = append(cuts, len(all))
			}
			ends[len(all)] = true
		}
		closed := rapid.Bool().Draw(t, "closed")
		if closed {
			all = append(all, 0x88, 2, 3, 232)
			delete(ends, len(all))
		}
		at := rapid.IntRange(0, len(all)).Draw(t, "at")
		if rapid.Bool().Draw(t, "at an end") {
			at = rapid.SampledFrom(cuts).Draw(t, "end")
		}
		var pieces [][]byte
		for rest := all[:at]; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), rapid.SampledFrom([]int{1, 3, 1000, 1 << 20}).Draw(t, "most"))).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := peering.Frames(pieces...); got != ends[at] {
			t.Fatalf("after %d of %d bytes: %t", at, len(all), got)
		}
	})
	if peering.Frames([]byte{0x81, 0x82, 1, 2, 3, 4, 5, 6}) || peering.Frames([]byte{0x81, 0xff}, bytes.Repeat([]byte{0xff}, 100)) {
		t.Fatal("what no node sends is followed")
	}
}

// header is a frame's head, unmasked.
func header(first byte, size int) []byte {
	switch {
	case size < 126:
		return []byte{first, byte(size)}
	case size <= math.MaxUint16:
		return []byte{first, 126, byte(size >> 8), byte(size)}
	}
	return []byte{first, 127, 0, 0, 0, 0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}
}
