package wire

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"testing"
)

// Only this package's tests know -update; what is recorded stays recorded.
var update = flag.Bool("update", false, "record the answers that were not recorded yet")

const version = "v1"

// Every recorded request still gets its recorded status and slug, and every answer still has what a reader of the
// recording knows.
func TestRecordings(t *testing.T) {
	t.Parallel()
	all, err := stories(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			if *update {
				record(t, s)
				return
			}
			played, err := newPlayer(t, s, nil).play(s)
			if err != nil {
				t.Fatal(err)
			}
			catchesMutants(t, played)
		})
	}
}

// record fills in what is missing, and nothing else.
func record(t *testing.T, s *Story) {
	t.Helper()
	missing := false
	for _, step := range s.Steps {
		missing = missing || !step.recorded()
	}
	if !missing {
		return
	}
	var runs [2][]exchange
	for i := range runs {
		p := newPlayer(t, s, nil)
		p.record = true
		played, err := p.play(s)
		if err != nil {
			t.Fatal(err)
		}
		runs[i] = played
	}
	if err := fill(s, runs[0], runs[1]); err != nil {
		t.Fatal(err)
	}
	data, err := s.format()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// catchesMutants: of every answer that was just taken, each single change that breaks a reader is found, and a member
// added anywhere is not held against it.
func catchesMutants(t *testing.T, played []exchange) {
	t.Helper()
	for _, x := range played {
		for _, m := range mutants(x.step.Answer, x.got) {
			v := newValues()
			v.bound = maps.Clone(x.before)
			if len(differences(x.step.Answer, m.actual, v)) == 0 {
				t.Errorf("%s: nobody would notice: %s", x.step.What, m.what)
			}
		}
		v := newValues()
		v.bound = maps.Clone(x.before)
		later := x.got
		later.body = grown(x.got.body)
		if found := differences(x.step.Answer, later, v); len(found) > 0 {
			t.Errorf("%s: added members are refused: %v", x.step.What, found)
		}
	}
}

// The files have the one form that recording writes, so that recording more leaves the rest of them as it is.
func TestFilesAreInForm(t *testing.T) {
	t.Parallel()
	all, err := stories(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		kept, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		if written, err := s.format(); err != nil || !bytes.Equal(kept, written) {
			t.Errorf("%s is not in form (%v)", s.file, err)
		}
	}
}
