package proof

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"berth/adapters/contract"
)

// limitProbes ask for more than a listener may give, in ways that cost the caller little.
func limitProbes() []Probe {
	var out []Probe
	for _, l := range Listeners() {
		for _, h := range heavy() {
			out = append(out, h.probe(l))
		}
		out = append(out, slowly(l, "slow-head", "a head that never ends", func(e *Endpoint, s *Site) string {
			return strings.TrimSuffix(e.get(assignments(s.First.ID)).String(), "\r\n") + "X-Slow: "
		}))
	}
	for _, l := range []Listener{OnIngress, OnAPI, OnEnroll} {
		out = append(out, slowly(l, "slow-body", "a body that never comes", func(e *Endpoint, s *Site) string {
			at := map[Listener]string{OnIngress: poll(s.First.ID), OnAPI: "/v1/devices", OnEnroll: "/enroll/v1/nodes"} //nolint:exhaustive // where it is tried
			d := e.post(at[l], pollBody)
			d.body = "{"
			return d.String()
		}))
	}
	return append(out, Probe{
		ID: identify(OnIngress, KindLimits, "connections-of-one-node"), Kind: KindLimits, Listener: OnIngress,
		Tries: "more connections of one node than it may have, while another asks", Must: []Expect{{Way: Held}}, lane: alone, run: crowd,
	})
}

type weight struct {
	what, tries string
	make        func(e *Endpoint, s *Site) string
}

func heavy() []weight {
	return []weight{
		{"header-flood", "20,000 headers", func(e *Endpoint, s *Site) string {
			return e.get(assignments(s.First.ID)).with(strings.Split(strings.Repeat("X: y\n", 20000), "\n")[:20000]...).String()
		}},
		{"huge-header", "a header of 1 MiB", func(e *Endpoint, s *Site) string {
			return e.get(assignments(s.First.ID)).with("X: " + strings.Repeat("a", 1<<20)).String()
		}},
		{"huge-name", "a header's name of 1 MiB", func(e *Endpoint, s *Site) string {
			return e.get(assignments(s.First.ID)).with(strings.Repeat("a", 1<<20) + ": x").String()
		}},
		{"huge-target", "a target of 1 MiB", func(e *Endpoint, _ *Site) string { return e.get("/" + strings.Repeat("a", 1<<20)).String() }},
		{"huge-body", "a body one byte larger than 1 MiB", func(e *Endpoint, s *Site) string {
			return e.post(poll(s.First.ID), strings.Repeat(" ", contract.MaxBody+1)).String()
		}},
		{"announced-body", "a length of 1 TiB, and no body", func(e *Endpoint, s *Site) string {
			return e.post(poll(s.First.ID), "").without("Content-Length").with("Content-Length: 1099511627776").String()
		}},
	}
}

func (h weight) probe(l Listener) Probe {
	must := append(malformed(), answered(404), answered(401), Expect{Way: Handshake}, Expect{Way: Unreached})
	if l == OnIngress {
		must = malformed()
	}
	return Probe{
		ID: identify(l, KindLimits, h.what), Kind: KindLimits, Listener: l, Tries: h.tries, Must: must,
		run: func(ctx context.Context, s *Site) (Outcome, error) {
			e, err := s.endpoint(l)
			if err != nil {
				return Outcome{}, err
			}
			patient := *s
			patient.Patience = s.slow() // a body that was announced may be waited for, within bounds
			o, err := patient.ask(ctx, e, h.make(e, s), showingAt(l, s)...)
			return o, err
		},
	}
}

// showingAt shows the first node's certificate where nodes do.
func showingAt(l Listener, s *Site) []dialing {
	if l != OnIngress {
		return nil
	}
	return []dialing{showing(s.First.Certificate)}
}

// slowly sends a part of a request and no more: the listener has to end it within the site's bound.
func slowly(l Listener, what, tries string, make func(*Endpoint, *Site) string) Probe {
	return Probe{
		ID: identify(l, KindLimits, what), Kind: KindLimits, Listener: l, Tries: tries,
		Must: append(malformed(), answered(404), answered(401), Expect{Way: Handshake}, Expect{Way: Unreached}),
		run: func(ctx context.Context, s *Site) (Outcome, error) {
			e, err := s.endpoint(l)
			if err != nil {
				return Outcome{}, err
			}
			patient := *s
			patient.Patience = s.slow()
			o, err := patient.ask(ctx, e, make(e, s), showingAt(l, s)...)
			return o, err
		},
	}
}

// crowd opens one connection more than a node may have. Which of them has to go is the ingress' to choose; another node is
// served meanwhile.
func crowd(ctx context.Context, s *Site) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	if s.MaxConnectionsPerNode == 0 {
		return Outcome{}, cannot("how many connections a node may have was not given")
	}
	var open []*wire
	for range s.MaxConnectionsPerNode + 1 {
		w, _, err := s.dial(ctx, e, showing(s.First.Certificate))
		if err != nil {
			return Outcome{}, err
		}
		if w != nil {
			defer w.Close()
			open = append(open, w)
		}
	}
	alive := 0
	for range 2 { // the first request of each settles it, and may cost another its place
		alive = 0
		for _, w := range open {
			if s.served(w, e.get(assignments(s.First.ID)).String()) {
				alive++
			}
		}
	}
	if alive > s.MaxConnectionsPerNode {
		return Outcome{Way: Answered, Status: 200, Note: fmt.Sprintf("on %d connections", alive)}, nil
	}
	o, err := s.canary(ctx, e)
	o.Note = fmt.Sprintf("the first node keeps %d connections", alive)
	return o, err
}

// served says whether a request is answered on a connection.
func (s *Site) served(w *wire, request string) bool {
	w.patient(s.patience())
	if _, err := w.Write([]byte(request)); err != nil {
		return false
	}
	a, err := read(bufio.NewReader(w))
	return err == nil && a.status == 200
}
