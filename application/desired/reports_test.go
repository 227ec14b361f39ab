package desired_test

import (
	"context"
	"strings"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

func (w *world) observation(app string) delivery.Observation {
	w.t.Helper()
	var out delivery.Observation
	w.view(func(ctx context.Context, r *store.Roles) error {
		list, err := r.Observations.OfInstall(ctx, install)
		for _, o := range list {
			if o.App == app {
				out = o
			}
		}
		return err
	})
	return out
}

// A sequence that was taken already is a no-op, and a gap is accepted and flagged (API.md).
func TestReportsAreTakenOnce(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	a := w.enroll(1)
	a.follow()
	w.must(a.reports("db", "2.0.0", "healthy"))
	a.sequence--
	w.must(a.reports("db", "1.0.0", "failed"))
	if o := w.observation("db"); o.Version != "2.0.0" || o.Outcome != delivery.OutcomeHealthy {
		t.Fatalf("%+v", o)
	}
	a.sequence += 3
	w.must(a.reports("db", "2.0.0", "progressing"))
	if o := w.observation("db"); o.Outcome != delivery.OutcomeProgressing {
		t.Fatalf("%+v", o)
	}
	view, err := w.Agent(w.ctx, install)
	w.must(err)
	if view.Agent.Gaps != 1 || view.Agent.Sequence != 5 || !strings.Contains(w.audits(install), "agent.reports_missing") {
		t.Fatalf("%+v", view.Agent)
	}
	w.refused(a.reports("db", "2", "healthy"), fault.Invalid, "version_invalid")
}

// What failed is in quarantine until it becomes something else or an operator releases it, which makes the agent try once
// more (G5).
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "1.0.0"))
	a := w.enroll(1)
	w.publish(putting("two", "db", "2.0.0"))
	a.follow()
	release := func() (desired.Published, error) {
		return w.ReleaseQuarantine(w.ctx, desired.ReleaseQuarantineRequest{Actor: alice, Install: install, App: "db"})
	}
	_, err := release()
	w.refused(err, fault.Conflict, "app_not_quarantined")
	w.must(a.reports("db", "1.0.0", "rolled_back"))
	_, app := w.running("db")
	if o := w.observation("db"); !o.InQuarantine(app) || o.Version != "1.0.0" {
		t.Fatalf("%+v", o)
	}
	out, err := release()
	w.must(err)
	if out.Head.Apps[0].Retry != 1 || out.Head.Apps[0].Since != app.Since || out.Diff[0].What != delivery.DiffRetried {
		t.Fatalf("%+v", out)
	}
	if o := w.observation("db"); o.InQuarantine(app) {
		t.Fatalf("%+v", o)
	}
	_, err = w.ReleaseQuarantine(w.ctx, desired.ReleaseQuarantineRequest{Actor: alice, Install: install, App: "wiki"})
	w.refused(err, fault.NotFound, "app_not_deployed")
}

// A tombstone goes with the next change once the agent reported it done, and not before (G9).
func TestATombstoneStaysUntilItIsReported(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0", "blog", "1.0.0"))
	a := w.enroll(1)
	w.publish(removing("blog"))
	w.publish(putting("two", "db", "1.0.0"))
	a.follow()
	if got := a.runs(); got != "blog 1.0.0 removed, db 1.0.0" {
		t.Fatal(got)
	}
	w.must(a.reports("blog", "", "removed", "db", "1.0.0", "healthy"))
	before := w.head().Revision
	w.must(w.Review(w.ctx, install))
	if w.head().Revision != before {
		t.Fatal("forgetting alone made a revision")
	}
	w.publish(putting("three", "db", "2.0.0"))
	a.follow()
	if got := a.runs(); got != "db 2.0.0" {
		t.Fatal(got)
	}
}

// An intent comes to its end by what the agent reports, in the transaction that takes the report.
func TestIntentsEndByReports(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	a := w.enroll(1)
	p := putting("intent int_1", "db", "2.0.0")
	p.Within = func(ctx context.Context, r *store.Roles, step desired.Step) error {
		return r.Intents.Create(ctx, delivery.NewIntent(delivery.Granted{
			ID: "int_1", InstallID: install, License: license, App: "db", Action: delivery.Install, Version: "2.0.0",
			Revision: step.Next.Record().Revision,
		}, step.Now))
	}
	w.publish(p)
	state := func() (out delivery.IntentState) {
		w.view(func(ctx context.Context, r *store.Roles) error {
			intent, err := r.Intents.Get(ctx, "int_1")
			w.must(err)
			out = intent.Record().State
			return nil
		})
		return out
	}
	a.follow()
	w.must(a.reports("db", "", "progressing"))
	if got := state(); got != delivery.IntentDelivering {
		t.Fatal(got)
	}
	w.hints.Took()
	w.must(a.reports("db", "2.0.0", "healthy"))
	if got := state(); got != delivery.IntentSucceeded || len(w.hints.Took()) == 0 {
		t.Fatal(got)
	}
	if !strings.Contains(w.audits(install), "intent.succeeded by "+a.id) {
		t.Fatal(w.audits(install))
	}
}

// A report about a revision that is not of this history is not taken, and nobody is told of the head any more, not even
// who holds it (D4).
func TestAReportFromAnotherHistoryFreezes(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	a := w.enroll(1)
	a.follow()
	a.state.Revision += 10
	w.refused(a.reports("db", "2.0.0", "healthy"), fault.Conflict, "desired_state_behind")
	if o := w.observation("db"); o.App != "" || !w.head().Frozen {
		t.Fatalf("%+v", o)
	}
	_, err := a.poll(w.Desired)
	w.refused(err, fault.Conflict, "desired_state_behind")
	view, err := w.Agent(w.ctx, install)
	w.must(err)
	if view.Agent.Sequence != 0 {
		t.Fatal("the report was taken")
	}
}

// Whoever proposes it: a secret that is kept here is refused once there is an agent (D3).
func TestNoSecretIsKeptHereOnceThereIsAnAgent(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.enroll(1)
	p := putting("by whom ever", "db", "2.0.0")
	p.Secrets = []delivery.SecretValue{{InstallID: install, App: "db", Parameter: "password", Custody: delivery.CustodyControl, Text: []byte("x")}}
	_, err := w.Publish(w.ctx, p)
	w.refused(err, fault.Conflict, "secret_must_be_sealed")
}

// What an agent makes up is not kept, however often it says it; what may be left over from a lost history is.
func TestOnlyWhatMayHaveBeenDeliveredIsKeptOfAReport(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	a := w.enroll(1)
	a.follow()
	for _, made := range []string{"up-1", "up-2", "up-3"} {
		w.must(a.reports("db", "2.0.0", "healthy", made, "1.0.0", "healthy", "blog", "1.0.0", "healthy"))
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		kept, err := r.Observations.OfInstall(ctx, install)
		if len(kept) != 2 || kept[0].App != "blog" || kept[1].App != "db" {
			t.Errorf("%+v", kept)
		}
		return err
	})
}
