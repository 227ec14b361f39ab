package harness

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"berth/adapters/apiclient"
)

// Whoever asks a replica again and again, each time by a client of its own, keeps to one connection.
func TestClientsShareConnections(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotModified)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	s := StandOn(t, &Server{t: t, API: server.URL})
	for range 20 {
		if _, _, err := apiclient.NewAgent(s.In(t).Client(0, nil)).DesiredState(t.Context(), "known", 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("20 requests made %d connections", n)
	}
}
