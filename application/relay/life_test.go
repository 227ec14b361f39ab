package relay_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

// A process that another one replaced as the node stops serving at once and ends, by a refusal of its own (P10). On a copy
// of the disk the other one serves nothing until the lease of the first is over.
func TestAnotherProcessIsTheNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		first, ended := r.node, r.ended
		r.disk = r.disk.Clone()
		r.place = "elsewhere"
		began := time.Now()
		r.start()
		for len(ended) == 0 {
			if _, err := first.Gate().Write("t0"); err == nil && r.write() == "" {
				t.Fatal("both may write")
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := <-ended; fault.SlugOf(err) != "node_superseded" {
			t.Fatalf("the first ends with %v", err)
		}
		if _, err := first.Gate().Write("t0"); fault.SlugOf(err) != "node_superseded" {
			t.Fatalf("the first answers %v", err)
		}
		r.within(time.Minute, "the second may write", func() bool { return r.write() == "" })
		if waited := time.Since(began); waited < terms().Duration {
			t.Fatalf("the second waited for %v", waited)
		}
	})
}

// A restart on the same disk writes again within moments: nobody else can hold a lease.
func TestRestartWaitsForNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.within(time.Second, "it may write again", func() bool { return r.write() == "" })
	})
}

// Another data directory under the node's identity is refused, with its cure, until an operator replaced the storage (P10).
func TestAnotherStorageIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		register := placement.Registration{BootID: "b", StorageID: "other"}
		if _, err := (&authoritytest.Client{Control: r.control, Node: "n0"}).Register(t.Context(), register); err != nil {
			t.Fatal(err)
		}
		r.start()
		time.Sleep(30 * time.Second)
		s := r.node.Status()
		if f, ok := fault.As(s.Why); !ok || f.Slug != "storage_changed" || f.Cure == "" || s.Ready() || r.write() == "" {
			t.Fatalf("ready: %v, why: %v", s.Ready(), s.Why)
		}
		r.control.ReplaceStorage("n0")
		r.within(10*time.Second, "it is taken", func() bool { return r.node.Status().Ready() })
	})
}

// A copy of the running process, as of a cloned machine, beats by the same generation: each finds out, and none goes on.
func TestBeatsOfAnotherByTheSameGeneration(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		lease := r.control.Lease("n0")
		copied := &authoritytest.Client{Control: r.control, Node: "n0"}
		if _, err := copied.Beat(t.Context(), authority.Beat{Generation: lease.Generation, Sequence: lease.Sequence + 1}); err != nil {
			t.Fatal(err)
		}
		r.within(10*time.Second, "it ends", func() bool { return len(r.ended) == 1 })
		if slug := r.write(); slug != "node_superseded" {
			t.Fatalf("it answers %q", slug)
		}
	})
}

// A beat that was given up and arrived after all makes a sequence stale that is followed by a higher one: no reason to end.
func TestStaleSequenceAfterALostBeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		var beats atomic.Int64
		r.spoiled(func(method string, back bool) error {
			if method == "Beat" && !back && beats.Add(1) == 1 {
				lease := r.control.Lease("n0")
				late := &authoritytest.Client{Control: r.control, Node: "n0"}
				_, _ = late.Beat(t.Context(), authority.Beat{Generation: lease.Generation, Sequence: lease.Sequence + 2})
				return authoritytest.Lost()
			}
			return nil
		})
		time.Sleep(20 * time.Second)
		if slug := r.write(); slug != "" || beats.Load() < 3 {
			t.Fatalf("after %d beats: %q", beats.Load(), slug)
		}
	})
}

// A lost answer to registering is asked for again by the same boot id, and gives the same generation (P10).
func TestLostRegistration(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		var once atomic.Bool
		r.spoiled(func(method string, back bool) error {
			if method == "Register" && back && !once.Swap(true) {
				return authoritytest.Lost()
			}
			return nil
		})
		r.up()
		if s := r.node.Status(); s.Generation != 1 || r.called("Register") != 2 {
			t.Fatalf("generation %d after %d tries", s.Generation, r.called("Register"))
		}
	})
}

// What was seen once is the least that is accepted, over a restart too: a control plane that knows less is not followed
// (P15, D4).
func TestAcceptsNothingOlderAfterARestart(t *testing.T) {
	t.Parallel()
	for _, seen := range []engine.Seen{{Tenant: "t0", Generation: 2, Version: 1}, {Tenant: "t0", Generation: 1, Version: 2}} {
		bubble(t, func(r *rig) {
			if err := r.disk.Saw(t.Context(), []engine.Seen{seen}); err != nil {
				t.Fatal(err)
			}
			r.start()
			time.Sleep(20 * time.Second)
			if slug := r.write(); slug != "not_holder" || r.node.Counts().Older == 0 || r.disk.Look("t0").Copy.Present {
				t.Fatalf("it follows what is older than %+v: %q", seen, slug)
			}
		})
	}
}

// What was told is durable before anything rests on it: where the disk does not let it, the node goes on denying.
func TestDiskAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.start()
		r.within(5*time.Second, "it is registered", func() bool { return r.node.Status().Registered })
		r.disk.Break(errBroken)
		r.control.AddTenant("t1", "n0")
		time.Sleep(10 * time.Second)
		if _, err := r.node.Gate().Write("t1"); err == nil {
			t.Fatal("it writes what it could not remember to have been told")
		}
		r.disk.Break(nil)
		r.within(10*time.Second, "it goes on", func() bool { _, err := r.node.Gate().Write("t1"); return err == nil })
	})
}

// A change of a tenant reaches the node at once by a hint; by the poll alone where hints are lost; and by a snapshot where
// the change log is gone (A3, A4).
func TestChangesArrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost   string
		within time.Duration
	}{"by hint": {"Poll", 10 * time.Millisecond}, "by poll": {"Hints", 5 * time.Second}} {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, compacted %v", name, compacted), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(r *rig) {
					r.up()
					r.spoiled(func(method string, _ bool) error {
						if method == c.lost {
							return authoritytest.Lost()
						}
						return nil
					})
					time.Sleep(35 * time.Second)
					before := r.node.Counts()
					r.control.Suspend("t0")
					if compacted {
						r.control.Compact("t0")
					}
					r.within(c.within, "it denies", func() bool { return r.write() == "tenant_not_active" })
					if after := r.node.Counts(); (after.Snapshots > before.Snapshots) != compacted || (after.Deltas > before.Deltas) == compacted {
						t.Errorf("from %+v to %+v", before, after)
					}
					r.control.Resume("t0")
					r.within(c.within+time.Second, "it permits", func() bool { return r.write() == "" })
				})
			})
		}
	}
}

// Thousands of tenants are served by batches of bounded polls and by a bounded number of hands.
func TestThousandsOfTenants(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const many = 5000
		for i := range many {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		var now, most atomic.Int64
		r.spoiled(func(method string, back bool) error {
			if method != "Snapshot" {
				return nil
			}
			if back {
				now.Add(-1)
				return nil
			}
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(5 * time.Millisecond)
			return nil
		})
		before := runtime.NumGoroutine()
		r.start()
		all := func() (n int) {
			for _, s := range r.node.Tenants() {
				if s.Write == nil {
					n++
				}
			}
			return n
		}
		for range 100 {
			if time.Sleep(time.Second); all() == many+1 {
				break
			}
		}
		if n := all(); n != many+1 {
			t.Fatalf("%d tenants may be written", n)
		}
		time.Sleep(3 * time.Minute)
		if n, goroutines := all(), runtime.NumGoroutine()-before; n != many+1 || most.Load() > 8 || goroutines > 100 {
			t.Fatalf("after minutes %d tenants may be written, %d snapshots at a time, %d goroutines", n, most.Load(), goroutines)
		}
	})
}

// A tenant is moved there, away and back by two nodes; what is left behind is collected, and the source lets go.
func TestMoves(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		other := &rig{t: t, control: r.control, clock: newSimClock(1), calls: map[string]int{}, place: "there"}
		_ = other
		if err := r.disk.Saw(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		peer := &authoritytest.Client{Control: r.control, Node: "n1"}
		if _, err := peer.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Beat(t.Context(), authority.Beat{Generation: 1, Sequence: 1}); err != nil {
			t.Fatal(err)
		}
		id, err := r.control.Migrate("t0", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the source fenced and reported it", func() bool { return r.control.Migration(id).State == placement.PhaseCopying })
		m := r.control.Migration(id)
		if slug := r.write(); slug != "not_holder" || !r.disk.Look("t0").Copy.Fenced || r.node.Gate().Read("t0") != nil {
			t.Fatalf("while copying: %q, read: %v", slug, r.node.Gate().Read("t0"))
		}
		if err := (placement.Content{Tenant: "t0", Generation: 1}).Verify(placement.Manifest{Root: m.ManifestRoot, LastSequence: m.LastSequence}); err != nil {
			t.Fatal(err)
		}
		if err := peer.Copied(t.Context(), id, 1, placement.Manifest{Root: m.ManifestRoot}); err != nil {
			t.Fatal(err)
		}
		r.control.Sweep()
		r.within(time.Second, "the source drained", func() bool { return r.control.Migration(id).State == placement.PhaseDone })
		r.within(time.Second, "its copy is collected", func() bool { return !r.disk.Look("t0").Copy.Present })
		if seen := r.disk.Look("t0").Seen; seen.Generation != 2 {
			t.Fatalf("it forgot what it saw: %+v", seen)
		}
	})
}

// A target installs nothing but what the manifest proves to be empty; anything else fails the migration (P4).
func TestTargetRefusesData(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddTenant("t1", "n1")
		peer := &authoritytest.Client{Control: r.control, Node: "n1"}
		if _, err := peer.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
			t.Fatal(err)
		}
		r.up()
		id, err := r.control.Migrate("t1", "n0")
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the target prepared", func() bool { return r.control.Migration(id).State == placement.PhaseQuiescing })
		data, err := placement.Content{Tenant: "t1", Generation: 1, Chunks: []placement.Chunk{{Kind: "base", Length: 1}}}.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Quiesced(t.Context(), id, 1, data); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the migration failed", func() bool { return r.control.Migration(id).State == placement.PhaseFailed })
		if r.disk.Look("t1").Copy.Present {
			t.Fatal("it installed what it could not verify")
		}
	})
}

func certificateOf(tb testing.TB, chain [][]byte) *x509.Certificate {
	tb.Helper()
	c, err := x509.ParseCertificate(chain[0])
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// A lost answer to enrolling is asked for again with the same key, also by another process; the token is spent once and
// remembered (I5).
func TestLostEnrolment(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.spoiled(only("Enroll", true))
		r.start()
		time.Sleep(3 * time.Second)
		tries := r.called("Enroll")
		r.end()
		r.spoiled(nil)
		r.up()
		keys := map[string]bool{}
		for _, c := range r.control.Credentials("n0") {
			keys[c.Fingerprint] = true
		}
		spent, err := r.disk.Spent(t.Context(), identity.HashSecret(identity.JoinToken, r.token))
		if tries < 2 || len(keys) != tries+1 || err != nil || !spent {
			t.Fatalf("after %d tries there are %d certificates; spent: %v %v", tries, len(keys), spent, err)
		}
	})
}

// The certificate is renewed by half of its life, over and over; the node writes all the while. Each has a key of its own.
func TestRenews(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		keys := [][]byte{}
		for range 5 {
			chain, key, _ := r.node.Certificate()
			c := certificateOf(t, chain)
			if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
				t.Fatal("a key came back")
			}
			keys = append(keys, key)
			life := c.NotAfter.Sub(c.NotBefore)
			time.Sleep(time.Until(c.NotBefore.Add(life*4/10)) - time.Second)
			if again, _, _ := r.node.Certificate(); !bytes.Equal(again[0], chain[0]) {
				t.Fatal("renewed too early")
			}
			r.within(life/10+2*time.Second, "it is renewed", func() bool { again, _, _ := r.node.Certificate(); return !bytes.Equal(again[0], chain[0]) })
			if slug := r.write(); slug != "" {
				t.Fatalf("denied: %s", slug)
			}
		}
	})
}

// While answers to the renewal are lost the current certificate stays in use, and the prepared key is asked for again, by
// another process too (I5, LESSON 7).
func TestLostRenewals(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		chain, _, _ := r.node.Certificate()
		r.spoiled(only("Rotate", true))
		r.within(40*time.Minute, "a renewal was tried", func() bool { return r.called("Rotate") > 2 })
		next, found, err := r.disk.Prepared(t.Context())
		if again, _, _ := r.node.Certificate(); !bytes.Equal(again[0], chain[0]) || r.write() != "" || !found || err != nil {
			t.Fatalf("the current one is not in use: %q, prepared: %v %v", r.write(), found, err)
		}
		r.end()
		r.spoiled(nil)
		r.up()
		r.within(8*time.Minute, "it is renewed", func() bool { return r.node.Counts().Rotations == 1 })
		if _, key, _ := r.node.Certificate(); !key.Equal(next.Key) {
			t.Fatal("another key than the prepared one is in use")
		}
	})
}

// Whose certificate was revoked serves nothing from the next request on, says what to do, tries no spent token again, and
// goes on with another one by itself; then with a new key.
func TestRevoked(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		_, before, _ := r.node.Certificate()
		tries := r.called("Enroll")
		r.control.Revoke("n0")
		r.within(6*time.Second, "it finds out", func() bool { return r.write() == "credential_revoked" })
		time.Sleep(time.Minute)
		if f, ok := fault.As(r.node.Status().Identity.Lost); !ok || f.Cure == "" || r.called("Enroll") != tries || r.node.Status().Ready() {
			t.Fatalf("lost by %v, after %d tries", r.node.Status().Identity.Lost, r.called("Enroll")-tries)
		}
		r.give("bj_unknown")
		time.Sleep(time.Minute)
		if r.called("Enroll") != tries+1 {
			t.Fatalf("an unknown token was tried %d times", r.called("Enroll")-tries)
		}
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(20*time.Second, "it goes on", func() bool { return r.write() == "" })
		if _, after, _ := r.node.Certificate(); after.Equal(before) {
			t.Fatal("with the revoked key")
		}
	})
}

// A node that slept past its certificate serves nothing, and needs another token.
func TestSleptPastItsCertificate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.Life = time.Hour
		r.up()
		r.end()
		time.Sleep(2 * time.Hour)
		r.start()
		r.within(time.Second, "it says so", func() bool { return r.lost() == "credential_expired" })
		r.give(r.control.JoinToken("n0", time.Hour))
		r.within(time.Minute, "it goes on", func() bool { return r.write() == "" })
	})
}

// A machine whose wall clock is wrong learns the control plane's time, judges its certificate by it, and says so.
func TestWrongWallClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		bubble(t, func(r *rig) {
			r.control.Life = time.Hour
			r.clock.jump(wrong)
			r.up()
			if skew := r.node.Status().Skew; (skew + wrong).Abs() > time.Second {
				t.Fatalf("the skew is %v, the clock wrong by %v", skew, wrong)
			}
			time.Sleep(2 * time.Hour)
			if slug := r.write(); slug != "" || r.node.Counts().Rotations < 3 {
				t.Fatalf("after two hours: %q, %d renewals", slug, r.node.Counts().Rotations)
			}
		})
	}
}

// A certificate that is not of the node's own key and name is not taken, whoever gave it.
func TestStrangeCertificates(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		other := ed25519.NewKeyFromSeed(make([]byte, 32))
		csr, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, other)
		if err != nil {
			t.Fatal(err)
		}
		ofOther, err := (&authoritytest.Client{Control: r.control, Node: "n0"}).Enroll(t.Context(), r.control.JoinToken("n0", time.Hour), csr)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]engine.Credential{
			"another key": {Chain: ofOther.Chain, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))}, "none": {Key: other},
			"garbage": {Chain: [][]byte{{1, 2, 3}}, Key: other},
		} {
			if err := r.disk.Install(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r.give("")
			r.start()
			r.within(time.Second, name, func() bool { return r.lost() == "certificate_unusable" })
			if _, _, shown := r.node.Certificate(); shown {
				t.Errorf("%s: it is shown", name)
			}
			r.end()
		}
		r.give(r.control.JoinToken("n1", time.Hour)) // another node's
		r.start()
		time.Sleep(20 * time.Second)
		if _, _, shown := r.node.Certificate(); shown || r.node.Status().Ready() {
			t.Error("another node's certificate is taken")
		}
	})
}
