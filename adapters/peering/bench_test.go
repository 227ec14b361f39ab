package peering_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"
)

// directly is an owner that devices reach without a node in between.
func directly(tb testing.TB) net.Conn {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(hold))
	tb.Cleanup(s.Close)
	c := must(net.Dial("tcp", s.Listener.Addr().String()))
	_, _ = io.WriteString(c, handshake)
	head(tb, c)
	return c
}

func rounds(b *testing.B, c net.Conn) (p50, p99 time.Duration) {
	b.Helper()
	message := make([]byte, 300)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		if _, err := c.Write(message); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, message); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// BenchmarkRoundTrip is a message of 300 bytes there and back, directly and by way of another node. What the way adds to one
// message is half of the difference.
func BenchmarkRoundTrip(b *testing.B) {
	for name, c := range map[string]func(b *testing.B) net.Conn{
		"direct":    func(b *testing.B) net.Conn { b.Helper(); return directly(b) },
		"forwarded": func(b *testing.B) net.Conn { b.Helper(); n, _ := between(b, hold); return open(b, n) },
	} {
		b.Run(name, func(b *testing.B) {
			c := c(b)
			defer c.Close()
			p50, p99 := rounds(b, c)
			b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
			b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkThroughput is how much goes through one tunnel.
func BenchmarkThroughput(b *testing.B) {
	n, _ := between(b, func(w http.ResponseWriter, _ *http.Request) {
		c, from := switching(w, "")
		defer c.Close()
		_, _ = io.Copy(io.Discard, from)
	})
	c := open(b, n)
	defer c.Close()
	chunk := make([]byte, 64<<10)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		if _, err := c.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is how long a tunnel takes to come about, its handshake between the nodes included.
func BenchmarkOpen(b *testing.B) {
	n, _ := between(b, hold)
	for b.Loop() {
		_ = open(b, n).Close()
	}
}

// BenchmarkIdleTunnels is what a tunnel costs on which nothing goes on: both nodes, and the device's end, are in this process.
func BenchmarkIdleTunnels(b *testing.B) {
	n, o := between(b, hold)
	all := make([]net.Conn, 0, b.N)
	before := memory()
	b.ResetTimer()
	for range b.N {
		all = append(all, open(b, n))
	}
	b.StopTimer()
	b.ReportMetric(float64(memory()-before)/float64(len(all)), "B/tunnel")
	b.ReportMetric(float64(runtime.NumGoroutine())/float64(len(all)), "goroutines/tunnel")
	if o.links() != len(all) {
		b.Fatalf("%d are open", o.links())
	}
	for _, c := range all {
		_ = c.Close()
	}
}

func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
