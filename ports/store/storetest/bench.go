package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// Opener makes an empty store.
type Opener = func(tb testing.TB) store.Store

// NodeName is that of a node that Fleet registers.
func NodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// Fingerprint is that of its credential.
func Fingerprint(i int) string { return fmt.Sprintf("%064x", i) }

// Fleet registers nodes, each with a credential.
func Fleet(ctx context.Context, r *store.Roles, size int) error {
	for i := range size {
		id := NodeName(i)
		node := placement.RestoreNode(placement.NodeRecord{
			ID: id, Region: "eu", Status: placement.NodeActive, Schedulable: true, CreatedAt: noon, ChangedAt: noon,
		})
		lease := placement.RestoreLease(placement.LeaseRecord{
			Node: id, BootID: "01jz0000000000000000000000", StorageID: "01jz0000000000000000000001", Version: "1.0.0",
			Advertise: "10.0.0.1:7443", Generation: 1, Reported: placement.Boundless(), BeatAt: noon, RegisteredAt: noon,
		})
		credential := identity.RestoreCredential(identity.CredentialRecord{
			Node: id, SPIFFEID: "spiffe://berth/relay/eu/" + id, Fingerprint: Fingerprint(i), IssuedAt: noon,
			ExpiresAt: noon.Add(time.Hour), State: identity.CredentialCurrent, UsedAt: noon,
		})
		if err := errors.Join(r.Nodes.Create(ctx, node), r.Leases.Create(ctx, lease), r.Credentials.Create(ctx, credential)); err != nil {
			return err
		}
	}
	return nil
}

// Fleeted makes a store with a fleet.
func Fleeted(tb testing.TB, open Opener, size int) store.Store {
	tb.Helper()
	s := open(tb)
	if err := s.Atomically(tb.Context(), func(ctx context.Context, r *store.Roles) error { return Fleet(ctx, r, size) }); err != nil {
		tb.Fatal(err)
	}
	return s
}

const (
	fleetSize = 1000
	callers   = 256
)

// among runs fn b.N times over from so many goroutines, and reports the rate.
func among(b *testing.B, many int, fn func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range many {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := fn(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchBeats lets 256 callers beat for 1,000 nodes, each beat with a ticket of its own.
func BenchBeats(b *testing.B, open Opener) {
	b.Helper()
	s := Fleeted(b, open, fleetSize)
	var sequence atomic.Int64
	among(b, callers, func(i int) error {
		at := sequence.Add(1)
		t := store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprintf("%032x", i), ExpiresAt: noon.Add(time.Minute)}
		_, err := s.Beat(b.Context(), NodeName(i%fleetSize), t, func(_ *placement.Node, l *placement.Lease) error {
			record := l.Record()
			record.Sequence, record.BeatAt = at, noon.Add(time.Duration(i)*time.Millisecond)
			*l = *placement.RestoreLease(record)
			return nil
		})
		return err
	})
}

// BenchCallers lets 256 callers ask who they are.
func BenchCallers(b *testing.B, open Opener) {
	b.Helper()
	s := Fleeted(b, open, fleetSize)
	among(b, callers, func(i int) error {
		_, _, err := s.Caller(b.Context(), Fingerprint(i%fleetSize))
		return err
	})
}

// BenchDiffering lets one node poll for 500 tenants, none of which changed, on a store of 20,000.
func BenchDiffering(b *testing.B, open Opener) {
	b.Helper()
	const tenants, of = 20_000, 500
	s := open(b)
	tenant := func(i int) string { return fmt.Sprintf("tenant-%06d", i) }
	fill := func(from int) func(context.Context, *store.Roles) error {
		return func(ctx context.Context, r *store.Roles) error {
			for i := from; i < from+of; i++ {
				head := authorization.RestoreTenant(authorization.TenantRecord{
					ID: tenant(i), Status: authorization.TenantActive, Revision: 7, Floor: 1,
				})
				at := placement.Restore(placement.Record{
					Tenant: tenant(i), HomeRegion: "eu", Node: NodeName(i % (tenants / of)), Generation: 3, Version: 9, ChangedAt: noon,
				})
				if err := errors.Join(r.Tenants.Create(ctx, head), r.Placements.Create(ctx, at)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for from := 0; from < tenants; from += of {
		if err := s.Atomically(b.Context(), fill(from)); err != nil {
			b.Fatal(err)
		}
	}
	var known []store.Known
	for i := 0; i < tenants; i += tenants / of {
		known = append(known, store.Known{Tenant: tenant(i), Generation: 3, Revision: 7})
	}
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(b.Context(), func(ctx context.Context, r *store.Roles) error {
			differing, absent, err := r.Standings.Differing(ctx, NodeName(0), known)
			if err == nil && len(differing)+len(absent) != 0 {
				err = fmt.Errorf("%d differ, %d are absent", len(differing), len(absent))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchView reads one record.
func BenchView(b *testing.B, open Opener) {
	b.Helper()
	s := Fleeted(b, open, 10)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.View(b.Context(), func(ctx context.Context, r *store.Roles) error {
			_, err := r.Nodes.Get(ctx, NodeName(3))
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchSmall is a transaction as a use case makes it, from so many callers at once: it reads and writes a record, spends
// a ticket and writes an audit entry.
func BenchSmall(b *testing.B, open Opener, many int) {
	b.Helper()
	const nodes = 64
	s := Fleeted(b, open, nodes)
	among(b, many, func(i int) error {
		return s.Atomically(b.Context(), func(ctx context.Context, r *store.Roles) error {
			t := store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprintf("%032x", i), ExpiresAt: noon.Add(time.Minute)}
			return errors.Join(r.Nonces.Spend(ctx, t),
				store.UpdateIn(ctx, r.Nodes, NodeName(i%nodes), func(*placement.Node) error { return nil }),
				r.Audit.Append(ctx, audit.Draft{
					At: noon, Actor: audit.Actor{Kind: audit.ActorNode, ID: NodeName(i % nodes)}, Action: "node.changed",
					Subject: "node/" + NodeName(i%nodes),
				}))
		})
	})
}
