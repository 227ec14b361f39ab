package proof

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// headerProbes send, with a sound certificate, what only an ingress may say. Each is tried at the node's own path, where
// the request has to be answered as ever, and at another node's, where it has to be refused as ever: so a header that
// gets through shows, whether it is believed or only stands in the way.
func headerProbes() []Probe {
	var out []Probe
	for _, h := range spellings() {
		out = append(out, h.probes(OnIngress)...)
	}
	for _, h := range hopByHop() {
		out = append(out, h.probes(OnIngress)...)
	}
	for _, h := range otherIdentities() {
		out = append(out, h.probes(OnIngress)...)
	}
	return append(out, trailerProbe())
}

// spoof is header lines that a client adds; value stands for a forged assertion, other for the other node's id.
type spoof struct {
	what, tries string
	lines       func(value, other string) []string
	first       bool // before every other line
}

func (h spoof) probes(l Listener) []Probe {
	own := Probe{
		ID: identify(l, KindHeaders, h.what), Kind: KindHeaders, Listener: l, Tries: h.tries + ", at the node's own path",
		Must: append(malformed(), answered(200)), run: h.at(func(s *Site) string { return s.First.ID }),
	}
	others := Probe{
		ID: identify(l, KindHeaders, h.what+"-elsewhere"), Kind: KindHeaders, Listener: l, Tries: h.tries + ", at another node's path",
		Must: append(malformed(), answered(403, "node_mismatch")), run: h.at(func(s *Site) string { return s.Second.ID }),
	}
	return []Probe{own, others}
}

func (h spoof) at(node func(*Site) string) func(context.Context, *Site) (Outcome, error) {
	return func(ctx context.Context, s *Site) (Outcome, error) {
		e, err := s.endpoint(OnIngress)
		if err != nil {
			return Outcome{}, err
		}
		d := e.get(assignments(node(s)))
		value, err := s.forged(e, d.target)
		if err != nil {
			return Outcome{}, err
		}
		lines, err := s.withToken(e, h.lines(value, s.Second.ID))
		if err != nil {
			return Outcome{}, err
		}
		if h.first {
			d.lines = append(lines, d.lines...)
		} else {
			d = d.with(lines...)
		}
		o, err := s.ask(ctx, e, d.String(), showing(s.First.Certificate))
		return o, err
	}
}

// forged speaks for the second node about a GET of a target: with the real secret where the caller has it, in the right
// form with an invented one where not.
func (s *Site) forged(e *Endpoint, target string) (string, error) {
	if s.Forge != nil {
		return s.Forge(func(p *identity.Payload) { p.Method, p.Target, p.Host = "GET", target, e.host() })
	}
	payload := `{"v":1,"sid":"s1","spiffe":"` + relayID(s.TrustDomain, s.Region, s.Second.ID) + `"}`
	text := base64.RawURLEncoding.EncodeToString([]byte(payload))
	return "v1." + text + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 32)), nil
}

// withToken fills in the operator's token, which no table may hold, for a listener to which it goes unread by others.
func (s *Site) withToken(e *Endpoint, lines []string) ([]string, error) {
	out := slices.Clone(lines)
	for i, l := range out {
		if strings.Contains(l, tokenMark) && s.Token == "" {
			return nil, cannot("no operator token was given")
		}
		if strings.Contains(l, tokenMark) && !e.private() {
			return nil, cannot("the operator's token is sent nowhere in clear text")
		}
		out[i] = strings.ReplaceAll(l, tokenMark, s.Token)
	}
	return out, nil
}

const tokenMark = "$TOKEN"

const own = contract.HeaderAssertion

func spellings() []spoof {
	named := func(what, tries, name string) spoof {
		return spoof{what: what, tries: tries, lines: func(v, _ string) []string { return []string{name + ": " + v} }}
	}
	line := func(what, tries string, lines ...string) spoof {
		return spoof{what: what, tries: tries, lines: func(v, _ string) []string { return filled(lines, v) }}
	}
	under := strings.ReplaceAll(own, "-", "_")
	folded := line("folded-first", "the assertion's header as a continuation of the request line", " "+own+": $")
	folded.first = true
	first := line("first", "the assertion's header before every other", own+": $")
	first.first = true
	return []spoof{
		named("exact", "the assertion's header, forged", own), first,
		named("lower", "the assertion's header in lower case", strings.ToLower(own)),
		named("upper", "the assertion's header in upper case", strings.ToUpper(own)),
		named("mixed", "the assertion's header in mixed case", "bErTh-iNgReSs-aSsErTiOn"),
		named("underscores", "_ for - in its name", under),
		named("underscore-first", "_ for the first - in its name", "Berth_Ingress-Assertion"),
		named("underscore-second", "_ for the second - in its name", "Berth-Ingress_Assertion"),
		named("underscores-upper", "_ for - in its name, in upper case", strings.ToUpper(under)),
		named("cgi", "its name as CGI has it", "HTTP_"+strings.ToUpper(under)),
		named("dots", "dots for - in its name", strings.ReplaceAll(own, "-", ".")),
		named("no-dashes", "its name without -", strings.ReplaceAll(own, "-", "")),
		named("unicode-dash", "U+2010 for - in its name", strings.ReplaceAll(own, "-", "\u2010")),
		named("kelvin", "a letter that only folds to s in its name", strings.Replace(own, "s", "\u017f", 1)),
		named("spaces", "spaces for - in its name", strings.ReplaceAll(own, "-", " ")),
		named("leading-space", "a space before its name", " "+own), named("leading-tab", "a tab before its name", "\t"+own),
		named("space-colon", "a space before the colon", own+" "), named("tab-colon", "a tab before the colon", own+"\t"),
		named("nul-name", "a NUL behind its name", own+"\x00"), named("vt-name", "a vertical tab behind its name", own+"\v"),
		named("cr-name", "a CR before its name", "X: y\r"+own), named("lf-name", "a bare LF before its name", "X: y\n"+own),
		named("nul-lf-name", "a NUL in the line before", "X: y\x00\n"+own), folded,
		line("twice", "the assertion's header twice", own+": $", own+": $"),
		line("both", "the assertion's header in two spellings", own+": $", under+": $"),
		line("empty", "the assertion's header without a value", own+":"),
		line("list", "two assertions in one value", own+": $, $"),
		line("folded", "a value that goes on in the next line", own+":", " $"),
		line("no-colon", "its name without a colon", own+" $"),
		line("no-space", "no space before the value", own+":$"),
		line("spaced", "spaces around the value", own+": \t $ \t "),
	}
}

func filled(lines []string, value string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.ReplaceAll(l, "$", value)
	}
	return out
}

// hopByHop names what the ingress says to the control plane as something that ends at the ingress (CVE-2025-48865).
func hopByHop() []spoof {
	lines := func(what, tries string, lines ...string) spoof {
		return spoof{what: what, tries: tries, lines: func(v, _ string) []string { return filled(lines, v) }}
	}
	return []spoof{
		lines("connection", "Connection names the assertion's header", "Connection: "+own),
		lines("connection-lower", "Connection names it in lower case", "Connection: "+strings.ToLower(own)),
		lines("connection-underscores", "Connection names it with _", "Connection: Berth_Ingress_Assertion"),
		lines("connection-list", "Connection names it among others", "Connection: keep-alive, "+own+", te"),
		lines("connection-twice", "two Connection headers, the second names it", "Connection: keep-alive", "Connection: "+own),
		lines("connection-and-sent", "Connection names it, and it is sent", "Connection: "+own, own+": $"),
		lines("connection-host", "Connection names Host", "Connection: Host"),
		lines("connection-all", "Connection names all that matters", "Connection: Host, Content-Length, Content-Type, "+own+", Authorization"),
		lines("keep-alive", "Keep-Alive names it", "Keep-Alive: "+own),
		lines("proxy-connection", "Proxy-Connection names it", "Proxy-Connection: "+own),
		lines("te", "TE names it", "TE: trailers, "+own, "Connection: TE"),
		lines("trailer", "Trailer announces it", "Trailer: "+own),
		lines("upgrade", "Upgrade names it", "Connection: Upgrade", "Upgrade: "+own),
		lines("vary", "Vary and Via name it", "Vary: "+own, "Via: 1.1 "+own),
	}
}
