package desired

import (
	"context"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/notify"
	"berth/ports/store"
)

// PollRequest asks whether there is anything new.
type PollRequest struct {
	Caller AgentCaller
	Held   string        // the ETag of what the agent has; empty: nothing
	Wait   time.Duration // how long to wait for something new
}

// PollAnswer is the desired state, or that it is the one that the agent has.
type PollAnswer struct {
	Unchanged bool
	ETag      string
	Token     string // the compact JWS; empty where it is unchanged
}

// Poll answers an agent with what its cluster is to run, once that differs from what it has (G2). Where nothing is new,
// nothing is read but what the authentication read. Nothing is told that may not run any more: a review that is due comes
// first (E6). An agent that holds a revision which is not of this history is told so and nothing else, and the head is
// frozen (D4). Faults: Conflict desired_state_behind; Unauthenticated agent_token_signature where the agent was forgotten
// meanwhile; Exhausted too_many_waiters; Unavailable request_ended, those of Review.
func (d *Desired) Poll(ctx context.Context, in PollRequest) (PollAnswer, error) {
	held, _ := delivery.ParseHeld(in.Held)
	p := polling{Desired: d, caller: in.Caller, held: held}
	w := notify.Waiter{Hints: d.Hints, Clock: d.Clock, Longest: d.Settings.MaxWait, Relook: d.Settings.Relook}
	err := w.Await(ctx, in.Wait, Topic(in.Caller.Install), p.look)
	return p.answer, err
}

type polling struct {
	*Desired
	caller AgentCaller
	held   delivery.Held
	again  bool // whether what the authentication read was used already
	answer PollAnswer
}

func (p *polling) look(ctx context.Context) (done bool, err error) {
	polled, err := p.polled(ctx)
	if err != nil {
		return false, err
	}
	now := delivery.Held{Revision: polled.Revision, Digest: polled.Digest}
	if polled.Frozen {
		return false, behind()
	}
	if now == p.held {
		p.answer = PollAnswer{Unchanged: true, ETag: now.ETag()}
		return false, nil
	}
	p.answer, err = p.tell(ctx)
	return !p.answer.Unchanged, err
}

// polled is what the deployment is at: at first what was read for the authentication, so that a poll costs one read. An
// agent that waits is looked up each time, so that one that was forgotten is not told anything.
func (p *polling) polled(ctx context.Context) (store.Polled, error) {
	polled := p.caller.polled
	var err error
	if p.again {
		polled, err = p.readAgain(ctx)
	}
	p.again = true
	if err != nil || polled.Frozen || !delivery.Due(polled.ReviewAt, p.Clock.Now()) {
		return polled, err
	}
	if err := p.Review(ctx, p.caller.Install); err != nil {
		return polled, err
	}
	return p.readAgain(ctx)
}

func (p *polling) readAgain(ctx context.Context) (store.Polled, error) {
	polled, err := p.Store.Poll(ctx, p.caller.Agent)
	if fault.KindOf(err) == fault.NotFound {
		return polled, strangeAgent()
	}
	return polled, err
}

// tell answers with the head, or says that what the agent has is not of this history.
func (p *polling) tell(ctx context.Context) (PollAnswer, error) {
	var head delivery.DesiredRecord
	var verdict delivery.HeldVerdict
	err := p.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		d, err := r.DesiredStates.Get(ctx, p.caller.Install)
		if err != nil {
			return err
		}
		head = d.Record()
		verdict, err = judgeHeld(ctx, r, p.held, head)
		return err
	})
	switch {
	case err != nil:
		return PollAnswer{}, err
	case head.Frozen:
		return PollAnswer{}, behind()
	case verdict == delivery.HeldUnchanged:
		return PollAnswer{Unchanged: true, ETag: p.held.ETag()}, nil
	case verdict == delivery.HeldOlder:
		return PollAnswer{ETag: delivery.HeldOf(head).ETag(), Token: head.Token}, nil
	}
	if err := p.freeze(ctx, p.caller, p.held.Revision, string(verdict)); err != nil {
		return PollAnswer{}, err
	}
	return PollAnswer{}, behind()
}

// judgeHeld judges what an agent holds by what this history has of it.
func judgeHeld(ctx context.Context, r *store.Roles, held delivery.Held, head delivery.DesiredRecord) (delivery.HeldVerdict, error) {
	recorded, err := recordedDigest(ctx, r, head, held)
	return held.Verdict(head, recorded), err
}

func recordedDigest(ctx context.Context, r *store.Roles, head delivery.DesiredRecord, held delivery.Held) (string, error) {
	if held.Revision == 0 || held.Revision >= head.Revision {
		return "", nil
	}
	revision, err := r.Revisions.Get(ctx, head.InstallID, held.Revision)
	if fault.KindOf(err) == fault.NotFound {
		return "", nil
	}
	return revision.Digest, err
}

// freeze notes that an agent says to hold a revision that is not of this history.
func (d *Desired) freeze(ctx context.Context, caller AgentCaller, claimed int64, verdict string) error {
	return d.commit(ctx, caller.actor(), func(ctx context.Context, w *work) error {
		head, err := w.DesiredStates.Get(ctx, caller.Install)
		if err != nil {
			return err
		}
		return w.freeze(ctx, head, claimed, verdict)
	})
}

func (w *work) freeze(ctx context.Context, head *delivery.Desired, claimed int64, verdict string) error {
	before := head.Record()
	next, changed := head.Claimed(claimed)
	if !changed {
		return nil
	}
	if err := w.DesiredStates.Save(ctx, next); err != nil {
		return err
	}
	w.hint(before.InstallID)
	return w.note(ctx, "desired_state.frozen", before.InstallID, map[string]string{
		"revision": number(before.Revision), "claimed": number(claimed), "verdict": verdict,
	})
}

func behind() error {
	return fault.New(fault.Conflict, "desired_state_behind",
		"the control plane knows less than the agent: keep what runs").
		Curable("prove what you hold: POST /agent/v1/proofs; an operator leaps the desired state then")
}
