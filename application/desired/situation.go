package desired

import (
	"context"
	"slices"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// Situation is everything that a change of a desired state is decided on, of one instant.
type Situation struct {
	Now          time.Time
	Deployment   *delivery.Deployment
	License      *entitlement.License
	Entitlements []entitlement.Entitlement
	Head         *delivery.Desired
	Agent        *delivery.Agent // nil where none is enrolled
	Observations []delivery.Observation
	InFlight     []*delivery.Intent
	Secrets      []delivery.SecretValue
	Used         entitlement.Usage // by all deployments of the license together; where Proposal.Quota asks for it

	stored []delivery.SecretValue // Secrets without those that the change sets
}

// Entitlement returns what the license says of an app, a withdrawn one too; nil where it says nothing.
func (s Situation) Entitlement(app string) *entitlement.Entitlement {
	i := slices.IndexFunc(s.Entitlements, func(e entitlement.Entitlement) bool { return e.App == app })
	if i < 0 {
		return nil
	}
	return &s.Entitlements[i]
}

// Observation returns what is known of an app in the cluster; the zero value where nothing is.
func (s Situation) Observation(app string) delivery.Observation {
	i := slices.IndexFunc(s.Observations, func(o delivery.Observation) bool { return o.App == app })
	if i < 0 {
		return delivery.Observation{InstallID: s.Deployment.Record().InstallID, App: app}
	}
	return s.Observations[i]
}

// Platforms are those of the cluster, as its agent said at the enrolment; none where nobody knows.
func (s Situation) Platforms() []string {
	if s.Agent == nil {
		return nil
	}
	return s.Agent.Record().Platforms
}

// read is the situation of a deployment. quota says whether the use of the whole license is wanted: in a transaction that
// holds up every other one which wants it.
func read(ctx context.Context, r *store.Roles, install string, now time.Time, quota bool) (Situation, error) {
	s := Situation{Now: now}
	var err error
	if s.Deployment, err = r.Deployments.Get(ctx, install); err != nil {
		return s, err
	}
	license := s.Deployment.Record().License
	if s.License, err = r.Licenses.Get(ctx, license); err != nil {
		return s, err
	}
	if quota {
		if s.Used, err = r.DesiredStates.Usage(ctx, license); err != nil {
			return s, err
		}
	}
	if s.Entitlements, err = r.Entitlements.OfLicense(ctx, license); err != nil {
		return s, err
	}
	if s.Head, err = r.DesiredStates.Get(ctx, install); err != nil {
		return s, err
	}
	return s, s.readCluster(ctx, r, install)
}

func (s *Situation) readCluster(ctx context.Context, r *store.Roles, install string) (err error) {
	if s.Agent, err = agentOf(ctx, r, install); err != nil {
		return err
	}
	if s.Observations, err = r.Observations.OfInstall(ctx, install); err != nil {
		return err
	}
	if s.InFlight, err = r.Intents.InFlight(ctx, install); err != nil {
		return err
	}
	s.Secrets, err = r.SecretValues.OfInstall(ctx, install)
	return err
}

// agentOf returns a deployment's agent; nil where none is enrolled.
func agentOf(ctx context.Context, r *store.Roles, install string) (*delivery.Agent, error) {
	agent, err := r.Agents.OfInstall(ctx, install)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return agent, err
}
