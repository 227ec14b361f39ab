package relayload

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
)

// What the light client sends is what another's WebSocket reads, at every form that a frame's length has, and the other way
// round; frames that leave in one write arrive apart.
func TestSocketSpeaksWebSocket(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	trust := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:forcetypeassert // httptest's own
	trust.ServerName = "example.com"                                             // as its certificate has it
	s, err := Open(Endpoint{Address: server.Listener.Addr().String(), Path: "/", TLS: trust})
	must(t, err)
	t.Cleanup(s.Close)
	lengths := []int{0, 1, 7, 125, 126, 1000, 1<<16 - 1, 1 << 16, 100_000}
	payload := bytes.Repeat([]byte("0123456789abc"), 10_000)
	for _, n := range lengths {
		s.Add(Binary, payload[:n])
	}
	must(t, s.Flush())
	for _, n := range lengths {
		got, err := s.Next()
		must(t, err)
		if !bytes.Equal(got, payload[:n]) {
			t.Fatalf("of %d bytes came %d, or others", n, len(got))
		}
	}
	if s.Ready() {
		t.Error("more came than was sent")
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }() // the test has ended
	c.SetReadLimit(mostIn)
	for {
		kind, text, err := c.Read(r.Context())
		if err != nil || c.Write(r.Context(), kind, text) != nil {
			return
		}
	}
}
