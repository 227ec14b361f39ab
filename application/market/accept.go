package market

import (
	"context"
	"strconv"
	"strings"

	"berth/application/desired"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/ports/store"
)

// accept makes the intent, in the transaction of the revision that carries it.
func (s submission) accept(
	ctx context.Context, r *store.Roles, step desired.Step, j delivery.Judgement, secrets []delivery.SecretValue,
) (delivery.IntentRecord, error) {
	v := delivery.NewIntent(delivery.Granted{
		ID: s.id, InstallID: s.Caller.install, License: step.License.Record().ID, App: s.App, Action: s.Action, Version: j.Version,
		From: j.From, Revision: step.Next.Record().Revision, Waived: j.Waived,
	}, step.Now)
	if s.Action == delivery.Uninstall {
		if err := s.uninstalled(ctx, r, step, v); err != nil {
			return delivery.IntentRecord{}, err
		}
	}
	if err := r.Intents.Create(ctx, v); err != nil {
		return delivery.IntentRecord{}, err
	}
	return v.Record(), s.note(ctx, r, step, v.Record(), secrets)
}

// uninstalled takes back the platform's word that the app is installed: it asked for the contrary. Where no agent ever
// enrolled nothing has to be removed, and the intent has come to its end.
func (s submission) uninstalled(ctx context.Context, r *store.Roles, step desired.Step, v *delivery.Intent) error {
	if _, there := step.Next.App(s.App); !there {
		v.Succeed(step.Now, "it was never delivered")
	}
	before := step.Observation(s.App)
	if !before.Installed {
		return nil
	}
	after := InstallationRequest{}.on(before, step.Now)
	return keepInstallation(ctx, r, audit.Draft{At: step.Now, Actor: s.Caller.actor(), Action: "installation.reported"}, before, after)
}

// note writes down what was granted; of secrets only which were set: nothing else says that they were.
func (s submission) note(
	ctx context.Context, r *store.Roles, step desired.Step, v delivery.IntentRecord, secrets []delivery.SecretValue,
) error {
	detail := map[string]string{
		"intent": v.ID, "app": v.App, "action": string(v.Action), "before": v.From, "after": v.Version,
		"revision": strconv.FormatInt(v.Revision, 10),
	}
	if v.Action == delivery.Uninstall {
		detail["after"] = ""
	}
	if len(v.Waived) > 0 {
		detail["waived"] = strings.Join(v.Waived, ", ")
	}
	if len(secrets) > 0 {
		detail["secrets"] = desired.SecretNames(secrets)
	}
	return r.Audit.Append(ctx, audit.Draft{
		At: step.Now, Actor: s.Caller.actor(), Action: "intent.accepted", Subject: "deployment/" + v.InstallID, Detail: detail,
	})
}
