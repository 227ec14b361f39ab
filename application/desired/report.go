package desired

import (
	"context"
	"strings"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// ReportRequest is what an agent says of its cluster.
type ReportRequest struct {
	Caller AgentCaller
	Report delivery.Report
}

// Report takes what an agent says, once: a sequence that was taken already changes nothing, and a gap is counted. What is
// kept is what runs (G10); intents come to their ends by it, and what failed is not tried again (G5). One about a
// revision that is not of this history is not taken, and freezes the head (D4). Faults: those of delivery.Report.Check;
// Conflict desired_state_behind; Unauthenticated agent_token_signature.
func (d *Desired) Report(ctx context.Context, in ReportRequest) error {
	if err := in.Report.Check(); err != nil {
		return err
	}
	var refused error
	err := d.commit(ctx, in.Caller.actor(), func(ctx context.Context, w *work) (err error) {
		refused, err = w.report(ctx, in)
		return err
	})
	if err != nil {
		return err
	}
	return refused
}

// report takes a report; refused is told although the transaction is kept.
func (w *work) report(ctx context.Context, in ReportRequest) (refused, err error) {
	agent, err := w.Agents.Get(ctx, in.Caller.Agent)
	if fault.KindOf(err) == fault.NotFound {
		return nil, strangeAgent()
	}
	if err != nil {
		return nil, err
	}
	if in.Report.Sequence <= agent.Record().Sequence {
		return nil, nil // taken already: whatever it says, it changes nothing
	}
	s, err := read(ctx, w.Roles, in.Caller.Install, w.now, false)
	if err != nil {
		return nil, err
	}
	if head := s.Head.Record(); head.Frozen || in.Report.Observed > head.Revision {
		return behind(), w.freeze(ctx, s.Head, in.Report.Observed, string(delivery.HeldBehind))
	}
	_, gap := agent.Take(in.Report, w.now)
	if err := w.Agents.Save(ctx, agent); err != nil {
		return nil, err
	}
	w.hint(in.Caller.Install)
	if gap {
		if err := w.note(ctx, "agent.reports_missing", in.Caller.Install, map[string]string{
			"agent": in.Caller.Agent, "sequence": number(in.Report.Sequence), "gaps": number(agent.Record().Gaps),
		}); err != nil {
			return nil, err
		}
	}
	return nil, w.verdict(ctx, in, s)
}

// verdict stores what follows from a report.
func (w *work) verdict(ctx context.Context, in ReportRequest, s Situation) error {
	v := in.Report.Judge(delivery.Standpoint{
		Head: s.Head.Record(), Observations: s.Observations, InFlight: s.InFlight, Entitled: s.Entitlements, Now: w.now,
	})
	if len(v.Observations) > 0 {
		if err := w.Observations.Put(ctx, v.Observations); err != nil {
			return err
		}
	}
	for _, intent := range v.Intents {
		if err := w.moved(ctx, intent); err != nil {
			return err
		}
	}
	return w.noteOutcomes(ctx, in, s, v)
}

// noteOutcomes writes down what became another one of an app: most reports say what the one before said.
func (w *work) noteOutcomes(ctx context.Context, in ReportRequest, s Situation, v delivery.ReportVerdict) error {
	for _, o := range v.Observations {
		before := s.Observation(o.App)
		if before.Outcome == o.Outcome && before.Version == o.Version && before.Quarantined == o.Quarantined {
			continue
		}
		if err := w.note(ctx, "app.reported", in.Caller.Install, map[string]string{
			"app": o.App, "before": strings.TrimSpace(before.Version + " " + string(before.Outcome)),
			"after":    strings.TrimSpace(o.Version + " " + string(o.Outcome)),
			"revision": number(o.Revision), "quarantined": number(o.Quarantined), "detail": short(o.Detail),
		}); err != nil {
			return err
		}
	}
	return nil
}
