package relay_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/ports/authority/authoritytest"
)

// enrolled has a node enrol, or enrol anew, and returns its certificate.
func (r *rig) enrolled(node string) *x509.Certificate {
	r.t.Helper()
	r.boots++
	seed := make([]byte, ed25519.SeedSize)
	seed[0], seed[1] = 77, byte(r.boots)
	csr, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, ed25519.NewKeyFromSeed(seed))
	if err != nil {
		r.t.Fatal(err)
	}
	issued, err := (&authoritytest.Client{Control: r.control, Node: node}).Enroll(r.t.Context(), r.control.JoinToken(node, time.Hour), csr)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(issued.Chain[0])
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// lines are connections that a test holds open, by name.
type lines struct {
	mu  sync.Mutex
	cut map[string][]string // why each was cut
}

func (l *lines) cutter(name string) func(error) {
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.cut == nil {
			l.cut = map[string][]string{}
		}
		l.cut[name] = append(l.cut[name], slugOf(err))
	}
}

func (l *lines) why(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cut[name]) > 1 {
		return "cut twice"
	}
	if len(l.cut[name]) == 1 {
		return l.cut[name][0]
	}
	return ""
}

// A peer is believed once it is listed, one that was just renewed at once, and one whose certificate is revoked is cut with the
// next list, its open connections included; the others go on.
func TestRevokedPeerIsCut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddNode("n2", 10)
		r.up()
		n1 := r.enrolled("n1")
		pass(2 * time.Second)
		var l lines
		link, err := r.node.BelievePeer(r.t.Context(), n1, "", l.cutter("n1"))
		if err != nil || link.Node() != "n1" {
			t.Fatalf("a peer that was just enrolled: %v", err)
		}
		n2 := r.enrolled("n2")
		pass(2 * time.Second)
		if _, err := r.node.BelievePeer(r.t.Context(), n2, authoritytest.SPIFFEID("n2").String(), l.cutter("n2")); err != nil {
			t.Fatalf("another: %v", err)
		}
		closed, err := r.node.BelievePeer(r.t.Context(), n1, "", l.cutter("closed"))
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
		closed.Close()
		if n := r.node.PeerLinks(); n != 2 {
			t.Fatalf("%d links are open", n)
		}
		r.control.Revoke("n1")
		pass(time.Second)
		if _, err := r.node.BelievePeer(r.t.Context(), r.enrolled("n2"), "", l.cutter("n2 anew")); err != nil || l.why("n1") == "" {
			t.Fatalf("a list was taken, %v, and the peer that is not on it is not cut", err)
		}
		r.within(20*time.Second, "the revoked peer is cut", func() bool { return l.why("n1") == "peer_not_listed" })
		pass(2 * time.Second)
		if _, err := r.node.BelievePeer(r.t.Context(), n1, "", l.cutter("again")); slugOf(err) != "peer_not_listed" {
			t.Fatalf("the revoked peer comes again: %v", err)
		}
		link.Close()
		if l.why("n2") != "" || l.why("closed") != "" || l.why("again") != "" || r.node.PeerLinks() != 2 {
			t.Fatalf("others were cut: %v, %d are open", l.cut, r.node.PeerLinks())
		}
	})
}

// Cut off from the control plane a node believes nobody any more once its list is 65 s old: every connection is cut then, within
// that bound, and none is taken; afterwards it goes on by itself.
func TestOldListCutsAll(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		n1 := r.enrolled("n1")
		r.spoiled(only("Peers", false))
		r.up()
		if _, err := r.node.BelievePeer(r.t.Context(), n1, "", nil); slugOf(err) != "peers_unknown" {
			t.Fatalf("before the list is known: %v", err)
		}
		r.spoiled(nil)
		var l lines
		links := map[string]*relay.PeerLink{}
		believed := func(name string) func() bool {
			return func() bool {
				link, err := r.node.BelievePeer(r.t.Context(), n1, "", l.cutter(name))
				links[name] = link
				return err == nil
			}
		}
		r.within(6*time.Second, "the peer is believed", believed("first"))
		r.cut()
		since := time.Now()
		for l.why("first") == "" && time.Since(since) < 2*time.Minute {
			pass(time.Millisecond)
		}
		if took := time.Since(since); l.why("first") != "peers_stale" || took > 65*time.Second || took < 40*time.Second {
			t.Fatalf("it was cut as %s after %v", l.why("first"), took)
		}
		if believed("second")() {
			t.Fatal("a peer is believed by a list that is too old")
		}
		r.spoiled(nil)
		r.within(10*time.Second, "the peer is believed again", believed("third"))
		links["first"].Close() // late, after it was cut
		if r.node.PeerLinks() != 1 {
			t.Fatalf("%d links are open", r.node.PeerLinks())
		}
	})
}

// A connection ends with the certificate that it rests on, whatever the list says.
func TestPeerEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		r.control.Life = 5 * time.Minute
		n1 := r.enrolled("n1")
		pass(2 * time.Second)
		var l lines
		if _, err := r.node.BelievePeer(r.t.Context(), n1, "", l.cutter("n1")); err != nil {
			t.Fatal(err)
		}
		pass(time.Until(n1.NotAfter) - time.Millisecond)
		if l.why("n1") != "" {
			t.Fatalf("cut before its end: %s", l.why("n1"))
		}
		r.within(1100*time.Millisecond, "it ended", func() bool { return l.why("n1") == "peer_expired" || l.why("n1") == "peer_not_listed" })
	})
}

// Strangers that are not listed make the node ask at most once a second, and one that names another node is none that was wanted.
func TestStrangersAskRarely(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		n1 := r.enrolled("n1")
		pass(2 * time.Second)
		if _, err := r.node.BelievePeer(r.t.Context(), n1, authoritytest.SPIFFEID("n2").String(), nil); slugOf(err) != "peer_of_another_node" {
			t.Fatalf("a peer in place of another: %v", err)
		}
		r.control.Revoke("n1")
		before := r.called("Peers")
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); pass(time.Millisecond) {
			if _, err := r.node.BelievePeer(r.t.Context(), n1, "", nil); slugOf(err) != "peer_not_listed" && err != nil {
				t.Fatal(err)
			}
		}
		if n := r.called("Peers") - before; n < 5 || n > 12 {
			t.Fatalf("the list was asked for %d times in 10 s", n)
		}
	})
}

// Whoever waits for a newer list does not wait longer than its connection does.
func TestBelievePeerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		pass(2 * time.Second)
		hold := make(chan struct{})
		r.spoiled(func(method string, back bool) error {
			if method == "Peers" && !back {
				<-hold
			}
			return nil
		})
		n1 := r.enrolled("n1")
		ctx, end := context.WithCancel(r.t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := r.node.BelievePeer(ctx, n1, "", nil)
			done <- err
		}()
		synctest.Wait()
		end()
		if err := <-done; slugOf(err) != "peer_not_listed" {
			t.Fatalf("it ended with %v", err)
		}
		close(hold)
	})
}
