package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"berth/domain/identity"
	"berth/domain/identity/targets"
)

// targetProbes send the corpus of targets, raw, to every listener; to the ingress each also where it forwards, and in the
// query of a request that is answered. Where the backend can be asked what reached it, those are the very bytes.
func targetProbes() []Probe {
	var out []Probe
	for _, t := range withLengths() {
		if strings.Contains(t.Text, " HTTP/1.1\r\n") {
			continue // on the wire that is another request line, and another header
		}
		for _, l := range Listeners() {
			out = append(out, t.probe(l, "", t.Text))
		}
		if strings.HasPrefix(t.Text, "/") {
			out = append(out, t.probe(OnIngress, "-below", "/internal/v1"+t.Text))
		}
		if _, query, found := strings.Cut(t.Text, "?"); found && query != "" {
			t.Accept = identity.CheckTarget("/?"+query) == nil // of some only the path is ambiguous
			out = append(out, t.probe(OnIngress, "-query", assignments(firstMark)+"?"+query))
		}
	}
	return out
}

// firstMark stands for the first node's id, which the table does not know.
const firstMark = "\x1ffirst\x1f"

type target struct {
	targets.Target
	name string
}

func withLengths() []target {
	var out []target
	for _, t := range targets.All() {
		out = append(out, target{t, fmt.Sprintf("line-%03d", t.Line)})
	}
	long := func(n int) string { return "/" + strings.Repeat("a", n-1) }
	const below = len("/internal/v1")
	return append(out,
		target{targets.Target{Text: long(identity.MaxTarget - below), Accept: true}, "longest"},
		target{targets.Target{Text: long(identity.MaxTarget + 1)}, "too-long"},
		target{targets.Target{Text: long(32 << 10)}, "much-too-long"})
}

func (t target) probe(l Listener, suffix, text string) Probe {
	verdict := "refused"
	if t.Accept {
		verdict = "taken as it is"
	}
	id := identify(l, KindTargets, t.name+suffix)
	return Probe{
		ID: id, Kind: KindTargets, Listener: l,
		Tries: fmt.Sprintf("the target %.60q, which has to be %s", strings.ReplaceAll(text, firstMark, "NODE"), verdict),
		Must:  t.must(l, suffix), run: t.send(l, id, text),
	}
}

// must is what a listener may make of it. The ingress forwards little, so to it most of the corpus does not exist; below
// its prefix "there is no such thing" would mean that an ambiguous target was forwarded.
func (t target) must(l Listener, suffix string) []Expect {
	ambiguous := []string{"target_ambiguous"}
	if l == OnIngress {
		ambiguous = append(ambiguous, "assertion_")
	}
	if t.Accept {
		return []Expect{{Way: Answered, Status: []int{200, 401, 403, 404, 405, 422}, Not: ambiguous}}
	}
	refused := []Expect{{Way: Closed}, {Way: Answered, Status: []int{400, 403, 405, 414, 422, 431}, Not: []string{"assertion_", "node_", "path_"}}}
	if l == OnMetrics || l == OnIngress && suffix == "" {
		refused = append(refused, answered(404))
	}
	return refused
}

func (t target) send(l Listener, id, text string) func(context.Context, *Site) (Outcome, error) {
	return func(ctx context.Context, s *Site) (Outcome, error) {
		e, err := s.endpoint(l)
		if err != nil {
			return Outcome{}, err
		}
		text := strings.ReplaceAll(text, firstMark, s.First.ID)
		var how []dialing
		if l == OnIngress {
			how = append(how, showing(s.First.Certificate))
		}
		o, err := s.ask(ctx, e, e.get(text).with("Connection: close", "User-Agent: "+id).String(), how...)
		if err != nil || l != OnIngress || s.Seen == nil {
			return o, err
		}
		return t.compare(s.Seen(), id, text, o), nil
	}
}

// compare asks the backend what it saw of an accepted target: that, byte for byte, and of a refused one nothing.
func (t target) compare(all []Reached, id, text string, o Outcome) Outcome {
	reached := false
	for _, r := range all {
		if !slices.Contains(r.Header["User-Agent"], id) {
			continue
		}
		if reached = r.Target == text; !reached {
			return Outcome{Way: Disturbed, Status: o.Status, Note: fmt.Sprintf("the backend read %.60q", r.Target)}
		}
	}
	if reached != (t.Accept && strings.HasPrefix(text, "/internal/v1/")) {
		return Outcome{Way: Disturbed, Status: o.Status, Note: fmt.Sprintf("it reached the backend: %t", reached)}
	}
	return o
}
