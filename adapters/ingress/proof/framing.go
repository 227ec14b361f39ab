package proof

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// framing is a request whose end two parsers may see in different places. What follows what one of them takes for its
// end asks for what belongs to another node, in the name of nobody.
type framing struct {
	what, tries string
	make        func(d draft, smuggled string) string
	must        []Expect // at the ingress
	last        bool     // nothing may be read behind it, at any listener
}

// framingProbes try them at each listener that takes bodies. Behind the ingress a poisoned connection shows in somebody
// else's answer, so others ask after each attempt.
func framingProbes() []Probe {
	var out []Probe
	for _, l := range []Listener{OnIngress, OnInternal, OnAPI, OnEnroll} {
		for _, f := range framings() {
			out = append(out, f.probe(l))
		}
	}
	return out
}

func framings() []framing {
	var all []framing
	for _, some := range [][]framing{lengths(), codings(), chunkings(), lines(), versions(), hosts(), sequences(), expectations(), upgrades()} {
		all = append(all, some...)
	}
	return all
}

func (f framing) probe(l Listener) Probe {
	p := Probe{ID: identify(l, KindFraming, f.what), Kind: KindFraming, Listener: l, Tries: f.tries, Must: f.must, lane: inTurn, run: f.atIngress}
	if l != OnIngress {
		// Whoever asks here proves nothing about himself, so every answer is a refusal, and each request has one.
		p.Must, p.lane, p.run = f.refused(), beside, f.at(l)
	}
	return p
}

// refused is what a listener may make of requests that carry no proof, which it reads one after the other. A request with
// both a length and a coding has to be the last of its connection, whichever of them counts (RFC 9112, 6.1).
func (f framing) refused() []Expect {
	statuses := []int{4, 501, 505}
	out := []Expect{{Way: Closed}, {Way: Unreached}, {Way: Handshake}, {Way: Silent}, {Way: Answered, Status: statuses}}
	if f.last {
		return out
	}
	return append(out, Expect{Way: Several, Status: statuses})
}

func (f framing) atIngress(ctx context.Context, s *Site) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	raw := f.make(e.post(poll(s.First.ID), pollBody), e.get(assignments(s.Second.ID)).String())
	o, err := s.ask(ctx, e, raw, showing(s.First.Certificate))
	if err != nil {
		return Outcome{}, err
	}
	if disturbed, err := s.canary(ctx, e); err != nil || disturbed.Way != Held {
		disturbed.Note = "after: " + o.String()
		return disturbed, err
	}
	return o, nil
}

func (f framing) at(l Listener) func(context.Context, *Site) (Outcome, error) {
	target := map[Listener]string{OnInternal: poll("n1"), OnAPI: "/api/v1/regions", OnEnroll: "/enroll/v1/nodes"}[l] //nolint:exhaustive // where it is tried
	return func(ctx context.Context, s *Site) (Outcome, error) {
		e, err := s.endpoint(l)
		if err != nil {
			return Outcome{}, err
		}
		o, err := s.ask(ctx, e, f.make(e.post(target, pollBody), e.get(target).String()))
		return o, err
	}
}

// canary is another node that asks for what is its own, often enough to meet a connection that was poisoned.
func (s *Site) canary(ctx context.Context, e *Endpoint) (Outcome, error) {
	w, o, err := s.dial(ctx, e, showing(s.Second.Certificate))
	if w == nil {
		return Outcome{Way: Disturbed, Note: o.String()}, err
	}
	defer w.Close()
	in := bufio.NewReader(w)
	for range 4 {
		w.patient(s.patience())
		if _, err := w.Write([]byte(e.get(assignments(s.Second.ID)).String())); err != nil {
			return Outcome{Way: Disturbed}, nil
		}
		a, err := read(in)
		if err != nil || a.status != 200 {
			return Outcome{Way: Disturbed, Status: a.status, Slug: a.slug}, nil
		}
	}
	return Outcome{Way: Held}, nil
}

// lengths disagree about a body's length.
func lengths() []framing {
	length := func(what, value string) framing {
		return framing{what: "length-" + what, tries: fmt.Sprintf("Content-Length: %s", value), must: malformed(),
			make: func(d draft, smuggled string) string {
				d = d.without("Content-Length").with("Content-Length: " + strings.ReplaceAll(value, "N", fmt.Sprint(len(pollBody))))
				return d.String() + smuggled
			}}
	}
	two := func(what, first, second string) framing {
		return framing{what: what, tries: "two lengths, " + first + " and " + second, must: malformed(),
			make: func(d draft, smuggled string) string {
				d.body += smuggled
				value := strings.NewReplacer("N", fmt.Sprint(len(pollBody)), "ALL", fmt.Sprint(len(d.body)))
				return d.without("Content-Length").with(value.Replace("Content-Length: "+first), value.Replace("Content-Length: "+second)).String()
			}}
	}
	return []framing{
		two("two-lengths-longer", "N", "ALL"), two("two-lengths-shorter", "ALL", "N"), two("two-lengths-zero", "0", "ALL"),
		length("list", "N, 0"), length("plus", "+N"), length("minus", "-N"), length("hex", "0x17"), length("exponent", "1e1"),
		length("fraction", "N.0"), length("space-inside", "1 7"), length("overflow", "18446744073709551639"),
		length("huge", "9223372036854775807"), length("empty", ""), length("words", "N bytes"), length("wide-digits", "\uff12\uff13"),
		length("vt", "\vN"), length("nul", "N\x00"), length("semicolon", "N;"),
		{what: "length-with-underscore", tries: "Content_Length beside Content-Length", must: append(malformed(), answered(200)),
			make: func(d draft, _ string) string { return d.with("Content_Length: 0").String() }},
		{what: "get-with-body", tries: "a GET with a body that is a request (CL.0)", must: append(malformed(), answered(200)),
			make: func(d draft, smuggled string) string {
				d.method, d.body = "GET", smuggled
				d.target = strings.Replace(d.target, "/authorization/poll", "/assignments", 1)
				return d.without("Content-Type").without("Content-Length").with(fmt.Sprintf("Content-Length: %d", len(smuggled))).String()
			}},
		{what: "request-in-body", tries: "a body that is a request", must: malformed(), make: func(d draft, smuggled string) string {
			d.body = smuggled
			return d.without("Content-Length").with(fmt.Sprintf("Content-Length: %d", len(smuggled))).String()
		}},
		{what: "no-length", tries: "a POST without a length, and a body", must: append(malformed(), Expect{Way: Several, Status: []int{4}}),
			make: func(d draft, _ string) string { return d.without("Content-Length").String() }},
	}
}

// codings say the transfer coding in a way that only some read (TE.TE), beside a length.
func codings() []framing {
	var out []framing
	for what, line := range map[string]string{
		"plain": "Transfer-Encoding: chunked", "upper": "Transfer-Encoding: CHUNKED", "prefixed": "Transfer-Encoding: xchunked",
		"space-colon": "Transfer-Encoding : chunked", "tab": "Transfer-Encoding:\tchunked", "vt": "Transfer-Encoding: \vchunked",
		"ff": "Transfer-Encoding: \fchunked", "leading-space": " Transfer-Encoding: chunked", "quoted": `Transfer-Encoding: "chunked"`,
		"lf-before": "X: y\nTransfer-Encoding: chunked", "cr-before": "X: y\rTransfer-Encoding: chunked",
		"folded": "Transfer-Encoding:\r\n chunked", "name-folded": "Transfer-Encoding\r\n : chunked", "identity": "Transfer-Encoding: identity",
		"identity-chunked": "Transfer-Encoding: identity, chunked", "chunked-identity": "Transfer-Encoding: chunked, identity",
		"twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "twice-other-way": "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
		"parameter": "Transfer-Encoding: chunked;q=1", "gzip": "Transfer-Encoding: gzip, chunked", "doubled": "Transfer-Encoding: chunked, chunked",
		"underscore": "Transfer_Encoding: chunked", "empty": "Transfer-Encoding:", "nul": "Transfer-Encoding: chunked\x00",
		"comma": "Transfer-Encoding: ,chunked", "unicode": "Transfer-Encoding: chun\u212aed", "empty-then-chunked": "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
	} {
		out = append(out,
			framing{what: "cl-te-" + what, tries: fmt.Sprintf("%q with a length that goes further (CL.TE)", line), must: malformed(), last: true,
				make: func(d draft, smuggled string) string {
					d.body = "0\r\n\r\n" + smuggled
					return d.without("Content-Length").with(fmt.Sprintf("Content-Length: %d", len(d.body)), line).String()
				}},
			framing{what: "te-cl-" + what, tries: fmt.Sprintf("%q with a length that ends earlier (TE.CL)", line), must: ignored(what),
				make: func(d draft, smuggled string) string {
					size := fmt.Sprintf("%x\r\n", len(smuggled))
					d.body = size + smuggled + "\r\n0\r\n\r\n"
					return d.without("Content-Length").with(line, fmt.Sprintf("Content-Length: %d", len(size))).String()
				}})
	}
	return out
}

// ignored is what may come of a coding that nobody has to read: what follows the length is then a second request, or none.
func ignored(what string) []Expect {
	if what == "underscore" || what == "leading-space" {
		return append(malformed(), Expect{Way: Several, Status: []int{400, 403}, Not: []string{"assertion_"}})
	}
	return malformed()
}

// chunkings are bodies in chunks whose sizes or ends read differently (TE.0, TERM.EXT, EXT.TERM).
func chunkings() []framing {
	var out []framing
	for what, form := range map[string]string{
		"sound": "17\r\n$\r\n0\r\n\r\n", "extension": "17;a=b\r\n$\r\n0\r\n\r\n", "extension-lf": "17;a\n$\r\n0\r\n\r\n",
		"bare-lf": "17\n$\n0\n\n", "lf-size": "17\n$\r\n0\r\n\r\n", "cr-size": "17\r$\r\n0\r\n\r\n", "no-crlf": "17\r\n$0\r\n\r\n", "longer": "17\r\n$xx0\r\n\r\n",
		"plus": "+17\r\n$\r\n0\r\n\r\n", "hex-prefix": "0x17\r\n$\r\n0\r\n\r\n", "overflow": "10000000000000017\r\n$\r\n0\r\n\r\n",
		"negative": "-1\r\n$\r\n0\r\n\r\n", "space": "17 \r\n$\r\n0\r\n\r\n", "leading-space": " 17\r\n$\r\n0\r\n\r\n", "empty-size": "\r\n$\r\n0\r\n\r\n",
		"quoted-extension": "17;a=\"\r\n\"\r\n$\r\n0\r\n\r\n", "long-extension": "17;" + strings.Repeat("a", 20000) + "\r\n$\r\n0\r\n\r\n",
		"end-with-extension": "17\r\n$\r\n0;a\r\n\r\n", "end-lf-extension": "17\r\n$\r\n0;a\n\r\n",
		"trailer": "17\r\n$\r\n0\r\nX-T: y\r\n\r\n", "trailer-length": "17\r\n$\r\n0\r\nContent-Length: 0\r\n\r\n", "trailer-lf": "17\r\n$\r\n0\nX-T: y\n\n",
	} {
		out = append(out, framing{what: "chunked-" + what, tries: fmt.Sprintf("a body in chunks, %.40q", form),
			must: append(malformed(), Expect{Way: Several, Status: []int{400, 411}}),
			make: func(d draft, _ string) string {
				d.body = strings.ReplaceAll(form, "$", pollBody)
				return d.without("Content-Length").with("Transfer-Encoding: chunked").String()
			}})
	}
	return out
}
