package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

// node is one that runs in real time, on a disk in memory.
func benchNode(b *testing.B, tune func(*relay.Settings)) (*authoritytest.Control, *relay.Node) {
	b.Helper()
	control := authoritytest.New(newSimClock(1), terms(), terms())
	control.AddNode("n0", 10_000)
	control.AddTenant("t0", "n0")
	token := control.JoinToken("n0", time.Hour)
	client := &authoritytest.Client{Control: control, Node: "n0"}
	s := relay.DefaultSettings(authoritytest.SPIFFEID("n0"))
	s.ConnectionsPerPrincipal, s.PublishRate, s.TenantPublishRate = s.MaxConnections, 1_000_000, 1_000_000
	if tune != nil {
		tune(&s)
	}
	disk := enginetest.NewMemory()
	n, err := relay.New(s, relay.Ports{
		Clock: newSimClock(1), IDs: idstest.New(1), Log: slog.New(slog.DiscardHandler), Authority: authorityOf(client),
		Disk: disk, Engines: disk, Identity: disk, Tokens: given(token), Devices: plainTokens{}, Place: "here",
	})
	if err != nil {
		b.Fatal(err)
	}
	client.Shows = func() [][]byte { chain, _, _ := n.Certificate(); return chain }
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	b.Cleanup(func() { stop(); <-ended })
	return control, n
}

type given string

func (g given) Token(context.Context) (string, error) { return string(g), nil }

func benchPhone(b *testing.B, control *authoritytest.Control, n *relay.Node) *phone {
	b.Helper()
	p := phoneOf(control.Pair("t0", authorization.Owner))
	for end := time.Now().Add(10 * time.Second); ; pass(time.Millisecond) {
		err := p.enter(context.Background(), n)
		if err == nil {
			return p
		}
		if time.Now().After(end) {
			b.Fatal(err)
		}
	}
}

// The path of a message through a session, without network and disk: asked, appended, asked again, released.
func BenchmarkPublish(b *testing.B) {
	for _, followers := range []int{0, 1} {
		b.Run(fmt.Sprintf("followers=%d", followers), func(b *testing.B) {
			control, n := benchNode(b, nil)
			p := benchPhone(b, control, n)
			for range followers {
				if _, err := p.session.Subscribe(context.Background(), p.Handles["main"], 0); err != nil {
					b.Fatal(err)
				}
			}
			ids := make([]string, b.N)
			for i := range ids {
				ids[i] = fmt.Sprint("m", i)
			}
			body, handle := []byte(`"a message"`), p.Handles["main"]
			room := make(chan struct{}, 128)
			var failed atomic.Value
			done := func(_ int64, err error) {
				if err != nil {
					failed.Store(err)
				}
				<-room
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				room <- struct{}{}
				p.session.Publish(relay.Publish{Handle: handle, ID: ids[i], Body: body}, done)
				if followers > 0 && i%64 == 0 {
					if _, _, err := p.session.Take(context.Background(), 1<<16); err != nil {
						b.Fatal(err)
					}
				}
			}
			for range cap(room) {
				room <- struct{}{}
			}
			b.StopTimer()
			if err := failed.Load(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// From the revoke's commit until 1,000 sessions of its principal have ended, with hints.
func BenchmarkRevoke(b *testing.B) {
	const many = 1000
	control, n := benchNode(b, nil)
	benchPhone(b, control, n)
	for b.Loop() {
		b.StopTimer()
		first := benchPhone(b, control, n)
		all := []*phone{first}
		for len(all) < many {
			p := phoneOf(first.Paired)
			if err := p.enter(context.Background(), n); err != nil {
				b.Fatal(err)
			}
			all = append(all, p)
		}
		b.StartTimer()
		if _, err := control.RevokePrincipal("t0", first.Principal); err != nil {
			b.Fatal(err)
		}
		for _, p := range all {
			<-p.over
		}
	}
}

// What a session costs that waits for messages of one route.
func BenchmarkIdleSession(b *testing.B) {
	const many = 20_000
	control, n := benchNode(b, nil)
	p := benchPhone(b, control, n)
	for b.Loop() {
		b.StopTimer()
		sessions := make([]*relay.Session, 0, many)
		before, goroutines := heap(), runtime.NumGoroutine()
		b.StartTimer()
		for range many {
			s, err := n.Enter(context.Background(), p.device, quiet{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Subscribe(context.Background(), p.Handles["main"], 0); err != nil {
				b.Fatal(err)
			}
			sessions = append(sessions, s)
		}
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/many, "B/session")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		for _, s := range sessions {
			s.Leave()
		}
		b.StartTimer()
	}
}

// heap is what is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type quiet struct{}

func (quiet) Wake()         {}
func (quiet) End(relay.End) {}
