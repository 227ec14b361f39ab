package load

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/harness"
)

func start(b *testing.B) *harness.Server {
	b.Helper()
	s := harness.Start(b)
	s.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "eu", Origin: "https://eu.relay.test"}, 201, nil)
	return s
}

// Durable heartbeats through HTTP, assertion checked, 256 nodes beating at once.
func BenchmarkHeartbeats256Nodes(b *testing.B) {
	const nodes = 256
	s := start(b)
	var beaters []*beater
	for i := range nodes {
		n := s.NewNode(fmt.Sprintf("n%03d", i), "eu", 10)
		w, err := dial(s.Socket)
		if err != nil {
			b.Fatal(err)
		}
		beaters = append(beaters, &beater{n: n, w: w, secret: s.Secret, took: hdrhistogram.New(1, 60_000_000, 3)})
	}
	before := s.CPU()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for _, x := range beaters {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := x.beat(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	total := hdrhistogram.New(1, 60_000_000, 3)
	for _, x := range beaters {
		total.Merge(x.took)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "beats/s")
	b.ReportMetric((s.CPU()-before).Seconds()*1e6/float64(b.N), "server-µs/beat")
	report(b, total)
}

func report(b *testing.B, h *hdrhistogram.Histogram) {
	b.ReportMetric(float64(h.ValueAtQuantile(50))/1000, "p50-ms")
	b.ReportMetric(float64(h.ValueAtQuantile(99))/1000, "p99-ms")
}

type beater struct {
	n      *harness.Node
	w      *wire
	secret identity.IngressSecret
	took   *hdrhistogram.Histogram
}

func (x *beater) beat() error {
	x.n.Sequence++
	path := "/nodes/" + x.n.ID + "/heartbeat"
	body := fmt.Appendf(nil, `{"generation":%d,"sequence":%d,"usage":{"tenants":1,"bytes":1000}}`, x.n.Generation, x.n.Sequence)
	value, err := identity.Seal(x.secret, x.n.Payload("POST", path, body))
	if err != nil {
		return err
	}
	began := time.Now()
	status, data, err := x.w.post(harness.InternalHost, "/internal/v1"+path, contract.HeaderAssertion, value, body)
	if err == nil && status != 200 {
		err = fmt.Errorf("%s: status %d: %s", path, status, data)
	}
	_ = x.took.RecordValue(time.Since(began).Microseconds())
	return err
}

// A batched poll of 500 tenants of which none changed.
func BenchmarkPoll500Unchanged(b *testing.B) {
	const tenants = 500
	s := start(b)
	n := s.NewNode("n", "eu", tenants)
	poll := contract.Poll{}
	for i := range tenants {
		id := fmt.Sprintf("tenant-%04d", i)
		var t contract.Tenant
		s.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: id, HomeRegion: "eu"}, 201, &t)
		poll.Tenants = append(poll.Tenants, contract.Known{Tenant: id, Generation: 1, Revision: t.Authorization.Revision})
	}
	body, err := json.Marshal(poll)
	if err != nil {
		b.Fatal(err)
	}
	w, err := dial(s.Socket)
	if err != nil {
		b.Fatal(err)
	}
	took := hdrhistogram.New(1, 60_000_000, 3)
	const path = "/nodes/n/authorization/poll"
	before := s.CPU()
	for b.Loop() {
		value, err := identity.Seal(s.Secret, n.Payload("POST", path, body))
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		status, data, err := w.post(harness.InternalHost, "/internal/v1"+path, contract.HeaderAssertion, value, body)
		if err != nil || status != 200 || !strings.Contains(string(data), `"tenants":[]`) {
			b.Fatal(status, string(data), err)
		}
		_ = took.RecordValue(time.Since(began).Microseconds())
	}
	b.ReportMetric((s.CPU()-before).Seconds()*1e6/float64(b.N), "server-µs/poll")
	report(b, took)
}

// From the answer to an operator's revoke back to the moment at which a waiting poll has answered: how much later the
// node knows than the operator.
func BenchmarkRevokeReachesWaitingPoll(b *testing.B) {
	s := start(b)
	n := s.NewNode("n", "eu", 10)
	s.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: "acme", HomeRegion: "eu"}, 201, nil)
	s.Pair("acme", "owner", "desktop")
	took := hdrhistogram.New(1, 60_000_000, 3)
	for b.Loop() {
		b.StopTimer()
		d := s.Pair("acme", "member", "phone")
		var t contract.Tenant
		s.Operator("GET", "/api/v1/tenants/acme", nil, 200, &t)
		known := contract.Poll{Wait: 30, Tenants: []contract.Known{{Tenant: "acme", Generation: 1, Revision: t.Authorization.Revision}}}
		waiting := s.Waiting()
		answered := make(chan time.Time, 1)
		go func() {
			n.Call("POST", "/nodes/n/authorization/poll", known, 200, nil)
			answered <- time.Now()
		}()
		s.Eventually("the poll waits", func() bool { return s.Waiting() > waiting })
		b.StartTimer()
		s.Operator("POST", "/api/v1/tenants/acme/principals/"+d.Principal+"/revoke", nil, 200, nil)
		committed := time.Now()
		_ = took.RecordValue(max(1, (<-answered).Sub(committed).Microseconds()))
	}
	report(b, took)
}

// The memory of a berthd that has started and does nothing.
func BenchmarkIdleMemory(b *testing.B) {
	s := start(b)
	for b.Loop() {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/status")
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(kib/1024, "MiB")
	}
}
