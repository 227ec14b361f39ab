package market

import (
	"context"
	"errors"
	"maps"
	"time"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/store"
)

// The bounds of what an intent may say; what a release makes of it is judged later.
const (
	maxParameters    = 64
	maxParameterText = 64 << 10 // bytes of all of them together
)

// SubmitRequest asks for something.
type SubmitRequest struct {
	Caller         Caller
	delivery.Asked // secret parameters among the others, in the clear, before an agent has enrolled

	Sealed map[string][]byte // secret parameters sealed to the agent's seal key (D3)
}

// SubmitIntent judges what is asked for and, where nothing stands against it, changes the desired state: the intent and
// the revision that carries it are made together (E4, E5). What is asked of registries is asked before; everything else
// is judged again in the transaction, at its time and on its state.
//
// Faults: what stands against it, all of it together in Errors, as Conflict or Invalid (delivery.Judge); Invalid
// invalid_id, action_unknown, version_invalid, parameter_invalid; those of desired.Publish; Unavailable
// desired_state_contended where others were quicker again and again.
func (m *Market) SubmitIntent(ctx context.Context, in SubmitRequest) (delivery.IntentRecord, error) {
	if err := checkAsked(in); err != nil {
		return delivery.IntentRecord{}, err
	}
	if in.Action == delivery.Uninstall { // which takes none, of either sort
		in.Parameters = allNamed(in.Parameters, in.Sealed)
	}
	s := submission{Market: m, SubmitRequest: in, id: m.IDs.New("int")}
	for range m.Settings.Attempts {
		out, err := s.attempt(ctx)
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
	return delivery.IntentRecord{}, fault.New(fault.Unavailable, "desired_state_contended",
		"what the intent depends on is being changed by others").After(time.Second)
}

func allNamed(plain map[string]string, sealed map[string][]byte) map[string]string {
	all := maps.Clone(plain)
	for name := range sealed {
		if all == nil {
			all = map[string]string{}
		}
		all[name] = ""
	}
	return all
}

func checkAsked(a SubmitRequest) error {
	var action, version, parameters *fault.Error
	switch a.Action {
	case delivery.Install, delivery.Upgrade, delivery.Uninstall:
	default:
		action = fault.New(fault.Invalid, "action_unknown", `an action is "install", "upgrade" or "uninstall"`).At("action")
	}
	if a.Version != "" {
		if err := delivery.CheckVersion(a.Version); err != nil {
			version = err.At("version")
		}
	}
	size := 0
	for name, value := range a.Parameters {
		size += len(name) + len(value)
	}
	for name, value := range a.Sealed {
		size += len(name) + len(value)
	}
	if len(a.Parameters)+len(a.Sealed) > maxParameters || size > maxParameterText {
		parameters = fault.New(fault.Invalid, "parameter_invalid", "at most %d parameters, of %d bytes together", maxParameters, maxParameterText).
			At("parameters")
	}
	return fault.All(ident.Check("app", a.App), action, version, parameters)
}

// errMoved says that what an intent was prepared on is not what is there any more.
var errMoved = errors.New("the deployment changed while the intent was prepared")

// submission is one intent on its way.
type submission struct {
	*Market
	SubmitRequest
	id string
}

func (s submission) attempt(ctx context.Context) (delivery.IntentRecord, error) {
	p, err := s.prepare(ctx)
	if err != nil {
		return delivery.IntentRecord{}, err
	}
	var judged delivery.Judgement
	var out delivery.IntentRecord
	_, err = s.Desired.Publish(ctx, desired.Proposal{
		Install: s.Caller.install, Actor: s.Caller.actor(), Reason: "intent " + s.id, Quota: true, Objects: p.app.Objects,
		Secrets: p.secrets,
		Decide: func(now desired.Situation) (edit delivery.Edit, err error) {
			judged, edit, err = p.decide(now)
			return edit, err
		},
		Within: func(ctx context.Context, r *store.Roles, step desired.Step) (err error) {
			out, err = s.accept(ctx, r, step, judged, p.secrets)
			return err
		},
	})
	return out, alone(err)
}

// alone lets what refuses an intent by itself be told as what refuses it in company is: in Errors.
func alone(err error) error {
	if f, ok := fault.As(err); ok && len(f.Errors) == 0 && (f.Kind == fault.Conflict || f.Kind == fault.Invalid) {
		return delivery.Refused([]*fault.Error{f})
	}
	return err
}
