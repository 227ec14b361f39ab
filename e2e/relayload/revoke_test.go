package relayload

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	liveTenants = 20
	liveEach    = 50 // devices of each, all connected
	revokes     = 400
	revokeEvery = 25 * time.Millisecond
)

// From when a revoke is asked for until the socket of the device is closed, among 1,000 that are open. The commit lies between
// the two, so that it is closed sooner after that.
func BenchmarkRevoke(b *testing.B) {
	b.Run("hints", func(b *testing.B) { revoking(b, true, byOperator) })
	b.Run("noHints", func(b *testing.B) { revoking(b, false, byOperator) })
	b.Run("byOwner", func(b *testing.B) { revoking(b, true, byOwner) })
}

// live is a device whose connection is open.
type live struct {
	*Device
	closed chan time.Time
}

func revoking(b *testing.B, hints bool, revoke func(*Site, *Relay, []string) func(*Device)) {
	s := NewSite(b)
	r := s.Relay("n1", nil)
	tenants, _ := s.Tenants("t", liveTenants)
	ask := revoke(s, r, tenants)
	all := s.open(r, tenants)
	if !hints {
		s.hop.loseHints()
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	b.ResetTimer()
	asked := make([]time.Time, revokes)
	due := time.Now()
	for i := range asked {
		due = due.Add(revokeEvery/2 + rand.N(revokeEvery))
		pause(time.Until(due))
		asked[i] = time.Now()
		ask(all[i].Device)
	}
	took := histogram()
	const patience = 30 * time.Second
	late := time.After(patience)
	for i := range asked {
		select {
		case at := <-all[i].closed:
			record(took, at.Sub(asked[i]))
		case <-late:
			b.Fatalf("%s is revoked and still connected", all[i].Principal)
		}
	}
	b.StopTimer()
	for _, other := range all[revokes:] {
		select {
		case <-other.closed:
			b.Fatalf("%s was not revoked, and its connection was closed", other.Principal)
		default:
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(P(took, 50), "p50-ms")
	b.ReportMetric(P(took, 99), "p99-ms")
	b.ReportMetric(P(took, 100), "max-ms")
}

// open pairs and connects devices of every tenant, and sees when each connection is closed.
func (s *Site) open(r *Relay, tenants []string) (all []*live) {
	s.tb.Helper()
	for _, tenant := range tenants {
		for range liveEach {
			all = append(all, &live{s.Paired(tenant, "member"), make(chan time.Time, 1)})
		}
	}
	for _, l := range all {
		socket := s.Connect(r, l.Device)
		go func() {
			var err error
			for err == nil {
				_, err = socket.Next() // the goaway comes before the end
			}
			l.closed <- time.Now()
		}()
	}
	return all
}

// byOperator revokes through the control plane, of which the node hears.
func byOperator(s *Site, _ *Relay, _ []string) func(*Device) {
	return func(d *Device) {
		s.Operator("POST", fmt.Sprintf("/api/v1/tenants/%s/principals/%s/revoke", d.Tenant, d.Principal), nil, http.StatusOK, nil)
	}
}

// byOwner revokes by an owner's device, through the node.
func byOwner(s *Site, r *Relay, tenants []string) func(*Device) {
	owners := map[string]*Socket{}
	var mu sync.Mutex
	for _, tenant := range tenants {
		owners[tenant] = s.Connect(r, s.Paired(tenant, "owner"))
	}
	return func(d *Device) {
		mu.Lock()
		defer mu.Unlock()
		owner := owners[d.Tenant]
		owner.Add(Text, fmt.Appendf(nil, `{"op":"revoke","principal":%q}`, d.Principal))
		must(s.tb, owner.Flush())
		answer, err := owner.Next()
		must(s.tb, err)
		if !hasOp(answer, "revoked") {
			s.tb.Fatalf("%s was not revoked: %s", d.Principal, answer)
		}
	}
}
