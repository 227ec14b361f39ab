package server_test

import (
	"context"
	"encoding/pem"
	"sync"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/application/trust"
	"berth/cmd/internal/devca"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

// operator is a client with an admin's token.
func (r *running) operator() apiclient.Operator {
	r.tb.Helper()
	made, err := r.process.Trust.CreateToken(context.Background(), trust.CreateTokenRequest{
		Actor: audit.Actor{Kind: audit.ActorSystem, ID: "test"}, By: trust.Operator{Role: identity.RoleAdmin}, Name: "test",
		Role: identity.RoleAdmin,
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("api"), Proof: apiclient.Bearer(made.Clear)})
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(c.Close)
	return apiclient.NewOperator(c)
}

// admitted defines a region and the node n1, and has its certificate admitted, whose fingerprint it returns.
func (r *running) admitted(o apiclient.Operator) string {
	r.tb.Helper()
	ca, err := devca.Open(r.tb.TempDir(), "berth.example", time.Now())
	if err != nil {
		r.tb.Fatal(err)
	}
	cert := client(r.tb, ca, "n1")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	ctx := r.tb.Context()
	_, regionErr := o.CreateRegion(ctx, contract.NewRegion{ID: "eu", Origin: "https://eu.example"})
	_, nodeErr := o.CreateNode(ctx, contract.NewNode{ID: "n1", Region: "eu", Capacity: contract.Capacity{Tenants: 1, Bytes: 1}})
	_, certErr := o.AdmitCredential(ctx, "n1", string(text))
	for _, err := range []error{regionErr, nodeErr, certErr} {
		if err != nil {
			r.tb.Fatal(err)
		}
	}
	return identity.FingerprintOf(cert.Certificate[0])
}

// No timeout on reading a request cuts a long poll short, be it a GET or a POST, nor spoils its connection for what
// comes after.
func TestLongPollsOutliveReadTimeouts(t *testing.T) {
	t.Parallel()
	r := run(t)
	node := r.nodeOf("unix:"+r.dir+"/s", "one", "a", r.admitted(r.operator()), nil)
	in, err := node.Register(t.Context(), contract.Register{BootID: "b", StorageID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := node.Assignments(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := node.Poll(t.Context(), []contract.Known{}, 7*time.Second); err != nil {
			t.Errorf("a poll by POST: %v", err)
		}
	})
	all.Go(func() {
		if _, changed, err := node.Assignments(t.Context(), now.Version, 17*time.Second); err != nil || changed {
			t.Errorf("a poll by GET: %v %v", changed, err)
		}
	})
	all.Wait()
	if _, err := node.Heartbeat(t.Context(), contract.Heartbeat{Generation: in.Generation, Sequence: 1}); err != nil {
		t.Errorf("a beat on a connection that waited: %v", err)
	}
	r.finish()
}

// What ends a node ends its waiting polls too, long before their wait is over, and with the reason.
func TestWaitingPollsEndWithTheirNode(t *testing.T) {
	t.Parallel()
	const wait, bound = 30 * time.Second, 15 * time.Second // between them nobody asks after a certificate by itself
	for what, end := range map[string]func(ctx context.Context, o apiclient.Operator, fingerprint string) error{
		"credential_revoked": func(ctx context.Context, o apiclient.Operator, fingerprint string) error {
			_, err := o.RevokeCredential(ctx, "n1", fingerprint, "stolen")
			return err
		},
		"node_retired": func(ctx context.Context, o apiclient.Operator, _ string) error {
			_, err := o.RetireNode(ctx, "n1")
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := run(t)
			o := r.operator()
			fingerprint := r.admitted(o)
			node := r.nodeOf("unix:"+r.dir+"/s", "one", "a", fingerprint, nil)
			if _, err := node.Register(t.Context(), contract.Register{BootID: "b", StorageID: "s"}); err != nil {
				t.Fatal(err)
			}
			now, _, err := node.Assignments(t.Context(), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 2)
			go func() {
				_, err := node.Poll(t.Context(), []contract.Known{}, wait)
				ended <- err
			}()
			go func() {
				_, _, err := node.Assignments(t.Context(), now.Version, wait)
				ended <- err
			}()
			r.shows("berth_hint_subscriptions 2")
			if err := end(t.Context(), o, fingerprint); err != nil {
				t.Fatal(err)
			}
			late := time.After(bound)
			for range 2 {
				select {
				case err := <-ended:
					if fault.SlugOf(err) != what {
						t.Errorf("a waiting poll was told %v", err)
					}
				case <-late:
					t.Fatalf("a poll still waits %s after the answer", bound)
				}
			}
			r.finish()
		})
	}
}
