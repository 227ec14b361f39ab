package connect_test

import (
	"context"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
)

// Every token that is not what the control plane made for this tenant's device in this region is refused, at the node that
// has the tenant and through the one that has not, and who holds a good one is not disturbed.
func hostileTokens(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	another, _, _ := w.tenant("u", nodes...)
	p, stranger := w.NewPhone(tenant, "owner", "phone"), w.NewPhone(another, "owner", "phone")
	c := p.Dial(p.Through(holder))
	w.publish(c, p, "before")
	w.subscribed(w.conn(p.Through(others[0])), p) // the nodes know one another by then
	revoked := w.NewPhone(tenant, "member", "phone")
	gone := w.Forge(revoked, w.region, func(_, _ map[string]any) {})
	_, err := w.Operator().Revoke(t.Context(), tenant, revoked.Principal)
	must(t, err)
	now := time.Now()
	for name, bend := range map[string]func(header, claims map[string]any){
		"alg none":                 func(h, _ map[string]any) { h["alg"] = "none" },
		"HS256 by the public key":  func(h, _ map[string]any) { h["alg"] = "HS256" },
		"another alg":              func(h, _ map[string]any) { h["alg"] = "RS256" },
		"an unknown kid":           func(h, _ map[string]any) { h["kid"] = "key_unknown" },
		"a key in the header":      func(h, _ map[string]any) { h["jwk"] = map[string]any{"kty": "OKP"} },
		"the type of an assertion": func(h, _ map[string]any) { h["typ"] = "berth-device-assertion+jwt" },
		"another region":           func(_, c map[string]any) { c["aud"] = []string{"elsewhere", tenant} },
		"no audience":              func(_, c map[string]any) { delete(c, "aud") },
		"another issuer":           func(_, c map[string]any) { c["iss"] = "other.test" },
		"expired": func(_, c map[string]any) {
			c["iat"], c["nbf"], c["exp"] = now.Unix()-400, now.Unix()-400, now.Unix()-100
		},
		"of the future": func(_, c map[string]any) {
			c["nbf"], c["iat"], c["exp"] = now.Unix()+200, now.Unix()+200, now.Unix()+400
		},
		"a life too long":               func(_, c map[string]any) { c["exp"] = now.Unix() + 3600 },
		"a principal of another tenant": func(_, c map[string]any) { c["sub"] = stranger.Principal },
		"a principal that is not there": func(_, c map[string]any) { c["sub"] = "prn_00000000000000000000000000" },
		"another tenant's":              func(_, c map[string]any) { c["aud"] = []string{w.region, another} },
	} {
		w.refused(name, p, w.Forge(p, w.region, bend), nodes)
	}
	w.refused("of a revoked device", revoked, gone, nodes)
	w.refused("no token at all", p, "", nodes)
	w.refused("not a token", p, "x.y.z", nodes)
	if got := w.publish(c, p, "after"); got != 2 {
		t.Errorf("the next message has sequence %d", got)
	}
	if err := ends(t, w.foreign(p, stranger, others[0]), patience); err == nil {
		t.Error("never")
	}
}

// refused wants a token to open nothing.
func (w *world) refused(name string, p *harness.Phone, token harness.Fixed, at []*harness.Relay) {
	w.t.Helper()
	for _, node := range at {
		o := p.Through(node)
		o.Tokens = token
		c, err := connectclient.Connect(w.t.Context(), o)
		if err == nil {
			c.Abort()
			w.t.Errorf("%s at %s: it was let in", name, node.ID)
			continue
		}
		if kind := fault.KindOf(err); kind != fault.Unauthenticated && kind != fault.Forbidden && kind != fault.NotFound {
			w.t.Errorf("%s at %s: %v", name, node.ID, err)
		}
		files := connectclient.NewFiles(o)
		if _, err := files.Fetch(w.t.Context(), [32]byte{}, discard{}); err == nil || fault.SlugOf(err) == "attachment_missing" {
			w.t.Errorf("%s at %s asks for an attachment: %v", name, node.ID, err)
		}
		files.Close()
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// foreign publishes and subscribes by another device's handle, and revokes as a member of another tenant could: each is
// refused by name. The connection is returned after it was told to be malformed.
func (w *world) foreign(p, stranger *harness.Phone, at *harness.Relay) *connectclient.Conn {
	w.t.Helper()
	c := w.conn(p.Through(at))
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for _, f := range []contract.Frame{
		{Op: contract.OpPublish, Handle: stranger.Main(), ID: "x", Body: []byte(`1`)},
		{Op: contract.OpSubscribe, Handle: stranger.Main(), After: new(int64)},
		{Op: contract.OpSubscribe, Handle: p.Main(), After: new(int64(99))},
		{Op: contract.OpPublish, Handle: p.Main(), ID: "before", Body: []byte(`"another body"`)},
		{Op: contract.OpRevoke, Principal: stranger.Principal},
	} {
		must(w.t, c.Send(ctx, f))
		got, err := c.Receive(ctx)
		if err != nil || got.Op != contract.OpError || got.Of != f.Op || got.Slug == "" || got.Slug == "internal" {
			w.t.Errorf("%s is answered %+v, %v", f.Op, got, err)
		}
		w.t.Logf("%s: %s", f.Op, got.Slug)
	}
	must(w.t, c.SendText(ctx, []byte(`{"op":"publish","op":"publish"}`)))
	return c
}

// Rotation and compromise of the key that signs tokens are seen without a restart: a token of the next key is taken at once,
// one of the former for as long as it is good, and one of a compromised key no more within 65 s.
func keys(t *testing.T, w *world) {
	node := w.nodes(1, "KEY_REFRESH", "1s")[0]
	tenant, _, _ := w.tenant("t", node)
	p := w.NewPhone(tenant, "owner", "phone")
	kid := func() string {
		list, err := w.Operator().SigningKeys(t.Context())
		must(t, err)
		for _, k := range list.Keys {
			if k.Purpose == "device-token" && k.State == "active" {
				return k.KID
			}
		}
		return ""
	}
	first := kid()
	former := w.Forge(p, w.region, func(_, _ map[string]any) {})
	takes := func(token harness.Fixed) error {
		o := p.Through(node)
		o.Tokens = token
		c, err := connectclient.Connect(t.Context(), o)
		if err == nil {
			c.Abort()
		}
		return err
	}
	w.conn(p.Through(node)).Abort() // the node knows of its tenant by then
	must(t, takes(former))
	_, err := w.Operator().RotateSigningKey(t.Context(), contract.RotateKey{})
	must(t, err)
	within(t, 2*patience, "another key signs", func() bool { return kid() != first && kid() != "" })
	must(t, takes(w.Forge(p, w.region, func(_, _ map[string]any) {})))
	must(t, takes(former))
	_, err = w.Operator().CompromiseSigningKey(t.Context(), first, "the test wants it")
	must(t, err)
	at := time.Now()
	within(t, 65*time.Second, "a token of the compromised key is refused", func() bool { return takes(former) != nil })
	t.Logf("a compromised key was refused %s later: %v", time.Since(at).Round(time.Millisecond), takes(former))
	must(t, takes(w.Forge(p, w.region, func(_, _ map[string]any) {})))
}
