package market

import (
	"context"
	"maps"
	"slices"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// prepared is what was found out before the transaction.
type prepared struct {
	asked     delivery.Asked // with the version that was chosen
	catalogue *delivery.Catalogue
	known     map[string]bool // apps whose releases are in the catalogue
	basis     basis
	app       desired.Prepared
	secrets   []delivery.SecretValue
	outcome   *delivery.Preparation // nil where nothing is rendered
}

// basis is what a rendering depends on and others may change.
type basis struct {
	namespace  string
	hosts      []string
	configMaps bool
	platforms  []string
	keep       map[string]string // parameters that the app has
}

func (b basis) same(o basis) bool {
	return b.namespace == o.namespace && slices.Equal(b.hosts, o.hosts) && b.configMaps == o.configMaps &&
		slices.Equal(b.platforms, o.platforms) && maps.Equal(b.keep, o.keep)
}

func basisOf(d delivery.DeploymentRecord, platforms []string, app delivery.DesiredApp) basis {
	b := basis{namespace: d.Namespace, hosts: d.IngressHosts, configMaps: d.ConfigMaps, platforms: platforms}
	if !app.Removed {
		b.keep = app.Parameters
	}
	return b
}

// prepare finds out what can not be found out in a transaction. What stands against the intent already, and what does
// not hang on a version, is told together with what the registries say.
func (s submission) prepare(ctx context.Context) (prepared, error) {
	f, known, platforms, err := s.look(ctx)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{asked: s.Asked, catalogue: delivery.NewCatalogue(known), known: map[string]bool{}}
	for _, app := range s.concern(f) {
		p.known[app] = true
	}
	first := delivery.Judge(f.question(s.Asked, p.catalogue))
	if s.Action == delivery.Uninstall || first.Version == "" {
		return p, nil // Decide tells what is wrong
	}
	p.asked.Version = first.Version
	p.basis = basisOf(f.deployment, platforms, f.desired(s.App))
	choice, faults, err := s.custody(ctx, &p)
	if err != nil {
		return prepared{}, err
	}
	var wrong []*fault.Error
	p.app, wrong = s.Desired.Prepare(ctx, desired.PrepareRequest{
		Deployment: f.deployment, Choice: choice, By: delivery.ByCustomer, Keep: p.basis.keep, Platforms: platforms, Secrets: p.secrets,
	})
	faults = append(faults, wrong...)
	if err := failed(faults); err != nil {
		return prepared{}, err
	}
	if len(faults) > 0 { // it will be refused, for all of its reasons and not for the first secret
		p.secrets = nil
	}
	p.outcome = &delivery.Preparation{Faults: faults, Usage: p.app.App.Usage}
	if ctx.Err() != nil { // what was not answered in time says nothing about the images
		return prepared{}, store.Ended(ctx.Err())
	}
	return p, nil
}

// custody takes the secrets that were given into custody, and returns the choice without them.
func (s submission) custody(ctx context.Context, p *prepared) (choice delivery.Choice, faults []*fault.Error, err error) {
	choice = delivery.Choice{App: s.App, Version: p.asked.Version, Parameters: s.Parameters}
	if len(s.Parameters) == 0 && len(s.Sealed) == 0 {
		return choice, nil, nil
	}
	choice, p.secrets, faults, err = s.Desired.Custody(ctx, desired.CustodyRequest{
		Install: s.Caller.install, Choice: choice, Sealed: s.Sealed, By: delivery.ByCustomer,
	})
	return choice, faults, err
}

// failed returns what is no answer to the intent: that something could not be found out, which is tried again.
func failed(faults []*fault.Error) error {
	for _, f := range faults {
		if f.Kind == fault.Internal || f.Kind == fault.Unavailable && f.Slug != "image_check_unavailable" {
			return f
		}
	}
	return nil
}

// concern are the apps of whose releases something has to be known: of an app that never was on the license, nothing.
func (s submission) concern(f facts) []string {
	if _, entitled := f.entitled(s.App); entitled {
		return f.concerned(s.App)
	}
	return f.concerned()
}

// look reads what is known of the deployment, of the releases that it is about, and of the platforms of its cluster.
func (s submission) look(ctx context.Context) (f facts, known []delivery.Outline, on []string, err error) {
	now := s.Clock.Now()
	err = s.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if f, err = gather(ctx, r, s.Caller, now); err != nil {
			return err
		}
		if on, err = platforms(ctx, r, s.Caller.install); err != nil {
			return err
		}
		known, err = outlines(ctx, r, s.concern(f))
		return err
	})
	return f, known, on, err
}

// decide judges the intent on a situation. It is pure: the transaction calls it again.
func (p prepared) decide(now desired.Situation) (delivery.Judgement, delivery.Edit, error) {
	if p.moved(now) {
		return delivery.Judgement{}, delivery.Edit{}, errMoved
	}
	j := delivery.Judge(delivery.Question{
		Asked: p.asked, Now: now.Now, License: now.License, Entitlements: now.Entitlements, Catalogue: p.catalogue,
		Apps: now.Head.Record().Apps, Observations: now.Observations, InFlight: records(now.InFlight), GateOpen: now.Deployment.Record().GateOpen,
		Used: now.Used, Prepared: p.outcome,
	})
	if err := j.Refusal(); err != nil {
		return j, delivery.Edit{}, err
	}
	if p.asked.Action == delivery.Uninstall {
		return j, delivery.Edit{Remove: []string{p.asked.App}}, nil
	}
	if p.outcome == nil {
		return j, delivery.Edit{}, errMoved // what had no version then has one now
	}
	return j, delivery.Edit{Put: []delivery.DesiredApp{p.app.App}}, nil
}

// moved says whether the rendering was for another deployment than there is now, or apps are there of whose releases
// nothing was read: what they need of one another could not be judged.
func (p prepared) moved(now desired.Situation) bool {
	head := now.Head.Record().Apps
	if slices.ContainsFunc(head, func(a delivery.DesiredApp) bool { return !p.known[a.App] }) ||
		now.Entitlement(p.asked.App) != nil && !p.known[p.asked.App] {
		return true
	}
	if p.outcome == nil {
		return false
	}
	app, _ := now.Head.App(p.asked.App)
	return !p.basis.same(basisOf(now.Deployment.Record(), now.Platforms(), app))
}

func records(intents []*delivery.Intent) []delivery.IntentRecord {
	out := make([]delivery.IntentRecord, 0, len(intents))
	for _, v := range intents {
		out = append(out, v.Record())
	}
	return out
}
