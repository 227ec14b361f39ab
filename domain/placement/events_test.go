package placement

import (
	"reflect"
	"strings"
	"testing"

	"berth/domain/fault"
)

// What each event does in each phase of a planned move from a to b: the phase after it, "=" where it is a repetition that
// is answered like the first time and changes nothing, "-" where it is refused and changes nothing.
const moveTable = `
event           none      preparing quiescing copying   switching draining  done      aborted   failed
prepare         preparing -         -         -         -         -         preparing preparing preparing
recover         copying   copying   copying   -         -         copying   copying   copying   copying
quiesce         -         quiescing -         -         -         -         -         -         -
source-prepared -         preparing -         -         -         -         -         -         -
target-prepared -         preparing -         -         -         -         -         -         -
quiesced        -         -         copying   =         =         =         =         -         -
copied          -         -         -         switching =         =         =         -         -
switch          -         -         -         -         draining  -         -         -         -
drained         -         -         -         -         -         done      =         -         -
drain-deadline  -         -         -         -         -         done      -         -         -
abort           -         aborted   aborted   aborted   aborted   -         -         -         -
fail            -         failed    failed    failed    failed    -         -         -         -
source-failed   -         failed    failed    failed    failed    -         -         -         =
target-failed   -         failed    failed    failed    failed    -         -         -         =`

// The same for a recover from a to b, which enters at copying with the manifest of the backup.
const recoverTable = `
event           copying   switching draining  done      aborted   failed
prepare         -         -         -         preparing preparing preparing
recover         -         -         copying   copying   copying   copying
quiesce         -         -         -         -         -         -
source-prepared -         -         -         -         -         -
target-prepared -         -         -         -         -         -
quiesced        -         -         -         -         -         -
copied          switching =         =         =         -         -
switch          -         draining  -         -         -         -
drained         -         -         done      =         -         -
drain-deadline  -         -         done      -         -         -
abort           aborted   aborted   -         -         -         -
fail            failed    failed    -         -         -         -
source-failed   failed    failed    -         -         -         =
target-failed   failed    failed    -         -         -         =`

// events are the exported events by the names of the tables, each as its rightful caller sends it.
func events() map[string]func(*bench) error {
	return map[string]func(*bench) error{
		"prepare": func(b *bench) error { return b.prepare("c", "") },
		"recover": func(b *bench) error { return b.recoverTo("c") },
		"quiesce": func(b *bench) error {
			d := b.deadlines()
			d.QuiesceUnprepared = true
			return b.m.Quiesce(b.parties(b.m), d, b.now)
		},
		"source-prepared": func(b *bench) error {
			_, err := b.m.Prepared(b.parties(b.m), Reporter{Node: b.m.r.Source}, 4, b.now)
			return err
		},
		"target-prepared": func(b *bench) error {
			_, err := b.m.Prepared(b.parties(b.m), Reporter{Node: b.m.r.Target}, 4, b.now)
			return err
		},
		"quiesced": func(b *bench) error {
			return b.m.Quiesced(b.parties(b.m), Reporter{b.m.r.Source, b.m.r.Generation}, b.manifest(), b.deadlines(), b.now)
		},
		"copied": func(b *bench) error {
			return b.m.Copied(b.parties(b.m), Reporter{Node: b.m.r.Target}, b.manifest(), b.now)
		},
		"switch": func(b *bench) error { return b.m.SwitchOver(b.parties(b.m), b.deadlines(), b.now) },
		"drained": func(b *bench) error {
			return b.m.Drained(b.parties(b.m), Reporter{b.m.r.Source, b.m.r.Generation + 1}, b.now)
		},
		"drain-deadline": func(b *bench) error {
			return b.m.DrainDeadline(b.parties(b.m), b.nodes[b.m.r.Source].Lease, b.now)
		},
		"abort": func(b *bench) error { return b.m.Abort(b.parties(b.m), "no more wanted", b.now) },
		"fail":  func(b *bench) error { return b.m.Fail(b.parties(b.m), "copy", "late", b.now) },
		"source-failed": func(b *bench) error {
			return b.m.Reported(b.parties(b.m), Reporter{Node: b.m.r.Source}, "quiesce", "disk full", b.now)
		},
		"target-failed": func(b *bench) error {
			return b.m.Reported(b.parties(b.m), Reporter{Node: b.m.r.Target}, "copy", "disk full", b.now)
		},
	}
}

func TestEveryEventInEveryPhaseOfAMove(t *testing.T) {
	t.Parallel()
	everyEvent(t, Move, moveTable)
}

func TestEveryEventInEveryPhaseOfARecover(t *testing.T) {
	t.Parallel()
	everyEvent(t, Recovery, recoverTable)
}

func everyEvent(t *testing.T, kind MigrationKind, table string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	phases := strings.Fields(lines[0])[1:]
	known, walked := events(), 0
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		for i, want := range cells[1:] {
			if phases[i] == "none" && want == "-" {
				continue // there is no migration to send it to
			}
			t.Run(cells[0]+"/"+phases[i], func(t *testing.T) {
				t.Parallel()
				one(t, newBench(t).reach(kind, phaseNamed(t, phases[i])), known[cells[0]], want)
			})
		}
		walked++
	}
	if walked != len(known) {
		t.Errorf("the table has %d events, there are %d", walked, len(known))
	}
}

func phaseNamed(t *testing.T, name string) Phase {
	t.Helper()
	for i, n := range phaseNames {
		if n == name {
			return Phase(i)
		}
	}
	t.Fatalf("no phase %s", name)
	return PhaseNone
}

// one sends an event late, when every deadline has passed and the holder's and the source's leases have run out, so that
// only the phase can refuse it.
func one(t *testing.T, b *bench, event func(*bench) error, want string) {
	t.Helper()
	b.now = b.now.Add(b.deadlines().Prepare)
	b.lapse(b.p.r.Node)
	b.lapse("a")
	before := b.image()
	err := event(b)
	after := b.image()
	switch {
	case want == "-":
		if k := fault.KindOf(err); err == nil || k != fault.Conflict || !reflect.DeepEqual(before, after) {
			t.Fatalf("got %v\nbefore %+v\nafter  %+v", err, before, after)
		}
		return
	case err != nil:
		t.Fatalf("refused: %v", err)
	case want == "=":
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("a repetition changed\n%+v into\n%+v", before, after)
		}
		return
	}
	if got := b.m.Record().State.String(); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if got := b.p.Record().State.String(); got != settled(want) {
		t.Fatalf("the placement is %s while the migration is %s", got, want)
	}
	moved := before.Placement.Version
	if before.Placement != after.Placement {
		moved++
	}
	if after.Placement.Version != moved {
		t.Fatalf("version went from %d to %d", before.Placement.Version, after.Placement.Version)
	}
}
