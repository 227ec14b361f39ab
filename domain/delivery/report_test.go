package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// cluster is what the control plane knows of one, and the reports that it took in the order in which they came.
type cluster struct {
	head         delivery.DesiredRecord
	agent        *delivery.Agent
	observations []delivery.Observation
	intents      []*delivery.Intent
	taken        []delivery.Report
}

func (c *cluster) report(r delivery.Report) delivery.ReportVerdict {
	if fresh, _ := c.agent.Take(r, start); !fresh {
		return delivery.ReportVerdict{}
	}
	c.taken = append(c.taken, r)
	v := r.Judge(delivery.Standpoint{Head: c.head, Observations: c.observations, InFlight: c.inFlight(), Now: start})
	for _, o := range v.Observations {
		i := slices.IndexFunc(c.observations, func(b delivery.Observation) bool { return b.App == o.App })
		if i < 0 {
			c.observations = append(c.observations, o)
		} else {
			c.observations[i] = o
		}
	}
	return v
}

func (c *cluster) inFlight() []*delivery.Intent {
	return slices.DeleteFunc(slices.Clone(c.intents), func(i *delivery.Intent) bool { return !i.InFlight() })
}

func (c *cluster) of(app string) delivery.Observation {
	i := slices.IndexFunc(c.observations, func(o delivery.Observation) bool { return o.App == app })
	if i < 0 {
		return delivery.Observation{}
	}
	return c.observations[i]
}

// upgrading is a cluster whose app a is to go from 1.0.0 to 2.0.0 by revision 5, asked for by an intent.
func upgrading() *cluster {
	app := anApp("a", "2.0.0")
	app.Since = 5
	return &cluster{
		head:  delivery.DesiredRecord{InstallID: "ins_1", Revision: 6, Apps: []delivery.DesiredApp{app}},
		agent: delivery.RestoreAgent(delivery.AgentRecord{ID: "agt_1", InstallID: "ins_1"}),
		intents: []*delivery.Intent{delivery.NewIntent(delivery.Granted{
			ID: "int_1", InstallID: "ins_1", App: "a", Action: delivery.Upgrade, Version: "2.0.0", From: "1.0.0", Revision: 5,
		}, start)},
	}
}

func on(sequence, observed int64, outcome delivery.Outcome, version string) delivery.Report {
	return delivery.Report{Sequence: sequence, Observed: observed, Apps: []delivery.AppReport{
		{App: "a", Version: version, Outcome: outcome, Detail: string(outcome)},
	}}
}

func TestReportsMoveAnIntent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reports []delivery.Report
		want    delivery.IntentState
	}{
		"before it":              {[]delivery.Report{on(1, 4, delivery.OutcomeHealthy, "1.0.0"), on(2, 4, delivery.OutcomeFailed, "1.0.0")}, delivery.IntentAccepted},
		"the old one is healthy": {[]delivery.Report{on(1, 5, delivery.OutcomeHealthy, "1.0.0")}, delivery.IntentAccepted},
		"progress":               {[]delivery.Report{on(1, 5, delivery.OutcomeProgressing, "1.0.0")}, delivery.IntentDelivering},
		"healthy":                {[]delivery.Report{on(1, 5, delivery.OutcomeProgressing, "1.0.0"), on(2, 6, delivery.OutcomeHealthy, "2.0.0")}, delivery.IntentSucceeded},
		"healthy at once":        {[]delivery.Report{on(1, 6, delivery.OutcomeHealthy, "2.0.0")}, delivery.IntentSucceeded},
		"rolled back":            {[]delivery.Report{on(1, 5, delivery.OutcomeRolledBack, "1.0.0"), on(2, 5, delivery.OutcomeHealthy, "2.0.0")}, delivery.IntentRolledBack},
		"failed":                 {[]delivery.Report{on(1, 5, delivery.OutcomeFailed, "")}, delivery.IntentFailed},
		"rollback failed":        {[]delivery.Report{on(1, 5, delivery.OutcomeRollbackFailed, "")}, delivery.IntentFailed},
		"an old sequence":        {[]delivery.Report{on(3, 5, delivery.OutcomeProgressing, "1.0.0"), on(2, 6, delivery.OutcomeHealthy, "2.0.0")}, delivery.IntentDelivering},
		"removed":                {[]delivery.Report{on(1, 6, delivery.OutcomeRemoved, "")}, delivery.IntentAccepted},
	} {
		cl := upgrading()
		for _, r := range c.reports {
			cl.report(r)
		}
		if got := cl.intents[0].Record().State; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// After a rollback the old version is what runs, however often it is reported healthy; what failed stays in quarantine
// until it becomes something else (G5, G10).
func TestWhatIsReportedIsWhatRuns(t *testing.T) {
	t.Parallel()
	c := upgrading()
	v := c.report(on(1, 5, delivery.OutcomeRolledBack, "1.0.0"))
	if !slices.Equal(v.Quarantined, []string{"a"}) {
		t.Fatalf("%v", v.Quarantined)
	}
	if v = c.report(on(2, 6, delivery.OutcomeHealthy, "1.0.0")); len(v.Quarantined) > 0 {
		t.Fatal("told again")
	}
	if o := c.of("a"); o.Version != "1.0.0" || o.Outcome != delivery.OutcomeHealthy || !o.InQuarantine(c.head.Apps[0]) {
		t.Fatalf("%+v", o)
	}
	c.head.Apps = slices.Clone(c.head.Apps)
	c.head.Apps[0].Suspended, c.head.Revision = true, 7
	c.report(on(3, 7, delivery.OutcomeSuspended, "1.0.0"))
	if o := c.of("a"); !o.InQuarantine(c.head.Apps[0]) {
		t.Fatalf("suspending released it: %+v", o)
	}
	fixed := anApp("a", "2.0.1")
	fixed.Since = 8
	c.head.Apps, c.head.Revision = []delivery.DesiredApp{fixed}, 8
	if o := c.of("a"); o.InQuarantine(c.head.Apps[0]) {
		t.Fatalf("another version is in quarantine: %+v", o)
	}
	c.report(on(4, 7, delivery.OutcomeRolledBack, "1.0.0"))
	if o := c.of("a"); o.InQuarantine(c.head.Apps[0]) {
		t.Fatalf("a report on what was before: %+v", o)
	}
}

// The same version with other manifests is not what was to run.
func TestTheSameVersionOfOtherManifestsIsNotIt(t *testing.T) {
	t.Parallel()
	c := upgrading()
	r := on(1, 6, delivery.OutcomeHealthy, "2.0.0")
	r.Apps[0].Digest = digest("something else")
	c.report(r)
	if got := c.intents[0].Record().State; got != delivery.IntentAccepted {
		t.Fatal(got)
	}
	r = on(2, 6, delivery.OutcomeHealthy, "2.0.0")
	r.Apps[0].Digest = c.head.Apps[0].Manifests.SHA256
	c.report(r)
	if got := c.intents[0].Record().State; got != delivery.IntentSucceeded {
		t.Fatal(got)
	}
}

func TestAnUninstallEndsWithTheReportThatItIsDone(t *testing.T) {
	t.Parallel()
	c := upgrading()
	c.head.Apps = []delivery.DesiredApp{{App: "a", Version: "2.0.0", Since: 5, Removed: true}}
	c.intents = []*delivery.Intent{delivery.NewIntent(delivery.Granted{
		ID: "int_1", InstallID: "ins_1", App: "a", Action: delivery.Uninstall, Version: "2.0.0", Revision: 5,
	}, start)}
	c.report(on(1, 4, delivery.OutcomeRemoved, ""))
	c.report(delivery.Report{Sequence: 2, Observed: 6}) // says nothing of it
	if got := c.intents[0].Record().State; got != delivery.IntentAccepted || c.of("a").Gone(c.head.Apps[0]) {
		t.Fatalf("%s by a report that does not say so", got)
	}
	c.report(on(3, 5, delivery.OutcomeHealthy, "2.0.0"))
	if got := c.intents[0].Record().State; got != delivery.IntentAccepted {
		t.Fatalf("%s while it runs", got)
	}
	c.report(on(4, 5, delivery.OutcomeRemoved, ""))
	if got := c.intents[0].Record().State; got != delivery.IntentSucceeded || !c.of("a").Gone(c.head.Apps[0]) {
		t.Fatal(got)
	}
}

// In whatever order reports come, however often, and whichever are lost: what is known is what the taken report of the
// highest sequence says; an intent has an end that a taken report gave it, and keeps it; and a quarantine is never of what
// no taken report said to have failed.
func TestAnyOrderRepetitionAndGapOfReports(t *testing.T) {
	t.Parallel()
	outcomes := []delivery.Outcome{
		delivery.OutcomeHealthy, delivery.OutcomeProgressing, delivery.OutcomeRolledBack, delivery.OutcomeFailed,
		delivery.OutcomeRollbackFailed, delivery.OutcomeSuspended, delivery.OutcomeRemoved,
	}
	rapid.Check(t, func(t *rapid.T) {
		var sent []delivery.Report
		for i := range rapid.IntRange(1, 12).Draw(t, "reports") {
			sent = append(sent, on(int64(i+1), rapid.Int64Range(3, 6).Draw(t, "observed"),
				rapid.SampledFrom(outcomes).Draw(t, "outcome"), rapid.SampledFrom([]string{"", "1.0.0", "2.0.0"}).Draw(t, "version")))
		}
		c := upgrading()
		ended, highest := delivery.IntentState(""), int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "arrivals") {
			r := sent[rapid.IntRange(0, len(sent)-1).Draw(t, "which")]
			before, gaps := len(c.taken), c.agent.Record().Gaps
			c.report(r)
			if fresh := len(c.taken) > before; fresh != (r.Sequence > highest) {
				t.Fatalf("sequence %d after %d: taken %v", r.Sequence, highest, fresh)
			} else if fresh && (c.agent.Record().Gaps > gaps) != (r.Sequence > highest+1) {
				t.Fatalf("sequence %d after %d: a gap was counted wrongly", r.Sequence, highest)
			}
			highest = max(highest, r.Sequence)
			state := c.intents[0].Record().State
			if ended != "" && state != ended {
				t.Fatalf("ended as %s and then %s", ended, state)
			}
			if !c.intents[0].InFlight() {
				ended = state
			}
		}
		last := c.taken[len(c.taken)-1].Apps[0]
		if o := c.of("a"); o.Version != last.Version || o.Outcome != last.Outcome || o.Revision != c.taken[len(c.taken)-1].Observed {
			t.Fatalf("%+v, reported %+v", o, last)
		}
		said := func(outcomes []delivery.Outcome, version string) bool {
			return slices.ContainsFunc(c.taken, func(r delivery.Report) bool {
				return r.Observed >= 5 && slices.Contains(outcomes, r.Apps[0].Outcome) && (version == "" || r.Apps[0].Version == version)
			})
		}
		for state, outcomes := range map[delivery.IntentState][]delivery.Outcome{
			delivery.IntentSucceeded:  {delivery.OutcomeHealthy},
			delivery.IntentRolledBack: {delivery.OutcomeRolledBack},
			delivery.IntentFailed:     {delivery.OutcomeFailed, delivery.OutcomeRollbackFailed},
		} {
			version := map[bool]string{true: "2.0.0"}[state == delivery.IntentSucceeded]
			if ended == state && !said(outcomes, version) {
				t.Fatalf("%s, and nobody said so: %+v", state, c.taken)
			}
		}
		if o := c.of("a"); o.Quarantined != 0 &&
			(o.Quarantined != 5 || !said([]delivery.Outcome{delivery.OutcomeRolledBack, delivery.OutcomeFailed, delivery.OutcomeRollbackFailed}, "")) {
			t.Fatalf("in quarantine for nothing: %+v", o)
		}
	})
}

func TestTwoProcessesWithOneKeyAreNoticed(t *testing.T) {
	t.Parallel()
	a := delivery.RestoreAgent(delivery.AgentRecord{ID: "agt_1"})
	for i, step := range []struct {
		instance             string
		changed, interleaved bool
	}{
		{"p1", true, false}, {"p1", false, false}, {"p2", true, false}, {"p2", false, false}, {"p3", true, false},
		{"p2", true, true}, {"p3", true, true}, {"p3", false, false}, {"p4", true, false},
	} {
		if changed, interleaved := a.Hear(step.instance, start); changed != step.changed || interleaved != step.interleaved {
			t.Fatalf("step %d: %v %v", i, changed, interleaved)
		}
	}
	if got := a.Record().Interleaved; got != 2 {
		t.Fatal(got)
	}
}

func TestReportsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for slug, r := range map[string]delivery.Report{
		"out_of_range":    {Sequence: 0},
		"outcome_unknown": on(1, 1, "fine", "1.0.0"),
		"version_invalid": on(1, 1, delivery.OutcomeHealthy, "v1"),
		"app_repeated":    {Sequence: 1, Apps: append(on(1, 1, delivery.OutcomeHealthy, "").Apps, on(1, 1, delivery.OutcomeFailed, "").Apps...)},
		"invalid_id":      {Sequence: 1, Apps: []delivery.AppReport{{App: "A", Outcome: delivery.OutcomeHealthy}}},
		"too_many_apps":   {Sequence: 1, Apps: make([]delivery.AppReport, 201)},
	} {
		if err := r.Check(); fault.SlugOf(err) != slug {
			t.Errorf("%s: %v", slug, err)
		}
	}
	long := on(1, 5, delivery.OutcomeFailed, "1.0.0")
	long.Apps[0].Detail = strings.Repeat("ä", 2000) + "\x00"
	long.Drift = make([]string, 1000)
	if err := long.Check(); err != nil {
		t.Fatal("a report that only says much is refused:", err)
	}
	c := upgrading()
	c.report(long)
	if got := c.of("a").Detail; len(got) > 1024 || strings.Contains(got, "\ufffd") || len(c.agent.Record().Drift) > 100 {
		t.Fatalf("%d bytes", len(got))
	}
}

func enrolment(seed byte) delivery.Enrolment {
	key := keyOf(seed)
	return delivery.Enrolment{
		ID: "agt_1", InstallID: "ins_1", PublicKey: key.public, SealKey: "age1xyz",
		SealKeySignature: key.sign(delivery.SealKeyMessage("age1xyz")), ClusterUID: "uid", ClusterVersion: "v1.33.0",
		Platforms: []string{"linux/arm64", "linux/amd64", "linux/amd64"},
	}
}

func TestEnrolment(t *testing.T) {
	t.Parallel()
	a, err := delivery.NewAgent(enrolment(1), start.Add(time.Nanosecond))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Record(); !slices.Equal(got.Platforms, []string{"linux/amd64", "linux/arm64"}) || !got.EnrolledAt.Equal(start) {
		t.Fatalf("%+v", got)
	}
	if !a.IsBy(keyOf(1).public, "age1xyz") || a.IsBy(keyOf(2).public, "age1xyz") || a.IsBy(keyOf(1).public, "age1other") {
		t.Fatal("who it is by")
	}
	for slug, bend := range map[string]func(*delivery.Enrolment){
		"public_key_malformed": func(e *delivery.Enrolment) { e.PublicKey = make([]byte, 32) },
		"seal_key_unproven":    func(e *delivery.Enrolment) { e.SealKeySignature = keyOf(2).sign(delivery.SealKeyMessage(e.SealKey)) },
		"seal_key_invalid": func(e *delivery.Enrolment) {
			e.SealKey, e.SealKeySignature = "", keyOf(1).sign(delivery.SealKeyMessage(""))
		},
		"platform_invalid":   func(e *delivery.Enrolment) { e.Platforms = []string{"linux"} },
		"text_out_of_bounds": func(e *delivery.Enrolment) { e.ClusterUID = "" },
	} {
		e := enrolment(1)
		bend(&e)
		if _, err := delivery.NewAgent(e, start); fault.SlugOf(err) != slug {
			t.Errorf("%s: %v", slug, err)
		}
	}
}
