package relayd_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"berth/adapters/clock/systemclock"
	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

// The cost of one question, with its two readings of the clocks, among 5,000 tenants.
func BenchmarkGate(b *testing.B) {
	clock, err := systemclock.New()
	if err != nil {
		b.Fatal(err)
	}
	control := authoritytest.New(clock, placement.DefaultLeaseTerms(), placement.DefaultLeaseTerms())
	control.AddNode("n0", 10_000)
	for i := range 5000 {
		control.AddTenant(fmt.Sprintf("t%d", i), "n0")
	}
	phone := control.Pair("t4999", authorization.Owner)
	disk := enginetest.NewMemory()
	client := &authoritytest.Client{Control: control, Node: "n0"}
	n, err := relay.New(relay.DefaultSettings(authoritytest.SPIFFEID("n0")), relay.Ports{
		Clock: clock, IDs: idstest.New(1), Log: slog.New(slog.DiscardHandler),
		Authority: relay.Authority{
			Leases: client, Assignments: client, Authorizations: client, Migrations: client, Credentials: client, Enrolment: client,
		},
		Disk: disk, Engines: disk, Identity: disk, Tokens: fixed(control.JoinToken("n0", time.Hour)),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = n.Run(ctx) }()
	gate := n.Gate()
	device := relay.Device{Tenant: phone.Tenant, Principal: phone.Principal, TokenID: "token", ExpiresAt: time.Now().Add(time.Hour)}
	for { // a tenant that nobody uses is not looked after
		if _, err := n.Enter(ctx, device, still{}); err == nil {
			break
		}
		<-time.After(time.Millisecond)
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := gate.Write("t4999"); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	stop()
	<-ended
}

// still is a line of which nothing is awaited.
type still struct{}

func (still) Wake()         {}
func (still) End(relay.End) {}

type fixed string

func (f fixed) Token(context.Context) (string, error) { return string(f), nil }
