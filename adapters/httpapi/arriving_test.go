package httpapi

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// The deadline of a body ends when all of it is there, and at nothing else: after a failed read the server still drains
// what is left, and would wait for a silent client for ever.
func TestTheDeadlineEndsWithTheBodyOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		ended bool
	}{{io.EOF, true}, {errors.New("timeout"), false}, {io.ErrUnexpectedEOF, false}} {
		ended := false
		a := &arriving{ReadCloser: io.NopCloser(iotest.ErrReader(c.err)), ended: func() { ended = true }}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, c.err) || ended != c.ended {
			t.Errorf("after %v: ended %v, error %v", c.err, ended, err)
		}
	}
}

// A client that sends half a body and then nothing is answered, and its connection closed.
func TestABodyThatNeverEnds(t *testing.T) {
	t.Parallel()
	e := NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: &counted{}, NewID: func() string { return "req_1" },
	})
	op := Op("make", "POST", "/t/v1/things", "Make", Created, nil)
	op.BodyReadTimeout = 10 * time.Millisecond
	huma.Register(NewAPI(e, Audience{Title: "Test", Prefix: "/t/v1", Version: "1"}), op, fine)
	server := httptest.NewServer(e)
	t.Cleanup(server.CloseClientConnections)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST /t/v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || !strings.Contains(string(answer), "body_too_slow") {
		t.Fatalf("%v: %s", err, answer)
	}
}
