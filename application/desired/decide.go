package desired

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// decide is what the proposal makes of a situation, with all that is looked after at every change.
func (p Proposal) decide(s Situation) (*delivery.Desired, []delivery.Difference, error) {
	var err error
	s.stored = s.Secrets
	if s.Secrets, err = s.withSecrets(p.Secrets); err != nil {
		return nil, nil, err
	}
	edit, err := p.Decide(s)
	if err != nil {
		return nil, nil, err
	}
	return s.Head.Apply(s.complete(edit), s.Now)
}

// complete adds to an edit which apps may run, what was removed, and what secrets are sealed to by now.
func (s Situation) complete(e delivery.Edit) delivery.Edit {
	e.Put = s.sealed(e)
	e.Standings = map[string]delivery.Standing{}
	for _, app := range append(s.Head.Running(), e.Put...) {
		right := s.License.Runs(s.Entitlement(app.App), s.Now)
		e.Standings[app.App] = delivery.Standing{Suspended: right.Suspended, RunUntil: right.RunUntil}
	}
	for _, app := range s.Head.Record().Apps {
		if app.Removed && s.Observation(app.App).Gone(app) {
			e.Forget = append(slices.Clone(e.Forget), app.App)
		}
	}
	return e
}

// sealed is what is put, and what has to be put because a secret of it was sealed anew.
func (s Situation) sealed(e delivery.Edit) []delivery.DesiredApp {
	put := slices.Clone(e.Put)
	for i := range put {
		put[i].Seals = s.seals(put[i])
	}
	for _, app := range s.Head.Running() {
		named := slices.Contains(e.Remove, app.App) ||
			slices.ContainsFunc(put, func(a delivery.DesiredApp) bool { return a.App == app.App })
		if seals := s.seals(app); !named && !slices.Equal(seals, app.Seals) {
			app.Seals = seals
			put = append(put, app)
		}
	}
	return put
}

func (s Situation) seals(app delivery.DesiredApp) []delivery.Seal {
	seals := slices.Clone(app.Seals)
	for i, seal := range seals {
		seals[i].SHA256 = ""
		if v, ok := s.secret(app.App, seal.Parameter); ok && s.opens(v) {
			seals[i].SHA256 = delivery.Digest(v.Text)
		}
	}
	return seals
}

// opens tells whether the agent that there is can open a value.
func (s Situation) opens(v delivery.SecretValue) bool {
	return s.Agent != nil && v.Custody == delivery.CustodyAgent && v.Recipient == s.Agent.Record().SealKey
}

func (s Situation) secret(app, parameter string) (delivery.SecretValue, bool) {
	i := slices.IndexFunc(s.Secrets, func(v delivery.SecretValue) bool { return v.App == app && v.Parameter == parameter })
	if i < 0 {
		return delivery.SecretValue{}, false
	}
	return s.Secrets[i], true
}

// withSecrets are the values as they are once those that are set are in place. What is sealed is sealed to the agent that
// there is, and nothing is kept here any more once there is one (D3).
func (s Situation) withSecrets(set []delivery.SecretValue) ([]delivery.SecretValue, error) {
	out := slices.Clone(s.Secrets)
	for _, v := range set {
		if err := s.custody(v); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(out, func(o delivery.SecretValue) bool { return o.App == v.App && o.Parameter == v.Parameter })
		if i < 0 {
			out = append(out, v)
			continue
		}
		out[i] = v
	}
	return out, nil
}

func (s Situation) custody(v delivery.SecretValue) error {
	switch {
	case s.Agent == nil && v.Custody == delivery.CustodyAgent:
		return fault.New(fault.Conflict, "agent_not_enrolled", "there is no agent yet to whose key a secret could be sealed").
			At("parameters." + v.Parameter).Curable("give the secret in the clear until an agent has enrolled")
	case s.Agent != nil && (v.Custody != delivery.CustodyAgent || v.Recipient != s.Agent.Record().SealKey):
		return mustBeSealed("parameters." + v.Parameter)
	}
	return nil
}

func mustBeSealed(field string) *fault.Error {
	return fault.New(fault.Conflict, "secret_must_be_sealed", "the agent has enrolled: nobody but it may read the secret").At(field).
		Curable(`seal the value to the agent's seal key and give it as {"sealed": "…"}`)
}

// nextReview is when some app's standing changes by itself; zero where none does.
func (s Situation) nextReview(apps []delivery.DesiredApp) time.Time {
	var next time.Time
	for _, app := range apps {
		at := s.License.Runs(s.Entitlement(app.App), s.Now).Next
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// why says what became of the license that something was suspended, or came back.
func (s Situation) why(diff []delivery.Difference) string {
	for _, d := range diff {
		switch d.What {
		case delivery.DiffSuspended:
			return s.License.Runs(s.Entitlement(d.App), s.Now).Why
		case delivery.DiffResumed, delivery.DiffExtended:
			return "license renewed"
		}
	}
	return "license changed"
}

const shownDifferences = 20

// publishedDetail is what the audit log keeps of a revision: enough to see what happened; the whole is in the history.
func publishedDetail(step Step) map[string]string {
	detail := map[string]string{
		"before": number(step.Head.Record().Revision), "after": number(step.Next.Record().Revision),
		"reason": short(step.Reason), "digest": step.Next.Record().Digest,
	}
	for i, diff := range step.Diff {
		if i == shownDifferences {
			detail["more"] = number(int64(len(step.Diff) - i))
			break
		}
		detail[fmt.Sprintf("change_%02d", i+1)] = strings.TrimSpace(
			fmt.Sprintf("%s %s %s", diff.App, diff.What, versions(diff)))
	}
	return detail
}

func versions(d delivery.Difference) string {
	switch {
	case d.Before == d.After:
		return d.After
	case d.Before == "":
		return d.After
	case d.After == "":
		return d.Before
	}
	return d.Before + " → " + d.After
}
