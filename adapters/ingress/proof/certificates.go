package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
)

// certificateProbes try who may connect to the ingress at all, and as whom.
func certificateProbes() []Probe {
	out := []Probe{
		ingressProbe("none", "no certificate", unconnected(), func(ctx context.Context, s *Site) (Outcome, error) { return s.asks(ctx) }),
		ingressProbe("self-signed", "a certificate that is its own issuer", unconnected(), trySelfSigned),
		ingressProbe("stolen", "a node's certificate without its key", unconnected(), tryStolen),
		ingressProbe("tls-1.2", "a node's certificate over TLS 1.2", unconnected(), tryTLS12),
		ingressProbe("plain-http", "a request without TLS", append(unconnected(), answered(400)), tryPlain),
		ingressProbe("resumed", "a TLS session that is taken up again", []Expect{{Way: Held}}, tryResumed),
		ingressProbe("revoked", "a certificate that was revoked", []Expect{answered(401, "credential_revoked"), {Way: Handshake}},
			member(func(s *Site) *Member { return s.Revoked }, "no certificate was revoked for it")),
		ingressProbe("superseded", "a certificate that was rotated away", []Expect{answered(401, "credential_superseded"), {Way: Handshake}},
			member(func(s *Site) *Member { return s.Superseded }, "no certificate was rotated for it")),
		ingressProbe("retired", "a certificate of a node that was retired",
			[]Expect{answered(403, "node_retired"), answered(401, "credential_revoked"), {Way: Handshake}},
			member(func(s *Site) *Member { return s.Retired }, "no node was retired for it")),
		ingressProbe("other-node", "a node's certificate at another node's path", []Expect{answered(403, "node_mismatch")}, tryOtherNode),
		ingressProbe("no-such-node", "a node's certificate at the path of a node that does not exist", []Expect{answered(403, "node_mismatch")},
			func(ctx context.Context, s *Site) (Outcome, error) {
				return s.asksFor(ctx, assignments("no-such-node"), s.First)
			}),
		ingressProbe("existing-node", "a node's certificate at the path of a node that the deployment had before",
			[]Expect{answered(403, "node_mismatch")}, tryExisting),
		ingressProbe("resumed-revoked", "a TLS session that is taken up again once the certificate is revoked",
			[]Expect{answered(401, "credential_revoked"), {Way: Handshake}, {Way: Closed}}, tryResumedRevoked),
		ingressProbe("revoked-while-connected", "a request on the connection over which the last one was answered, once the certificate is revoked",
			[]Expect{answered(401, "credential_revoked"), {Way: Closed}}, tryRevokedLater),
		ingressProbe("revoked-while-waiting", "a poll that waits while its certificate is revoked",
			[]Expect{answered(401, "credential_revoked"), {Way: Closed}}, tryRevokedWaiting),
		ingressProbe("never-admitted", "a sound certificate of a believed CA that was never admitted",
			[]Expect{answered(401, "credential_unknown")}, signed(shape{})),
		ingressProbe("other-region", "a sound certificate of a believed CA that names the node in another region",
			[]Expect{answered(401, "credential_unknown"), answered(401, "credential_of_another_node")},
			signed(shape{id: func(d, _, n string) string { return relayID(d, "other-region", n) }})),
		ingressProbe("ed25519", "a certificate with an Ed25519 key, never admitted: its form is sound",
			[]Expect{answered(401, "credential_unknown")}, signed(shape{key: newEd25519})),
	}
	for _, sh := range shapes() {
		out = append(out,
			ingressProbe("signed-"+sh.what, sh.tries+", signed by a believed CA", unconnected(), signed(sh)),
			ingressProbe("stranger-"+sh.what, sh.tries+", signed by a CA of the caller's own", unconnected(), stranger(sh)))
	}
	return append(out, ingressProbe("other-ca", "a sound certificate of another CA", unconnected(), stranger(shape{})))
}

func ingressProbe(what, tries string, must []Expect, run func(context.Context, *Site) (Outcome, error)) Probe {
	return Probe{ID: identify(OnIngress, KindCertificates, what), Kind: KindCertificates, Listener: OnIngress, Tries: tries, Must: must, run: run}
}

// asks sends the request that is right for the first node, over a connection made in some way.
func (s *Site) asks(ctx context.Context, how ...dialing) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.ask(ctx, e, e.get(assignments(s.First.ID)).String(), how...)
	return o, err
}

func (s *Site) asksFor(ctx context.Context, target string, as Member) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.ask(ctx, e, e.get(target).String(), showing(as.Certificate))
	return o, err
}

func member(of func(*Site) *Member, otherwise string) func(context.Context, *Site) (Outcome, error) {
	return func(ctx context.Context, s *Site) (Outcome, error) {
		m := of(s)
		if m == nil {
			return Outcome{}, cannot("%s", otherwise)
		}
		return s.asksFor(ctx, assignments(m.ID), *m)
	}
}

func trySelfSigned(ctx context.Context, s *Site) (Outcome, error) {
	c, err := selfSigned(relayID(s.TrustDomain, s.Region, s.First.ID))
	if err != nil {
		return Outcome{}, err
	}
	return s.asks(ctx, showing(c))
}

// tryStolen shows what everybody may see of a node, and signs with a key of its own.
func tryStolen(ctx context.Context, s *Site) (Outcome, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Outcome{}, err
	}
	return s.asks(ctx, showing(tls.Certificate{Certificate: s.First.Certificate.Certificate, PrivateKey: key}))
}

func tryTLS12(ctx context.Context, s *Site) (Outcome, error) {
	return s.asks(ctx, showing(s.First.Certificate), func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
}

func tryPlain(ctx context.Context, s *Site) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	plain := *e
	plain.TLS = false
	o, err := s.ask(ctx, &plain, e.get(assignments(s.First.ID)).String())
	return o, err
}

func tryOtherNode(ctx context.Context, s *Site) (Outcome, error) {
	return s.asksFor(ctx, assignments(s.Second.ID), s.First)
}

func tryExisting(ctx context.Context, s *Site) (Outcome, error) {
	if s.Existing == "" {
		return Outcome{}, cannot("no such node was named")
	}
	return s.asksFor(ctx, assignments(s.Existing), s.First)
}

// signed shows a certificate that is wrong in one way and signed by a CA that the ingress believes.
func signed(sh shape) func(context.Context, *Site) (Outcome, error) {
	return func(ctx context.Context, s *Site) (Outcome, error) {
		if s.Authority == nil {
			return Outcome{}, cannot("a CA that the ingress believes would have to sign it, and its key was not given")
		}
		return s.shows(ctx, s.Authority, sh)
	}
}

func stranger(sh shape) func(context.Context, *Site) (Outcome, error) {
	return func(ctx context.Context, s *Site) (Outcome, error) {
		a, err := NewAuthority("a stranger")
		if err != nil {
			return Outcome{}, err
		}
		return s.shows(ctx, a, sh)
	}
}

func (s *Site) shows(ctx context.Context, a *Authority, sh shape) (Outcome, error) {
	id := relayID(s.TrustDomain, s.Region, s.First.ID)
	if sh.id != nil {
		id = sh.id(s.TrustDomain, s.Region, s.First.ID)
	}
	c, err := sh.issue(a, id)
	if err != nil {
		return Outcome{}, err
	}
	return s.asks(ctx, showing(c))
}

func (sh shape) issue(a *Authority, id string) (tls.Certificate, error) {
	if sh.key == nil {
		return a.Issue(id, sh.bends()...)
	}
	key, err := sh.key()
	if err != nil {
		return tls.Certificate{}, err
	}
	return a.IssueFor(key, id, sh.bends()...)
}
