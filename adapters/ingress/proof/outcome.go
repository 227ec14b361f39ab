package proof

import (
	"slices"
	"strconv"
	"strings"
)

// Way is how an attempt ended.
type Way string

// The ways an attempt ends.
const (
	Unreached Way = "not reached"               // nobody takes connections there
	Handshake Way = "refused at the handshake"  // by TLS, before or right after the client's certificate
	Closed    Way = "closed without an answer"  // the connection ended first
	Reset     Way = "stream reset"              // HTTP/2
	Answered  Way = "answered"                  // with a status
	Unspoken  Way = "protocol not spoken"       // the listener does not speak what the attempt needs
	Silent    Way = "no answer within the time" // and the connection stays open
	Several   Way = "answered several times"    // where one request, or none, was to be answered
	Disturbed Way = "others were disturbed"     // the answer to somebody else's request is not what it was before
	Told      Way = "told more than it should"  // an answer holds what it must not
	Held      Way = "as it should be"           // what a probe checks is so
)

// Outcome is what happened.
type Outcome struct {
	Way    Way
	Status int
	Slug   string
	Note   string // what else a person would want to know
}

func (o Outcome) String() string {
	out := string(o.Way)
	if o.Status != 0 {
		out += " " + strconv.Itoa(o.Status)
	}
	if o.Slug != "" {
		out += " " + o.Slug
	}
	if o.Note != "" {
		out += " (" + o.Note + ")"
	}
	return out
}

// Expect is one outcome that is as it must be.
type Expect struct {
	Way    Way
	Status []int    // any of these; a number below 10 stands for its hundred; none: any
	Slug   []string // any of these; none: any
	Not    []string // and none that begins with one of these
}

// Meets says whether an outcome is the one that is expected.
func (e Expect) Meets(o Outcome) bool {
	if e.Way != o.Way {
		return false
	}
	if len(e.Status) > 0 && !slices.ContainsFunc(e.Status, func(s int) bool { return s == o.Status || s < 10 && s == o.Status/100 }) {
		return false
	}
	if len(e.Slug) > 0 && !slices.Contains(e.Slug, o.Slug) {
		return false
	}
	return !slices.ContainsFunc(e.Not, func(prefix string) bool { return strings.HasPrefix(o.Slug, prefix) })
}

func (e Expect) String() string {
	parts := []string{string(e.Way)}
	var statuses []string
	for _, s := range e.Status {
		text := strconv.Itoa(s)
		if s < 10 {
			text += "xx"
		}
		statuses = append(statuses, text)
	}
	if len(statuses) > 0 {
		parts = append(parts, strings.Join(statuses, "|"))
	}
	if len(e.Slug) > 0 {
		parts = append(parts, strings.Join(e.Slug, "|"))
	}
	if len(e.Not) > 0 {
		parts = append(parts, "and never "+strings.Join(e.Not, "…, ")+"…")
	}
	return strings.Join(parts, " ")
}

func meets(must []Expect, o Outcome) bool {
	return slices.ContainsFunc(must, func(e Expect) bool { return e.Meets(o) })
}

// answered expects a status, and one of some slugs where they are given.
func answered(status int, slugs ...string) Expect {
	return Expect{Way: Answered, Status: []int{status}, Slug: slugs}
}

// unconnected is a refusal before any request is read: one that sends first may see its end before the alert.
func unconnected() []Expect { return []Expect{{Way: Handshake}, {Way: Closed}} }

// malformed is a refusal of a request's form. One that speaks of the assertion was passed on, and only the control plane
// saved the day; what a caller may not (401, 403) is no refusal of form.
func malformed() []Expect {
	return []Expect{
		{Way: Closed}, {Way: Reset},
		{Way: Answered, Status: []int{400, 405, 408, 411, 413, 414, 415, 417, 421, 422, 426, 431, 501, 505}, Not: []string{"assertion_"}},
		answered(403, "encoding_refused"),
	}
}

// absent is a listener that has no such thing.
func absent() []Expect {
	return []Expect{{Way: Answered, Status: []int{404, 405}, Not: []string{"assertion_", "node_", "tenant_"}}, {Way: Closed}}
}
