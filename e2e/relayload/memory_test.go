package relayload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	idleConnections = 10_000
	idleTenants     = 100
	dialling        = 32               // at a time
	settled         = 20 * time.Second // after what it took to connect; the runtime gives memory back by and by
	gib             = 1 << 30
)

// What an idle connection costs a node in memory: 10,000 of 100 tenants' devices, each a WebSocket over TLS. What the node
// takes with the tenants open and nobody connected is taken off.
func BenchmarkIdleConnections(b *testing.B) {
	s := NewSite(b)
	r := s.Relay("n1", nil)
	tenants, _ := s.Tenants("t", idleTenants)
	var devices []*Device
	for _, tenant := range tenants {
		devices = append(devices, s.Paired(tenant, "member"))
		s.Connect(r, devices[len(devices)-1]).Close()
	}
	pause(settled)
	before := r.Resident()
	b.ResetTimer()
	began := time.Now()
	sockets := s.crowd(r, devices, idleConnections)
	took := time.Since(began)
	peak := r.Resident()
	pause(settled)
	after := r.Resident()
	b.StopTimer()
	for i := range sockets { // each is still there: what it asks is answered
		if rand.N(100) == 0 {
			_, err := Subscribe(sockets[i], devices[i%len(devices)].RouteHandles[0].Handle, 0)
			must(b, err)
		}
	}
	each := float64(after-before) / idleConnections
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each/1024, "KiB/connection")
	b.ReportMetric(gib/each, "connections/GiB")
	b.ReportMetric(gib*idleConnections/float64(after), "connections/GiB-all-told")
	b.ReportMetric(float64(peak-before)/idleConnections/1024, "KiB/connection-at-once")
	b.ReportMetric(idleConnections/took.Seconds(), "connects/s")
}

// crowd opens many connections of some devices, some at a time; connection i is of device i modulo their number.
func (s *Site) crowd(r *Relay, devices []*Device, count int) []*Socket {
	s.tb.Helper()
	out := make([]*Socket, count)
	errs := make(chan error, dialling)
	var all sync.WaitGroup
	for w := range dialling {
		all.Go(func() {
			for i := w; i < count; i += dialling {
				e := s.Endpoint(r, devices[i%len(devices)])
				e.From = fmt.Sprintf("127.0.0.%d", 2+i/idleConnections) // an address has no more than 28,000 ports
				socket, err := Open(e)
				if err != nil {
					errs <- err
					return
				}
				out[i] = socket
			}
		})
	}
	all.Wait()
	s.tb.Cleanup(func() {
		for _, socket := range out {
			if socket != nil {
				socket.Close()
			}
		}
	})
	select {
	case err := <-errs:
		s.tb.Fatal(err)
	default:
	}
	return out
}

const (
	stalledReaders = 200
	stallRate      = 500 // messages a second that nobody takes
)

// What devices cost that subscribe to a busy route and then read nothing, for as long as the node puts up with them: the
// most that the node grows by, beside what the same load takes without them.
func BenchmarkStalledReaders(b *testing.B) {
	s := NewSite(b)
	r := s.Relay("n1", nil)
	tenants, _ := s.Tenants("t", 1)
	publisher, reader := s.Paired(tenants[0], "member"), s.Paired(tenants[0], "member")
	handle := reader.RouteHandles[0].Handle
	p := &Phase{}
	large := `"` + strings.Repeat("x", 16<<10) + `"`
	lane := NewLane(s.Connect(r, publisher), NewBerthLane("l", publisher.RouteHandles[0].Handle, large), p)
	watch := func(during time.Duration) (most int64) {
		for began := time.Now(); time.Since(began) < during; pause(20 * time.Millisecond) {
			most = max(most, r.Resident())
		}
		return most
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		lane.Pace(0, time.Second/stallRate, 1)
	}()
	without := watch(settled / 2)
	files := r.Files()
	b.ResetTimer()
	for range stalledReaders {
		_, err := Subscribe(s.Connect(r, reader), handle, 0)
		must(b, err)
	}
	most := watch(settled)
	b.StopTimer()
	p.now.Store(ended)
	<-done
	must(b, lane.err)
	if left := r.Files() - files; left > stalledReaders/10 { // others come and go
		b.Fatalf("%d readers took nothing, and about %d are still connected", stalledReaders, left)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(most-without)/stalledReaders/1024, "KiB/reader")
	b.ReportMetric(float64(without)/(1<<20), "MiB-without")
	b.ReportMetric(float64(most)/(1<<20), "MiB-with")
}
