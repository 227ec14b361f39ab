package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
)

// listenerProbes ask each listener for what belongs to another.
func listenerProbes() []Probe {
	var out []Probe
	for _, l := range Listeners() {
		for _, f := range foreign() {
			if f.home != l && (l != OnInternal || f.home != OnIngress || f.method != "GET") {
				out = append(out, f.probe(l))
			}
		}
	}
	out = append(out, assertedElsewhere()...)
	return append(out, internalDoors()...)
}

// thing is something that one listener has, and no other.
type thing struct {
	what, method, path, body string
	home                     Listener
	proof                    func(*Site) []string // header lines that would open it at home
}

func foreign() []thing {
	bearer := func(*Site) []string { return []string{"Authorization: Bearer " + tokenMark} }
	none := func(*Site) []string { return nil }
	return []thing{
		{"nodes-api", "GET", assignments(firstMark), "", OnIngress, none},
		{"nodes-api-document", "GET", "/internal/v1/openapi.json", "", OnIngress, none},
		{"nodes-api-write", "POST", poll(firstMark), pollBody, OnIngress, none},
		{"bundle-of-the-ingress", "GET", "/trust-bundle", "", OnInternal, none},
		{"operators-api", "GET", "/api/v1/nodes", "", OnAPI, bearer},
		{"operators-api-write", "POST", "/api/v1/regions", `{"id":"` + firstMark + `","origin":"https://x.example"}`, OnAPI, bearer},
		{"operators-api-document", "GET", "/api/v1/openapi.json", "", OnAPI, none},
		{"devices-api", "POST", "/v1/devices", `{}`, OnAPI, none}, {"jwks", "GET", "/.well-known/jwks.json", "", OnAPI, none},
		{"enrolment", "POST", "/enroll/v1/nodes", `{"join_token":"a","csr":"b"}`, OnEnroll, none},
		{"enrolment-bundle", "GET", "/enroll/v1/trust-bundle", "", OnEnroll, none},
		{"metrics", "GET", "/metrics", "", OnMetrics, none},
		{"debug", "GET", "/debug/pprof/", "", "", none}, {"debug-vars", "GET", "/debug/vars", "", "", none},
		{"debug-cmdline", "GET", "/debug/pprof/cmdline", "", "", none}, {"dotenv", "GET", "/.env", "", "", none},
	}
}

func (f thing) probe(l Listener) Probe {
	must := absent()
	if l == OnInternal {
		must = append(must, answered(401, "assertion_missing"), Expect{Way: Unreached}, Expect{Way: Handshake})
	}
	// The nodes' API is the ingress' and the internal listener's alike; there it asks for an assertion.
	return Probe{
		ID: identify(l, KindListeners, f.what), Kind: KindListeners, Listener: l, Tries: f.method + " " + strings.ReplaceAll(f.path, firstMark, "NODE"),
		Must: must, run: func(ctx context.Context, s *Site) (Outcome, error) {
			e, err := s.endpoint(l)
			if err != nil {
				return Outcome{}, err
			}
			d := e.get(strings.ReplaceAll(f.path, firstMark, s.First.ID))
			if f.body != "" {
				d = e.post(d.target, strings.ReplaceAll(f.body, firstMark, s.First.ID))
			}
			d.method = f.method
			lines, err := s.withToken(e, f.proof(s))
			if err != nil {
				return Outcome{}, err
			}
			o, err := s.ask(ctx, e, d.with(lines...).String(), showing(s.First.Certificate))
			return o, err
		},
	}
}

// assertedElsewhere brings an assertion, or a node's certificate, to the listeners that ask for a token.
func assertedElsewhere() []Probe {
	var out []Probe
	for l, path := range map[Listener]string{ //nolint:exhaustive // where it is tried
		OnAPI: "/api/v1/nodes", OnEnroll: "/enroll/v1/nodes", OnMetrics: "/internal/v1/peers",
	} {
		must := []Expect{{Way: Answered, Status: []int{401, 404, 405, 422}, Not: []string{"assertion_"}}, {Way: Closed}}
		out = append(out, Probe{
			ID: identify(l, KindListeners, "assertion-for-token"), Kind: KindListeners, Listener: l,
			Tries: "an assertion in place of a token at " + path, Must: must,
			run: func(ctx context.Context, s *Site) (Outcome, error) {
				e, err := s.endpoint(l)
				if err != nil {
					return Outcome{}, err
				}
				value, err := s.forged(e, path)
				if err != nil {
					return Outcome{}, err
				}
				o, err := s.ask(ctx, e, e.get(path).with(own+": "+value).String(), showing(s.First.Certificate))
				return o, err
			},
		})
	}
	return out
}

// internalDoors knock at the internal listener without what the ingress has.
func internalDoors() []Probe {
	shut := append(unconnected(), Expect{Way: Unreached})
	door := func(what, tries string, must []Expect, how func(*Site) ([]dialing, error), lines ...string) Probe {
		return Probe{
			ID: identify(OnInternal, KindListeners, what), Kind: KindListeners, Listener: OnInternal, Tries: tries, Must: must,
			run: func(ctx context.Context, s *Site) (Outcome, error) {
				e, err := s.endpoint(OnInternal)
				if err != nil {
					return Outcome{}, err
				}
				if !e.TLS && len(lines) == 0 {
					return Outcome{}, cannot("it is a Unix socket, which the file's mode guards")
				}
				how, err := how(s)
				if err != nil {
					return Outcome{}, err
				}
				lines, err := s.withToken(e, lines)
				if err != nil {
					return Outcome{}, err
				}
				o, err := s.ask(ctx, e, e.get(assignments(s.First.ID)).with(lines...).String(), how...)
				return o, err
			},
		}
	}
	as := func(of func(*Site) (Member, error)) func(*Site) ([]dialing, error) {
		return func(s *Site) ([]dialing, error) {
			m, err := of(s)
			return []dialing{showing(m.Certificate)}, err
		}
	}
	asItself := func(*Site) ([]dialing, error) { return nil, nil }
	refused := append(shut, answered(401, "assertion_missing"))
	return []Probe{
		door("no-pin", "no certificate", shut, as(func(*Site) (Member, error) { return Member{}, nil })),
		door("node-certificate", "a node's certificate in place of the ingress' own", shut, as(func(s *Site) (Member, error) { return s.First, nil })),
		door("wrong-pin", "a certificate whose key is not pinned", shut, as(unpinned)),
		door("token", "an operator's token in place of an assertion", refused, asItself, "Authorization: Bearer "+tokenMark),
		door("client-cert-header", "the header of RFC 9440 in place of an assertion", refused, asItself, "Client-Cert: :AAAA:"),
		door("underscores", "an assertion in another spelling only", refused, asItself, "Berth_Ingress_Assertion: v1.a.b"),
	}
}

func unpinned(s *Site) (Member, error) {
	a, err := NewAuthority("ingress")
	if err != nil {
		return Member{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Member{}, err
	}
	c, err := a.IssueFor(key, relayID(s.TrustDomain, s.Region, "ingress"))
	return Member{ID: "ingress", Certificate: c}, err
}
