package httpapi

import (
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

func exchange(t *testing.T, raw string) string {
	t.Helper()
	e := NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: &counted{}, NewID: func() string { return "req_1" },
	})
	huma.Register(NewAPI(e, Audience{Title: "Test", Prefix: "/t/v1", Version: "1"}), Op("make", "POST", "/t/v1/things", "Make", Created, nil), fine)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, raw)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v after %q", err, answer)
	}
	return string(answer)
}

const toThings = "POST /t/v1/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

// A request with a length and a coding is the last of its connection: what somebody before us took for a part of it is
// no request of its own (RFC 9112, 6.1).
func TestNothingIsReadBehindTwoLengths(t *testing.T) {
	t.Parallel()
	behind := "GET /t/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
	answer := exchange(t, toThings+"Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+behind)
	if n := strings.Count(answer, "HTTP/1.1 "); n != 1 {
		t.Fatalf("%d answers: %s", n, answer)
	}
}

// A body whose chunks are out of form is its sender's fault, and no failure of the server's.
func TestABodyOutOfForm(t *testing.T) {
	t.Parallel()
	for _, chunks := range []string{"zz\r\n", "-1\r\n{}\r\n0\r\n\r\n", "2;a\n{}\r\n0\r\n\r\n"} {
		answer := exchange(t, toThings+"Transfer-Encoding: chunked\r\n\r\n"+chunks)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "body_unreadable") {
			t.Errorf("%q: %s", chunks, answer)
		}
	}
}
