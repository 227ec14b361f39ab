package proof

import (
	"context"
	"crypto/tls"
)

// controls are what has to work: a listener that refuses everything, or is not there, would pass every other probe. They
// run before all others and, under another name, after them.
func controls(when string) []Probe {
	var out []Probe
	add := func(l Listener, what, tries string, must []Expect, make func(*Endpoint, *Site) string, how func(*Site) []dialing) {
		out = append(out, Probe{
			ID: identify(l, KindControl, what+when), Kind: KindControl, Listener: l, Tries: tries, Must: must,
			run: func(ctx context.Context, s *Site) (Outcome, error) {
				e, err := s.endpoint(l)
				if err != nil {
					return Outcome{}, err
				}
				o, err := s.ask(ctx, e, make(e, s), how(s)...)
				return o, err
			},
		})
	}
	none := func(*Site) []dialing { return nil }
	first := func(s *Site) []dialing { return []dialing{showing(s.First.Certificate)} }
	second := func(s *Site) []dialing { return []dialing{showing(s.Second.Certificate)} }
	ok := []Expect{answered(200)}
	add(OnIngress, "first", "the first node's own request", ok, func(e *Endpoint, s *Site) string { return e.get(assignments(s.First.ID)).String() }, first)
	add(OnIngress, "second", "the second node's own request", ok, func(e *Endpoint, s *Site) string { return e.get(assignments(s.Second.ID)).String() }, second)
	add(OnIngress, "body", "a request with a body", ok, func(e *Endpoint, s *Site) string { return e.post(poll(s.First.ID), pollBody).String() }, first)
	add(OnIngress, "elsewhere", "the first node's request at the second's path", []Expect{answered(403, "node_mismatch")},
		func(e *Endpoint, s *Site) string { return e.get(assignments(s.Second.ID)).String() }, first)
	add(OnIngress, "tls-1.3", "TLS 1.3 alone", ok, func(e *Endpoint, s *Site) string { return e.get(assignments(s.First.ID)).String() },
		func(s *Site) []dialing {
			return append(first(s), func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })
		})
	add(OnAPI, "there", "a request without a token", []Expect{answered(401)}, func(e *Endpoint, _ *Site) string { return e.get("/api/v1/nodes").String() }, none)
	add(OnEnroll, "there", "the trust bundle", ok, func(e *Endpoint, _ *Site) string { return e.get("/enroll/v1/trust-bundle").String() }, none)
	add(OnMetrics, "there", "the metrics", ok, func(e *Endpoint, _ *Site) string { return e.get("/metrics").String() }, none)
	add(OnInternal, "shut", "a request without an assertion", []Expect{answered(401, "assertion_missing"), {Way: Handshake}, {Way: Closed}, {Way: Unreached}},
		func(e *Endpoint, s *Site) string { return e.get(assignments(s.First.ID)).String() }, none)
	return out
}
