package desired

import (
	"cmp"
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/identity"
	"berth/ports/store"
	"berth/ports/tokens"
)

// Proposal is a change of a deployment's desired state.
type Proposal struct {
	Install string
	Actor   audit.Actor
	Reason  string // kept with the revision: "intent int_…", "selected services", …; empty: what became of the license
	Quota   bool   // whether Situation.Used is wanted

	// Decide says what is to become of apps, or refuses. It is pure, and called once before and once within each
	// attempt's transaction: what it decides then is what is committed. Which apps may run at all, what was reported as
	// removed and what secrets were sealed to is not its business: that is looked after with every change.
	Decide func(Situation) (delivery.Edit, error)
	// Objects are what the apps that are put name: manifests, and sealed texts.
	Objects [][]byte
	// Secrets are values that are set with this change, already wrapped or sealed.
	Secrets []delivery.SecretValue
	// Within does in the same transaction what belongs to the change, also where it makes no revision. It may be nil.
	Within func(context.Context, *store.Roles, Step) error

	fresh     *delivery.Deployment // one that is made by this change
	enrolling *delivery.Agent      // one that enrols with this change
}

// situation is what the proposal is decided on.
func (p Proposal) situation(ctx context.Context, r *store.Roles, now time.Time) (Situation, error) {
	if p.fresh != nil {
		return readFresh(ctx, r, p.fresh, now, p.Quota)
	}
	s, err := read(ctx, r, p.Install, now, p.Quota)
	if err != nil || p.enrolling == nil {
		return s, err
	}
	if s.Agent != nil {
		return s, alreadyEnrolled()
	}
	s.Agent = p.enrolling
	return s, nil
}

// Step is a change at its commit.
type Step struct {
	Situation // as read in the transaction; what is done to Deployment is stored
	Changed   bool
	Next      *delivery.Desired // the head after it; the one before where nothing changed
	Diff      []delivery.Difference
	Reason    string
}

// Published is what came of a proposal.
type Published struct {
	Changed bool                   // false: it was so already, and no revision was made
	Head    delivery.DesiredRecord // as it is now
	Diff    []delivery.Difference
}

// Publish changes a desired state (E5, DESIGN §14): decide, sign outside of any transaction, then decide anew within one
// and commit if it is the same on the same head. Where somebody else was quicker it begins again. Faults: those of
// Decide, Within and delivery.Desired.Apply; NotFound deployment_not_found; Conflict desired_state_frozen,
// secret_must_be_sealed; Unavailable desired_state_contended, signing_key_missing, signer_unavailable.
func (d *Desired) Publish(ctx context.Context, p Proposal) (Published, error) {
	for range d.Settings.PublishAttempts {
		a, err := d.prepared(ctx, p)
		if err != nil {
			return Published{}, err
		}
		out, done, err := d.attempt(ctx, p, a)
		if err != nil || done {
			return out, err
		}
	}
	return Published{}, contended()
}

// signed is what was decided and signed ahead of the transaction.
type signed struct {
	before delivery.DesiredRecord
	next   *delivery.Desired // nil: nothing changes
	list   []byte            // the list of apps, where it is an object of its own
}

// prepared decides on the present situation and signs what comes of it.
func (d *Desired) prepared(ctx context.Context, p Proposal) (signed, error) {
	now := d.Clock.Now()
	var s Situation
	var key tokens.SigningKey
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if s, err = p.situation(ctx, r, now); err != nil {
			return err
		}
		key, err = signing(ctx, r, identity.KeyForDesiredState, now)
		return err
	})
	if err != nil {
		return signed{}, err
	}
	next, _, err := p.decide(s)
	if err != nil || next == nil {
		return signed{before: s.Head.Record()}, err
	}
	return d.sign(ctx, key, s.Head.Record(), next)
}

// sign makes the document of a head. Its previous is the digest of the revision just before it, where there is one.
func (d *Desired) sign(ctx context.Context, key tokens.SigningKey, before delivery.DesiredRecord, next *delivery.Desired) (signed, error) {
	previous := ""
	if next.Record().Revision == before.Revision+1 {
		previous = before.Digest
	}
	payload, list, err := delivery.PayloadOf(next.Record(), previous).Encode()
	if err != nil {
		return signed{}, err
	}
	token, err := d.Crypto.Documents.SignDocument(ctx, key, tokens.DesiredStateType, payload)
	if err != nil {
		return signed{}, err
	}
	return signed{before, next.Sealed(delivery.Digest(payload), token), list}, nil
}

// attempt commits what was signed, unless the situation is another one by now.
func (d *Desired) attempt(ctx context.Context, p Proposal, a signed) (out Published, done bool, err error) {
	err = d.commit(ctx, p.Actor, func(ctx context.Context, w *work) error {
		out, done = Published{}, false
		s, err := p.situation(ctx, w.Roles, w.now)
		if err != nil {
			return err
		}
		if !s.Head.Is(a.before) {
			return nil
		}
		next, diff, err := p.decide(s)
		if err != nil {
			return err
		}
		if (next == nil) != (a.next == nil) || next != nil && !delivery.SameOutcome(next, a.next) {
			return nil
		}
		step := Step{Situation: s, Changed: next != nil, Next: s.Head, Diff: diff, Reason: cmp.Or(p.Reason, s.why(diff))}
		if step.Changed {
			step.Next = a.next
		}
		out, done = Published{step.Changed, step.Next.Record(), diff}, true
		return w.take(ctx, p, step, a.list)
	})
	return out, done && err == nil, err
}

// take writes a change and all that belongs to it.
func (w *work) take(ctx context.Context, p Proposal, step Step, list []byte) error {
	if p.fresh != nil {
		if err := w.create(ctx, step); err != nil {
			return err
		}
	}
	if err := w.keep(ctx, p, step, list); err != nil {
		return err
	}
	if step.Changed {
		if err := w.supersede(ctx, step); err != nil {
			return err
		}
	}
	if p.Within != nil {
		if err := p.Within(ctx, w.Roles, step); err != nil {
			return err
		}
	}
	step.Deployment.Reviewed(step.nextReview(step.Next.Running()))
	return w.Deployments.Save(ctx, step.Deployment)
}

// create makes the deployment of a change, and its head before the first revision.
func (w *work) create(ctx context.Context, step Step) error {
	if err := w.Deployments.Create(ctx, step.Deployment); err != nil {
		return err
	}
	return w.DesiredStates.Create(ctx, step.Head)
}

// keep writes objects and secrets, the head, and its revision.
func (w *work) keep(ctx context.Context, p Proposal, step Step, list []byte) error {
	objects := p.Objects
	if list != nil {
		objects = append([][]byte{list}, objects...)
	}
	if len(objects) > 0 {
		if err := w.Objects.Put(ctx, objects...); err != nil {
			return err
		}
	}
	if err := w.keepSecrets(ctx, p.Secrets); err != nil || !step.Changed {
		return err
	}
	head := step.Next.Record()
	if err := w.Objects.Allow(ctx, p.Install, named(head, list)...); err != nil {
		return err
	}
	if err := w.DesiredStates.Save(ctx, step.Next); err != nil {
		return err
	}
	if err := w.Revisions.Append(ctx, delivery.Revision{
		InstallID: p.Install, Revision: head.Revision, At: head.At, Actor: p.Actor, Reason: step.Reason, Diff: step.Diff,
		Apps: head.Apps, Digest: head.Digest, Token: head.Token,
	}); err != nil {
		return err
	}
	w.hint(p.Install)
	return w.note(ctx, "desired_state.published", p.Install, publishedDetail(step))
}

func (w *work) keepSecrets(ctx context.Context, values []delivery.SecretValue) error {
	if len(values) == 0 {
		return nil
	}
	for _, v := range values {
		if v.Custody != delivery.CustodyAgent {
			continue
		}
		if err := w.Objects.Put(ctx, v.Text); err != nil {
			return err
		}
	}
	return w.SecretValues.Put(ctx, values)
}

// named are the objects that a head names, which its deployment may read from now on.
func named(head delivery.DesiredRecord, list []byte) []string {
	var out []string
	if list != nil {
		out = append(out, delivery.Digest(list))
	}
	for _, app := range head.Apps {
		if app.Removed {
			continue
		}
		out = append(out, app.Manifests.SHA256)
		for _, s := range app.Seals {
			if s.SHA256 != "" {
				out = append(out, s.SHA256)
			}
		}
	}
	return out
}

// supersede ends intents whose app was changed by something else before they came to their end.
func (w *work) supersede(ctx context.Context, step Step) error {
	for _, intent := range step.InFlight {
		if !step.replaced(intent.Record().App) ||
			!intent.Supersede(w.now, "replaced by revision "+number(step.Next.Record().Revision)+": "+step.Reason) {
			continue
		}
		if err := w.moved(ctx, intent); err != nil {
			return err
		}
	}
	return nil
}

// moved stores an intent that is in another state than before, and writes it down.
func (w *work) moved(ctx context.Context, intent *delivery.Intent) error {
	if err := w.Intents.Save(ctx, intent); err != nil {
		return err
	}
	r := intent.Record()
	return w.note(ctx, "intent."+string(r.State), r.InstallID, map[string]string{
		"intent": r.ID, "app": r.App, "detail": short(r.Detail),
	})
}

// replaced tells whether an app is another one after the change; being suspended or tried again is not.
func (s Step) replaced(app string) bool {
	after, there := s.Next.App(app)
	return !there || after.Since == s.Next.Record().Revision
}
