package relayload

import (
	"fmt"
	"testing"
	"time"
)

// The two loads of the durable path: many tenants with a device each, and one tenant with many devices.
const (
	manyTenants    = 200
	eachInFlight   = 16 // publishes of a device that are not acknowledged
	manyPublishers = 64
)

// shape is a load: so many tenants with so many publishing devices each.
type shape struct {
	name             string
	tenants, devices int
	inFlight         int64
	goal             float64 // durable publishes a second
}

func shapes() []shape {
	return []shape{
		{"200tenants", manyTenants, 1, eachInFlight, 20_000},
		{"1tenant64publishers", 1, manyPublishers, 1, 8_000},
		{"1tenant64publishers16each", 1, manyPublishers, eachInFlight, 8_000},
	}
}

// lanes connects the devices of a load; a lane's name says which tenant it is of.
func (s *Site) lanes(r *Relay, tenants []string, devices int, p *Phase) (lanes []*Lane, names []string) {
	s.tb.Helper()
	for i, tenant := range tenants {
		for j := range devices {
			d, name := s.Paired(tenant, "member"), fmt.Sprintf("%d.%d", i, j)
			lanes, names = append(lanes, NewLane(s.Connect(r, d), NewBerthLane(name, d.RouteHandles[0].Handle, Payload), p)), append(names, name)
		}
	}
	return lanes, names
}

// Durable publishes, acknowledged each, as many as fit: publishers wait for acknowledgements and for nothing else.
func BenchmarkPublish(b *testing.B) {
	for _, load := range shapes() {
		b.Run(load.name, func(b *testing.B) {
			result := berthKeeping(b, load)
			result.Report(b)
			b.ReportMetric(result.Rate()/load.goal, "of-goal")
		})
	}
}

func berthKeeping(b *testing.B, load shape) Result {
	s := NewSite(b)
	r := s.Relay("n1", nil)
	tenants, _ := s.Tenants("t", load.tenants)
	p := &Phase{}
	lanes, _ := s.lanes(r, tenants, load.devices, p)
	result := Drive(b, p, []*Process{r.Process}, lanes, func(_ int, l *Lane) { l.Keep(load.inFlight) })
	s.kept(r, tenants[0], lanes[:load.devices])
	return result
}

// kept checks that a tenant's route has what was acknowledged, each once.
func (s *Site) kept(r *Relay, tenant string, lanes []*Lane) {
	s.tb.Helper()
	d := s.Paired(tenant, "member")
	head, err := Subscribe(s.Connect(r, d), d.RouteHandles[0].Handle, 0)
	must(s.tb, err)
	var want int64
	for _, l := range lanes {
		want += l.done
	}
	if head != want {
		s.tb.Fatalf("the route of %s has %d messages, and %d were acknowledged", tenant, head, want)
	}
}

// pace is a load of which it is known when its messages are sent.
type pace struct {
	name             string
	tenants, devices int
	every            time.Duration // a device sends so often
	together         int           // so many messages
}

// Half of what is aimed at: of many tenants each device for itself, or in bursts; and of one tenant.
func paces() []pace {
	const half, of1 = 10_000, 4_000
	return []pace{
		{"200tenants", manyTenants, 1, manyTenants * time.Second / half, 1},
		{"200tenantsBursts", manyTenants, 1, 5 * manyTenants * time.Second / half, 5},
		{"1tenant64publishers", 1, manyPublishers, manyPublishers * time.Second / of1, 1},
	}
}

// From when a message is due to be sent until a subscriber of its route has it, at half of the rates that are aimed at. Every
// tenant has one subscriber.
func BenchmarkDelivery(b *testing.B) {
	for _, load := range paces() {
		b.Run(load.name, func(b *testing.B) {
			s := NewSite(b)
			r := s.Relay("n1", nil)
			tenants, _ := s.Tenants("t", load.tenants)
			p := &Phase{}
			lanes, names := s.lanes(r, tenants, load.devices, p)
			followers := s.followers(r, tenants, lanes, names, p)
			b.ResetTimer()
			result := Drive(b, p, []*Process{r.Process}, lanes, func(i int, l *Lane) {
				l.Pace(load.every*time.Duration(i)/time.Duration(len(lanes)), load.every, load.together)
			})
			b.StopTimer()
			took := histogram()
			for _, f := range followers {
				took.Merge(f.took)
				must(b, f.Close())
			}
			result.Report(b)
			b.ReportMetric(float64(took.TotalCount())/result.Elapsed.Seconds(), "deliveries/s")
			b.ReportMetric(P(took, 50), "p50-ms")
			b.ReportMetric(P(took, 99), "p99-ms")
		})
	}
}

func (s *Site) followers(r *Relay, tenants []string, lanes []*Lane, names []string, p *Phase) (all []*Follower) {
	s.tb.Helper()
	by := map[string]*Lane{}
	for i, l := range lanes {
		by[names[i]] = l
	}
	for _, tenant := range tenants {
		d := s.Paired(tenant, "member")
		f, err := Follow(s.Connect(r, d), d.RouteHandles[0].Handle, by, p)
		must(s.tb, err)
		all = append(all, f)
	}
	return all
}
