package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"berth/adapters/ingress/proof"
)

// progress tells how far it is: on a terminal in one line, elsewhere of failures only.
func (s streams) progress() func(done, of int, last proof.Result) {
	terminal := false
	if f, ok := s.err.(*os.File); ok {
		info, err := f.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return func(done, of int, last proof.Result) {
		clear := ""
		if terminal {
			clear = "\r\x1b[K"
		}
		if last.Verdict == proof.Failed {
			fmt.Fprintf(s.err, "%sFAILED %s: %s: %s\n", clear, last.ID, last.Tries, last.Saw)
		}
		if terminal {
			fmt.Fprintf(s.err, "%s%d of %d", clear, done, of)
			if done == of {
				fmt.Fprint(s.err, clear)
			}
		}
	}
}

// table prints the report for a person: a line for each kind of attempt, then whatever is not proven, and why.
func (s streams) table(report proof.Report) {
	type row struct {
		listener proof.Listener
		kind     proof.Kind
	}
	rows := map[row]map[proof.Verdict]int{}
	for _, r := range report.Probes {
		at := row{r.Listener, r.Kind}
		if rows[at] == nil {
			rows[at] = make(map[proof.Verdict]int)
		}
		rows[at][r.Verdict]++
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LISTENER\tKIND\tPROVEN\tFAILED\tNOT PROVEN")
	order := func(a, b row) int { return cmp.Or(cmp.Compare(a.listener, b.listener), cmp.Compare(a.kind, b.kind)) }
	for _, at := range slices.SortedFunc(maps.Keys(rows), order) {
		n := rows[at]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", at.listener, at.kind, n[proof.Proven], n[proof.Failed], n[proof.NotProven])
	}
	_ = w.Flush() // to a terminal or a pipe that is there
	s.reasons(report)
	for _, left := range report.LeftBehind {
		fmt.Fprintf(s.out, "\nLEFT BEHIND %s: retire it by hand\n", left)
	}
	fmt.Fprintf(s.out, "\n%d proven, %d failed, %d not proven: %s\n", report.Counts[proof.Proven], report.Counts[proof.Failed],
		report.Counts[proof.NotProven], sentence(report))
}

func (s streams) reasons(report proof.Report) {
	whys := map[string]int{}
	for _, r := range report.Probes {
		switch r.Verdict {
		case proof.Failed:
			fmt.Fprintf(s.out, "\nFAILED %s\n  tries  %s\n  must   %s\n  saw    %s\n", r.ID, r.Tries, strings.Join(r.Must, "; or "), r.Saw)
		case proof.NotProven:
			whys[r.Why]++
		case proof.Proven:
		}
	}
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		fmt.Fprintf(s.out, "\nNOT PROVEN %d: %s\n", whys[why], why)
	}
}

func sentence(report proof.Report) string {
	switch report.Verdict {
	case proof.Proven:
		return "all is as it must be"
	case proof.Failed:
		return "NOT all is as it must be"
	case proof.NotProven:
		if report.Counts[proof.Proven] == 0 {
			return "nothing was tried"
		}
	}
	return "what was tried is as it must be, and not all was tried"
}
