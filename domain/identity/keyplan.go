package identity

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Windows are the lengths of a signing key's life (I6). All but Skew must be positive.
type Windows struct {
	PublishAhead time.Duration // published before it signs, so that every verifier has it
	SignFor      time.Duration // signs at most this long; more than twice PublishAhead
	VerifyAfter  time.Duration // verifies for this long after it may last have signed

	// Skew is how far a verifier's clock may be behind: a key is accepted this long before it signs. It is shorter than
	// PublishAhead. A clock that is ahead by as much is allowed for in VerifyAfter.
	Skew time.Duration
}

// Check validates the windows of keys whose signatures must stay good for a time: 10 minutes for device tokens (A7).
// Invalid key_windows_invalid names each problem.
func (w Windows) Check(longestLife time.Duration) error {
	return fault.All(
		w.check(),
		windowFault(longestLife > 0 && w.VerifyAfter-w.Skew >= longestLife, "verify_after",
			"a key verifies for the life of the last thing it signed, and the clock skew"),
	)
}

func (w Windows) check() *fault.Error {
	for _, f := range []*fault.Error{
		windowFault(w.Skew >= 0, "skew", "the skew is not negative"),
		windowFault(w.PublishAhead > w.Skew, "publish_ahead", "a key is published ahead by more than the skew"),
		windowFault(w.SignFor/2 > w.PublishAhead, "sign_for", "a key signs for more than twice the time it is published ahead"),
		windowFault(w.VerifyAfter > w.Skew, "verify_after", "a key verifies for longer than the skew after it signed"),
	} {
		if f != nil {
			return f
		}
	}
	return nil
}

func windowFault(ok bool, field, detail string) *fault.Error {
	return unless(ok, "key_windows_invalid", detail, field)
}

// NotBefore returns the not-before of a key made now that is to take its turn in time.
func (w Windows) NotBefore(now time.Time) time.Time {
	return ident.Instant(now.Add(w.PublishAhead - w.Skew))
}

// ActionKind is what a key ring needs done.
type ActionKind string

// The kinds of action.
const (
	ActionNewKey   ActionKind = "new-key"  // make a key in the KMS and Add it, with the action's NotBefore
	ActionActivate ActionKind = "activate" // KeyRing.Activate
	ActionRetire   ActionKind = "retire"   // KeyRing.Retire
	ActionEnd      ActionKind = "end"      // KeyRing.End
)

// Action is one step of a plan. KID is empty for a new key; NotBefore is zero for all else.
type Action struct {
	Kind      ActionKind
	KID       string
	NotBefore time.Time
}

// Plan returns what is due, in the order to do it; nothing where nothing is. It changes nothing, and doing what it says
// and planning again ends after a few rounds.
//
// A successor is asked for twice PublishAhead before the active key's sign-until and takes over one PublishAhead later,
// so that a planner which runs at least twice in PublishAhead leaves no time without a signer. Where nothing can sign,
// as at the very start or after a compromise, a new key is asked for that is not published ahead: a verifier that meets
// an unknown kid asks for the keys again.
func (r *KeyRing) Plan(now time.Time, w Windows) []Action {
	var plan []Action
	next := r.due(now, w)
	for _, k := range r.keys {
		switch {
		case k == next:
			plan = append(plan, Action{Kind: ActionActivate, KID: k.record.KID})
		case k.record.State == KeyActive && next == nil && !now.Before(k.record.SignUntil):
			plan = append(plan, Action{Kind: ActionRetire, KID: k.record.KID})
		case r.endable(k, now):
			plan = append(plan, Action{Kind: ActionEnd, KID: k.record.KID})
		}
	}
	if next == nil {
		plan = append(plan, r.planNewKey(now, w)...)
	}
	return plan
}

// Do carries out an action of Plan, all but ActionNewKey, which needs the KMS.
func (r *KeyRing) Do(a Action, now time.Time) (changed []*SigningKey, err error) {
	switch a.Kind {
	case ActionActivate:
		return r.Activate(a.KID, now)
	case ActionRetire:
		return r.Retire(a.KID, now)
	case ActionEnd:
		return r.End(a.KID, now)
	case ActionNewKey:
	}
	return nil, fault.New(fault.Internal, "key_action_unknown", "a key ring cannot carry out %q", string(a.Kind))
}

// due returns the pending key that is to sign from now on, if any: the latest that every verifier's clock accepts.
func (r *KeyRing) due(now time.Time, w Windows) *SigningKey {
	active := r.active()
	next := active
	for _, k := range r.keys {
		ripe := k.inSigningWindow(now) && !now.Before(k.record.NotBefore.Add(w.Skew))
		if k.record.State == KeyPending && ripe && (next == nil || k.later(next)) {
			next = k
		}
	}
	if next == active {
		return nil
	}
	return next
}

func (r *KeyRing) planNewKey(now time.Time, w Windows) []Action {
	active := r.active()
	if active == nil || !active.inSigningWindow(now) {
		return []Action{{Kind: ActionNewKey, NotBefore: ident.Instant(now.Add(-w.Skew))}}
	}
	if r.successor(active) || now.Before(active.record.SignUntil.Add(-2*w.PublishAhead)) {
		return nil
	}
	return []Action{{Kind: ActionNewKey, NotBefore: w.NotBefore(now)}}
}

func (r *KeyRing) successor(active *SigningKey) bool {
	for _, k := range r.keys {
		if k.record.State == KeyPending && k.later(active) {
			return true
		}
	}
	return false
}

// endable tells whether nothing can need the key any more.
func (r *KeyRing) endable(k *SigningKey, now time.Time) bool {
	switch k.record.State {
	case KeyRetiring:
		return !now.Before(k.record.VerifyUntil)
	case KeyPending:
		active := r.active()
		return !now.Before(k.record.SignUntil) || active != nil && active.later(k)
	case KeyActive, KeyRetired, KeyCompromised:
	}
	return false
}
