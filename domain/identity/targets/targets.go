// Package targets is the shared corpus of request targets (I2): every listener that reads a target is tried with these,
// in tests and by berthctl against a real deployment. Whoever reads a target has to agree with the corpus or refuse.
package targets

import (
	_ "embed" // the corpus itself
	"strconv"
	"strings"
)

//go:embed targets.txt
var corpus string

// Target is a request target and its verdict.
type Target struct {
	Text   string // raw, any bytes
	Accept bool   // whether identity.CheckTarget has to accept it
	Line   int    // of the corpus
}

// All returns the corpus in its order. A line that is out of form panics: the corpus is part of the program.
func All() []Target {
	var out []Target
	number := 0
	for line := range strings.Lines(corpus) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, literal, _ := strings.Cut(line, "\t")
		text, err := strconv.Unquote(literal)
		if err != nil || word != "accept" && word != "refuse" {
			panic("the corpus of targets is out of form in line " + strconv.Itoa(number))
		}
		out = append(out, Target{Text: text, Accept: word == "accept", Line: number})
	}
	return out
}
