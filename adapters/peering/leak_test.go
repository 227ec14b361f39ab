package peering_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// hold answers that it switches, and then what it reads, until its peer ends.
func hold(w http.ResponseWriter, _ *http.Request) {
	c, from := switching(w, "")
	defer c.Close()
	_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{from}, make([]byte, 512)) // an idle one costs little
}

// open has a device open a tunnel.
func open(tb testing.TB, n *near) net.Conn {
	tb.Helper()
	c := must(net.Dial("tcp", n.front.Listener.Addr().String()))
	_, _ = io.WriteString(c, handshake)
	head(tb, c)
	return c
}

// files is how many file handles the process holds.
func files(tb testing.TB) int {
	tb.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // another system keeps them elsewhere; goroutines tell as much
	}
	return len(all)
}

// Of 10,000 tunnels that were opened and closed, by either end or broken off, no goroutine and no file handle is left. It runs alone: it
// counts what the process holds.
func TestTunnelsLeaveNothing(t *testing.T) { //nolint:paralleltest // it counts what the process holds
	const rounds, abreast = tunnelRounds, 16
	n, o := between(t, hold)
	_ = open(t, n).Close()
	settled := func() bool {
		return n.forwarder.Tunnels() == 0 && n.links() == 0 && o.links() == 0 && o.listener.Counts().Open == 0
	}
	within(t, 10*time.Second, "the first has ended", settled)
	goroutines, handles := runtime.NumGoroutine(), files(t)
	var all sync.WaitGroup
	for worker := range abreast {
		all.Go(func() {
			for i := range rounds / abreast {
				c := open(t, n)
				switch (i + worker) % 3 {
				case 0:
					_ = c.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, c)
				case 1:
					_ = c.(*net.TCPConn).SetLinger(0) // a reset
				}
				_ = c.Close()
			}
		})
	}
	all.Wait()
	within(t, 30*time.Second, "nothing is left", func() bool {
		return settled() && runtime.NumGoroutine() <= goroutines+2 && files(t) <= handles+2
	})
}
