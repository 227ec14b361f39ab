package config

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

// findings collects problems; a setting of which one was found is not complained of twice in the same words.
type findings struct {
	all    Problems
	origin map[string]string
}

func (f *findings) add(key, detail, cure string) {
	p := Problem{Key: key, Source: f.origin[key], Detail: detail, Cure: cure}
	if !slices.Contains(f.all, p) {
		f.all = append(f.all, p)
	}
}

// take adds what a check of another package found. Its fields are translated to settings by name.
func (f *findings) take(err error, key func(field string) string) {
	e, ok := fault.As(err)
	if !ok {
		return
	}
	if len(e.Errors) == 0 {
		f.add(key(e.Field), e.Detail, e.Cure)
	}
	for _, part := range e.Errors {
		f.add(key(part.Field), part.Detail, part.Cure)
	}
}

// has says whether a problem of the setting is known already.
func (f *findings) has(key string) bool {
	return slices.ContainsFunc(f.all, func(p Problem) bool { return p.Key == key })
}

// sorted orders what was found as the settings are, what concerns none of them first.
func (f *findings) sorted() Problems {
	place := map[string]int{}
	for i, s := range settings() {
		place[s.key] = i + 1
	}
	slices.SortStableFunc(f.all, func(a, b Problem) int { return place[a.Key] - place[b.Key] })
	return f.all
}
