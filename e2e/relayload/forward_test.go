package relayload

import (
	"fmt"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What it adds that a device came to another node than its tenant's: the same frame through the owner and through the other
// node in turns, so that what else the machine does meets both. A publish is durable when it is answered; an unsubscribe of
// nothing is answered from memory, so that nothing but the way there and back is in it.
func BenchmarkForward(b *testing.B) {
	s := NewSite(b)
	nodes := map[string]*Relay{"n1": s.Relay("n1", nil), "n2": s.Relay("n2", nil)}
	tenants, places := s.Tenants("t", 1)
	owner, far := nodes[places[0]], nodes["n1"]
	if owner == far {
		far = nodes["n2"]
	}
	d := s.Paired(tenants[0], "member")
	ways := []*way{{socket: s.Connect(owner, d)}, {socket: s.Connect(far, d)}}
	handle := d.RouteHandles[0].Handle
	b.Run("publish", func(b *testing.B) {
		forwarding(b, ways, func(n int) []byte {
			return fmt.Appendf(nil, `{"op":"publish","handle":%q,"id":"f-%d-%d","body":%s}`, handle, b.N, n, Payload)
		})
	})
	b.Run("memory", func(b *testing.B) {
		frame := fmt.Appendf(nil, `{"op":"unsubscribe","handle":%q}`, handle)
		forwarding(b, ways, func(int) []byte { return frame })
	})
}

// way is one of the two.
type way struct {
	socket *Socket
	took   *hdrhistogram.Histogram
}

func forwarding(b *testing.B, ways []*way, frame func(n int) []byte) {
	for _, w := range ways {
		w.took = histogram()
	}
	n := 0
	ask := func(w *way) {
		text := frame(n)
		n++
		began := time.Now()
		w.socket.Add(Text, text)
		must(b, w.socket.Flush())
		answer, err := w.socket.Next()
		must(b, err)
		record(w.took, time.Since(began))
		if !hasOp(answer, "ack") && !hasOp(answer, "error") {
			b.Fatalf("%s was answered by %s", text, answer)
		}
	}
	b.ResetTimer()
	for began := time.Now(); time.Since(began) < benchtime(); {
		for _, w := range ways {
			ask(w)
		}
	}
	b.StopTimer()
	direct, far := ways[0].took, ways[1].took
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(P(direct, 50), "direct-p50-ms")
	b.ReportMetric(P(direct, 99), "direct-p99-ms")
	b.ReportMetric(P(far, 50), "forwarded-p50-ms")
	b.ReportMetric(P(far, 99), "forwarded-p99-ms")
	b.ReportMetric(P(far, 50)-P(direct, 50), "added-p50-ms")
	b.ReportMetric(P(far, 99)-P(direct, 99), "added-p99-ms")
}
