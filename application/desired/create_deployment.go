package desired

import (
	"context"
	"strings"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// CreateDeploymentRequest asks for an installation.
type CreateDeploymentRequest struct {
	Actor        audit.Actor
	Customer     string
	License      string
	Namespace    string
	IngressHosts []string
	ConfigMaps   bool
	Selected     []delivery.Choice // secret parameters among the others, in the clear
}

// DeploymentView is a deployment as it stands.
type DeploymentView struct {
	Deployment delivery.DeploymentRecord
	Head       delivery.DesiredRecord
	Agent      *delivery.AgentRecord // nil where none is enrolled
}

// CreateDeployment makes an installation whose first revision holds the selected services, in a version each that the
// license entitles to and that go together (E2). Faults: those of delivery.NewDeployment and of Prepare; NotFound
// customer_not_found, license_not_found; Conflict not_entitled, license_inactive, license_expired, quota_exceeded;
// Invalid version_unknown, dependency_missing, dependency_conflict, dependency_cycle; those of Publish.
func (d *Desired) CreateDeployment(ctx context.Context, in CreateDeploymentRequest) (DeploymentView, error) {
	install := d.IDs.New("ins")
	return again(d, func() (DeploymentView, error) { return d.createDeployment(ctx, in, install) })
}

func (d *Desired) createDeployment(ctx context.Context, in CreateDeploymentRequest, install string) (DeploymentView, error) {
	now := d.Clock.Now()
	var s Situation
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Customers.Get(ctx, in.Customer); err != nil {
			return err
		}
		license, err := r.Licenses.Get(ctx, in.License)
		if err != nil {
			return err
		}
		entitled, err := r.Entitlements.OfLicense(ctx, in.License)
		if err != nil {
			return err
		}
		plan := delivery.DeploymentPlan{
			InstallID: install, License: license.Record(), Entitlements: entitled, Customer: in.Customer, Namespace: in.Namespace,
			IngressHosts: in.IngressHosts, ConfigMaps: in.ConfigMaps, Selected: in.Selected,
		}
		fresh, err := delivery.NewDeployment(plan, now)
		if err != nil {
			return err
		}
		s, err = readFresh(ctx, r, fresh, now, false)
		return err
	})
	if err != nil {
		return DeploymentView{}, err
	}
	c := change{licensed: true}
	for _, choice := range in.Selected {
		c.put = append(c.put, wanted{Choice: choice})
	}
	ready, err := d.ready(ctx, s, c)
	if err != nil {
		return DeploymentView{}, err
	}
	fresh := s.Deployment
	if err := fresh.Select(asSelected(in.Selected, ready.chosen), s.Entitlements, now); err != nil {
		return DeploymentView{}, err
	}
	published, err := d.Publish(ctx, Proposal{
		Install: install, Actor: in.Actor, Reason: "selected services", Quota: true, fresh: fresh,
		Decide: ready.decide, Objects: ready.objects, Secrets: ready.secrets,
		Within: func(ctx context.Context, r *store.Roles, step Step) error {
			if err := step.subset(fresh.Record()); err != nil {
				return err
			}
			return r.Audit.Append(ctx, audit.Draft{
				At: step.Now, Actor: in.Actor, Action: "deployment.created", Subject: subject(install),
				Detail: map[string]string{
					"customer": in.Customer, "license": in.License, "namespace": in.Namespace,
					"ingress_hosts": short(strings.Join(fresh.Record().IngressHosts, " ")), "selected": selectedText(fresh.Record().Selected),
				},
			})
		},
	})
	if err != nil {
		return DeploymentView{}, err
	}
	return DeploymentView{Deployment: fresh.Record(), Head: published.Head}, nil
}

// asSelected are the choices to keep: as they were made, without the secrets among their parameters.
func asSelected(given, chosen []delivery.Choice) []delivery.Choice {
	out := make([]delivery.Choice, 0, len(given))
	for _, c := range given {
		for _, made := range chosen {
			if made.App == c.App {
				c.Parameters = made.Parameters
			}
		}
		out = append(out, c)
	}
	return out
}

// subset refuses selected services that the license, as it is at the commit, does not entitle to (E2).
func (s Situation) subset(record delivery.DeploymentRecord) error {
	return delivery.RestoreDeployment(record).Select(record.Selected, s.Entitlements, record.ChangedAt)
}

const maxShown = 1000

// short cuts a text to what an audit entry holds.
func short(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

func selectedText(choices []delivery.Choice) string {
	var names []string
	for _, c := range choices {
		name := c.App
		if c.Version != "" {
			name += "@" + c.Version
		}
		names = append(names, name)
	}
	return short(strings.Join(names, " "))
}

// readFresh is the situation of a deployment that is about to be made. One of its id that is there already is refused.
func readFresh(ctx context.Context, r *store.Roles, fresh *delivery.Deployment, now time.Time, quota bool) (Situation, error) {
	record := fresh.Record()
	s := Situation{Now: now, Deployment: delivery.RestoreDeployment(record)}
	_, err := r.Deployments.Get(ctx, record.InstallID)
	if err == nil {
		return s, store.Taken("deployment")
	}
	if fault.KindOf(err) != fault.NotFound {
		return s, err
	}
	if s.License, err = r.Licenses.Get(ctx, record.License); err != nil {
		return s, err
	}
	if quota {
		if s.Used, err = r.DesiredStates.Usage(ctx, record.License); err != nil {
			return s, err
		}
	}
	s.Entitlements, err = r.Entitlements.OfLicense(ctx, record.License)
	s.Head = delivery.NewDesired(record.InstallID, record.License, now)
	return s, err
}
