package market

import (
	"context"
	"maps"
	"slices"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

// facts are what is known of a customer's deployment, of one instant.
type facts struct {
	now          time.Time
	deployment   delivery.DeploymentRecord
	license      *entitlement.License
	entitlements []entitlement.Entitlement
	head         delivery.DesiredRecord
	observations map[string]delivery.Observation
	inFlight     []delivery.IntentRecord
	used         entitlement.Usage
}

func (f facts) entitled(app string) (entitlement.Entitlement, bool) {
	i := slices.IndexFunc(f.entitlements, func(e entitlement.Entitlement) bool { return e.App == app })
	if i < 0 {
		return entitlement.Entitlement{}, false
	}
	return f.entitlements[i], true
}

func (f facts) desired(app string) delivery.DesiredApp {
	i := slices.IndexFunc(f.head.Apps, func(a delivery.DesiredApp) bool { return a.App == app })
	if i < 0 {
		return delivery.DesiredApp{}
	}
	return f.head.Apps[i]
}

// question is an intent on what is known before anything was prepared.
func (f facts) question(asked delivery.Asked, catalogue *delivery.Catalogue) delivery.Question {
	return delivery.Question{
		Asked: asked, Now: f.now, License: f.license, Entitlements: f.entitlements, Catalogue: catalogue, Apps: f.head.Apps,
		Observations: slices.Collect(maps.Values(f.observations)), InFlight: f.inFlight, GateOpen: f.deployment.GateOpen, Used: f.used,
	}
}

// gather reads what is known of a caller's deployment.
func gather(ctx context.Context, r *store.Roles, c Caller, now time.Time) (facts, error) {
	f := facts{now: now, observations: map[string]delivery.Observation{}}
	d, err := r.Deployments.Get(ctx, c.install)
	if err != nil {
		return f, err
	}
	f.deployment = d.Record()
	if f.license, err = r.Licenses.Get(ctx, f.deployment.License); err != nil {
		return f, err
	}
	if f.entitlements, err = r.Entitlements.OfLicense(ctx, f.deployment.License); err != nil {
		return f, err
	}
	if f.used, err = r.DesiredStates.Usage(ctx, f.deployment.License); err != nil {
		return f, err
	}
	head, err := r.DesiredStates.Get(ctx, c.install)
	if err != nil {
		return f, err
	}
	f.head = head.Record()
	return f, f.cluster(ctx, r, c.install)
}

func (f *facts) cluster(ctx context.Context, r *store.Roles, install string) error {
	observed, err := r.Observations.OfInstall(ctx, install)
	if err != nil {
		return err
	}
	for _, o := range observed {
		f.observations[o.App] = o
	}
	flying, err := r.Intents.InFlight(ctx, install)
	if err != nil {
		return err
	}
	for _, v := range flying {
		f.inFlight = append(f.inFlight, v.Record())
	}
	return nil
}
