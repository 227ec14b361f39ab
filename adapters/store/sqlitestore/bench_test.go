package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/store/sqlitestore"
	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

const (
	fleetSize = 1000
	callers   = 256
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// fleet opens a store with registered nodes, each with a credential.
func fleet(tb testing.TB, size int) *sqlitestore.Store {
	tb.Helper()
	s := open(tb, filepath.Join(tb.TempDir(), "control.db"))
	do(tb, s, func(ctx context.Context, r *store.Roles) error {
		for i := range size {
			id := nodeName(i)
			node := placement.RestoreNode(placement.NodeRecord{
				ID: id, Region: "eu", Status: placement.NodeActive, Schedulable: true, CreatedAt: noon, ChangedAt: noon,
			})
			lease := placement.RestoreLease(placement.LeaseRecord{
				Node: id, BootID: "01jz0000000000000000000000", StorageID: "01jz0000000000000000000001", Version: "1.0.0",
				Advertise: "10.0.0.1:7443", Generation: 1, Reported: placement.Boundless(), BeatAt: noon, RegisteredAt: noon,
			})
			credential := identity.RestoreCredential(identity.CredentialRecord{
				Node: id, SPIFFEID: "spiffe://berth/relay/eu/" + id, Fingerprint: fingerprint(i), IssuedAt: noon,
				ExpiresAt: noon.Add(time.Hour), State: identity.CredentialCurrent, UsedAt: noon,
			})
			if err := errors.Join(r.Nodes.Create(ctx, node), r.Leases.Create(ctx, lease), r.Credentials.Create(ctx, credential)); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

func nodeName(i int) string    { return fmt.Sprintf("node-%04d", i) }
func fingerprint(i int) string { return fmt.Sprintf("%064x", i) }

func do(tb testing.TB, s store.Store, fn func(context.Context, *store.Roles) error) {
	tb.Helper()
	if err := s.Atomically(tb.Context(), fn); err != nil {
		tb.Fatal(err)
	}
}

// crowd runs fn b.N times over from so many goroutines.
func crowd(b *testing.B, many int, fn func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
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

// 256 callers beat for 1,000 nodes, each beat with a ticket of its own.
func BenchmarkBeat256(b *testing.B) {
	s := fleet(b, fleetSize)
	var sequence atomic.Int64
	crowd(b, callers, func(i int) error {
		at := sequence.Add(1)
		t := store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprintf("%032x", i), ExpiresAt: noon.Add(time.Minute)}
		_, err := s.Beat(b.Context(), nodeName(i%fleetSize), t, func(_ *placement.Node, l *placement.Lease) error {
			record := l.Record()
			record.Sequence, record.BeatAt = at, noon.Add(time.Duration(i)*time.Millisecond)
			*l = *placement.RestoreLease(record)
			return nil
		})
		return err
	})
}

func BenchmarkCaller(b *testing.B) {
	s := fleet(b, fleetSize)
	crowd(b, callers, func(i int) error {
		_, _, err := s.Caller(b.Context(), fingerprint(i%fleetSize))
		return err
	})
}

// One node polls for 500 tenants, none of which changed, on a store of 20,000.
func BenchmarkDiffering500(b *testing.B) {
	const tenants, of = 20_000, 500
	s := open(b, filepath.Join(b.TempDir(), "control.db"))
	do(b, s, func(ctx context.Context, r *store.Roles) error {
		for i := range tenants {
			id := fmt.Sprintf("tenant-%06d", i)
			head := authorization.RestoreTenant(authorization.TenantRecord{ID: id, Status: authorization.TenantActive, Revision: 7, Floor: 1})
			at := placement.Restore(placement.Record{
				Tenant: id, HomeRegion: "eu", Node: nodeName(i % (tenants / of)), Generation: 3, Version: 9, ChangedAt: noon,
			})
			if err := errors.Join(r.Tenants.Create(ctx, head), r.Placements.Create(ctx, at)); err != nil {
				return err
			}
		}
		return nil
	})
	var known []store.Known
	for i := 0; i < tenants; i += tenants / of {
		known = append(known, store.Known{Tenant: fmt.Sprintf("tenant-%06d", i), Generation: 3, Revision: 7})
	}
	for b.Loop() {
		err := s.View(b.Context(), func(ctx context.Context, r *store.Roles) error {
			differing, absent, err := r.Standings.Differing(ctx, nodeName(0), known)
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

// One transaction as a use case makes it: it reads and writes a record, spends a ticket and writes an audit entry.
func BenchmarkAtomicallySmall(b *testing.B) {
	s := fleet(b, 10)
	i := 0
	for b.Loop() {
		i++
		do(b, s, func(ctx context.Context, r *store.Roles) error {
			t := store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprintf("%032x", i), ExpiresAt: noon.Add(time.Minute)}
			return errors.Join(r.Nonces.Spend(ctx, t),
				store.UpdateIn(ctx, r.Nodes, nodeName(i%10), func(*placement.Node) error { return nil }),
				r.Audit.Append(ctx, audit.Draft{
					At: noon, Actor: audit.Actor{Kind: audit.ActorNode, ID: nodeName(i % 10)}, Action: "node.changed",
					Subject: "node/" + nodeName(i%10),
				}))
		})
	}
}
