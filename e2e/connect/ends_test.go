package connect_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
)

// A tenant that is suspended has its devices sent away at once and takes none, at the node that has it and at the others;
// resumed, they come back by themselves.
func suspended(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	p := w.NewPhone(tenant, "owner", "phone")
	o, seen := told(p.Through(holder))
	c := p.Dial(o)
	w.publish(c, p, "before")
	bare := w.conn(p.Through(others[0]))
	_, err := w.Operator().Suspend(t.Context(), tenant)
	must(t, err)
	if got := reason(ends(t, bare, patience)); got != contract.GoawaySuspended {
		t.Errorf("a connection ended with %q", got)
	}
	within(t, patience, "the client is told", func() bool { return len(seen.goaways()) > 0 })
	for _, at := range nodes {
		if _, err := connectclient.Connect(t.Context(), p.Through(at)); err == nil || fault.KindOf(err) == fault.Internal {
			t.Errorf("at %s a device of a suspended tenant is answered %v", at.ID, err)
		}
	}
	_, err = w.Operator().Resume(t.Context(), tenant)
	must(t, err)
	w.publish(c, p, "after")
	if got := seen.goaways()[0]; got != contract.GoawaySuspended {
		t.Errorf("it was sent away as %q", got)
	}
}

// A node whose link to the control plane is cut goes on to serve what may be read until what it knows of the tenant is too
// old, and then sends the devices away: not earlier than its poll would have failed, not later than its bound. It comes back
// by itself.
func cutOff(t *testing.T, w *world) {
	const bound, slack = 8 * time.Second, 700 * time.Millisecond
	node := w.nodes(1, "SNAPSHOT_BOUND", bound.String(), "SNAPSHOT_REFRESH", "2s", "POLL_INTERVAL", "1s", "POLL_TIMEOUT", "1s",
		"KEY_REFRESH", "1s", "PEER_REFRESH", "1s", "ROUTE_LIFE", "5s")[0]
	tenant, _, _ := w.tenant("t", node)
	p := w.NewPhone(tenant, "owner", "phone")
	c := p.Dial(p.Through(node))
	w.publish(c, p, "before")
	bare := w.conn(p.Through(node))
	w.subscribed(bare, p)
	node.Wire.Cut()
	cut := time.Now()
	err := ends(t, bare, bound+slack+time.Second)
	took := time.Since(cut)
	t.Logf("cut off, the device was sent away after %s of a bound of %s", took.Round(time.Millisecond), bound)
	if reason(err) != contract.GoawayUnavailable || took > bound+slack || took < bound-2*time.Second-slack {
		t.Errorf("after %s it ended with %v", took, err)
	}
	if _, err := connectclient.Connect(t.Context(), p.Through(node)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a device that comes is answered %v", err)
	}
	node.Wire.Heal()
	w.publish(c, p, "after")
}

// A token that runs out ends its connection with that reason, unless the device gave a later one.
func expired(t *testing.T, w *world) {
	node := w.nodes(1)[0]
	tenant, _, _ := w.tenant("t", node)
	p := w.NewPhone(tenant, "owner", "phone")
	short := func(_, claims map[string]any) { claims["exp"] = time.Now().Add(2 * time.Second).Unix() }
	o := p.Through(node)
	o.Tokens = w.Forge(p, w.region, short)
	lapsing, renewing := w.conn(o), w.conn(o)
	later := w.Forge(p, w.region, func(_, _ map[string]any) {})
	must(t, renewing.Send(t.Context(), contract.Frame{Op: contract.OpRenew, Token: string(later)}))
	if f, err := renewing.Receive(t.Context()); err != nil || f.Op != contract.OpRenewed || f.ExpiresAt == nil {
		t.Errorf("renew: %+v %v", f, err)
	}
	began := time.Now()
	err := ends(t, lapsing, time.Minute)
	t.Logf("a token of 2 s ended its connection after %s", time.Since(began).Round(time.Millisecond))
	if reason(err) != contract.GoawayExpired {
		t.Errorf("it ended with %v", err)
	}
	w.subscribed(renewing, p)
}

// The connections that a peer passes on are cut once its certificate is revoked, long before its list would be too old; with
// a new join token the node is a peer again.
func peerRevoked(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	p := w.NewPhone(tenant, "owner", "phone")
	direct := p.Dial(p.Through(holder))
	w.publish(direct, p, "before")
	bare := w.conn(p.Through(others[0]))
	w.subscribed(bare, p)
	_, err := w.Operator().RevokeCredential(t.Context(), others[0].ID, harness.Fingerprint(others[0].Certificate()), "the test wants it")
	must(t, err)
	revoked := time.Now()
	err = ends(t, bare, 65*time.Second)
	t.Logf("the connection that a revoked peer passed on ended %s later: %v", time.Since(revoked).Round(time.Millisecond), err)
	if _, err := connectclient.Connect(t.Context(), p.Through(others[0])); err == nil {
		t.Error("the revoked peer passes a connection on")
	}
	w.publish(direct, p, "meanwhile")
	others[0].NewJoinToken()
	within(t, 2*patience, "the node is a peer again", func() bool {
		c, err := connectclient.Connect(t.Context(), p.Through(others[0]))
		if err != nil {
			return false
		}
		c.Abort()
		return true
	})
}

// Whoever takes nothing is cut, and costs nobody else anything.
func slowReaders(t *testing.T, w *world) {
	const slow, messages = 10, 300
	node := w.nodes(1)[0]
	tenant, _, _ := w.tenant("t", node)
	p := w.NewPhone(tenant, "owner", "desktop")
	all := w.NewPhones(slow, tenant, "member")
	for _, one := range all {
		w.subscribed(w.conn(narrow(one.Through(node))), one) // and reads no more
	}
	c := p.Dial(p.Through(node))
	box := w.subscribe(c, p, 0)
	body := large()
	for i := range messages {
		if _, err := c.Publish(t.Context(), p.Main(), fmt.Sprint("m", i), body); err != nil {
			t.Fatal(err)
		}
	}
	got := w.holds(box, messages)
	for i, m := range got {
		if m.Seq != int64(i+1) {
			t.Fatalf("message %d has sequence %d", i, m.Seq)
		}
	}
	node.Within(time.Minute, "those that read nothing are cut", func() bool { return node.Metric("berth_relay_device_stalled_total") == slow })
	w.publish(c, p, "after")
}

// large is a body near the limit.
func large() []byte { return fmt.Appendf(nil, "%q", strings.Repeat("x", 40<<10)) }

// narrow connects with as little room for what is not read as the system lets it.
func narrow(o connectclient.Options) connectclient.Options {
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(1)
		}
		return c, err
	}
	return o
}
