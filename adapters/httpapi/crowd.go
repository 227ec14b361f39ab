package httpapi

import (
	"net"
	"net/http"
	"sync"
)

// crowd keeps a listener's places from being held by connections that do nothing: near the limit idle ones are closed
// and no new one is kept alive, until there is room again. A connection that waits for an answer is not idle.
type crowd struct {
	server    *http.Server
	high, low int

	mu      sync.Mutex
	present int
	full    bool
}

func newCrowd(server *http.Server, most int) *crowd {
	return &crowd{server: server, high: max(1, most*9/10), low: most / 2}
}

// changed is the server's ConnState hook.
func (c *crowd) changed(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.count(1)
	case http.StateClosed, http.StateHijacked:
		c.count(-1)
	case http.StateActive, http.StateIdle: // still there
	}
}

func (c *crowd) count(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present += by
	switch {
	case !c.full && c.present >= c.high:
		c.full = true
		c.server.SetKeepAlivesEnabled(false)
	case c.full && c.present <= c.low:
		c.full = false
		c.server.SetKeepAlivesEnabled(true)
	}
}
