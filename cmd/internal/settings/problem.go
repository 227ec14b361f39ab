package settings

import (
	"fmt"
	"slices"
	"strings"

	"berth/domain/fault"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Key    string // the setting; empty where it is none in particular
	Source string // where its value came from
	Detail string
	Cure   string
}

// Problems are everything that is wrong with the settings, in their order.
type Problems []Problem

// Error names each problem on a line of its own, with what to do about it.
func (p Problems) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d things are wrong with the configuration:", len(p))
	if len(p) == 1 {
		out.Reset()
		out.WriteString("one thing is wrong with the configuration:")
	}
	for _, one := range p {
		out.WriteString("\n  " + one.String())
	}
	return out.String()
}

// String is the problem as one line.
func (p Problem) String() string {
	out := p.Detail
	if p.Key != "" {
		out = p.Key + ": " + out
	}
	if p.Source != "" {
		out += " (from " + p.Source + ")"
	}
	if p.Cure != "" {
		out += "; " + p.Cure
	}
	return out
}

// Findings collects problems; a setting of which one was found is not complained of twice in the same words.
type Findings struct {
	all    Problems
	origin map[string]string
}

// Add says what is wrong with a setting, empty for none in particular, and what would cure it where that is known.
func (f *Findings) Add(key, detail, cure string) {
	p := Problem{Key: key, Source: f.origin[key], Detail: detail, Cure: cure}
	if !slices.Contains(f.all, p) {
		f.all = append(f.all, p)
	}
}

// Take adds what a check of another package found. Its fields are translated to settings by name.
func (f *Findings) Take(err error, key func(field string) string) {
	e, ok := fault.As(err)
	if !ok {
		return
	}
	if len(e.Errors) == 0 {
		f.Add(key(e.Field), e.Detail, e.Cure)
	}
	for _, part := range e.Errors {
		f.Add(key(part.Field), part.Detail, part.Cure)
	}
}

// Has says whether a problem of the setting is known already.
func (f *Findings) Has(key string) bool {
	return slices.ContainsFunc(f.all, func(p Problem) bool { return p.Key == key })
}

// sorted orders what was found as the settings are, what concerns none of them first.
func (f *Findings) sorted(fields []field) Problems {
	place := map[string]int{}
	for i, s := range fields {
		place[s.key] = i + 1
	}
	slices.SortStableFunc(f.all, func(a, b Problem) int { return place[a.Key] - place[b.Key] })
	return f.all
}
