package storetest

import (
	"context"
	"math"
	"slices"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

func deploymentMutants() []broken {
	due := func(due func(t *tx, now time.Time, limit int) []*delivery.Deployment) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) {
			r.Deployments = otherDeployments{Deployments: r.Deployments, t: t, due: due}
		})
	}
	review := func(review func(t *tx, r delivery.DeploymentRecord, at time.Time) bool) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) {
			r.Deployments = otherDeployments{Deployments: r.Deployments, t: t, brings: review}
		})
	}
	record := (*delivery.Deployment).Record
	dueLaw, reviewLaw := "deployments are due by time of review, then install id", "a review is brought forward and never back"
	all := func(t *tx, keep func(delivery.DeploymentRecord) bool) []*delivery.Deployment {
		return deploymentKind().list(t.state.deployments.pick("", math.MaxInt, keep))
	}
	return []broken{
		{"what is due now is due later", dueLaw, due(func(t *tx, now time.Time, limit int) []*delivery.Deployment {
			found, _ := deployments{of(t, deploymentKind)}.Due(context.Background(), now, limit)
			return slices.DeleteFunc(found, func(d *delivery.Deployment) bool { return !record(d).ReviewAt.Before(own(now)) })
		})},
		{"what is never reviewed is due", dueLaw, due(func(t *tx, now time.Time, limit int) []*delivery.Deployment {
			found := all(t, func(r delivery.DeploymentRecord) bool { return !r.ReviewAt.After(now) })
			slices.SortStableFunc(found, func(a, b *delivery.Deployment) int { return record(a).ReviewAt.Compare(record(b).ReviewAt) })
			return found[:min(len(found), max(limit, 1))]
		})},
		{"due by install id", dueLaw, due(func(t *tx, now time.Time, limit int) []*delivery.Deployment {
			found := all(t, func(r delivery.DeploymentRecord) bool { return !r.ReviewAt.IsZero() && !r.ReviewAt.After(now) })
			return found[:min(len(found), max(limit, 1))]
		})},
		{"all that is due comes", dueLaw, due(func(t *tx, now time.Time, _ int) []*delivery.Deployment {
			found, _ := deployments{of(t, deploymentKind)}.Due(context.Background(), now, math.MaxInt)
			return found
		})},
		{"a review is put back", reviewLaw, review(func(*tx, delivery.DeploymentRecord, time.Time) bool { return true })},
		{"what has no review gets none", reviewLaw, review(func(_ *tx, r delivery.DeploymentRecord, at time.Time) bool {
			return r.ReviewAt.After(at)
		})},
		{"a page of deployments is reviewed", "a review is brought forward on any number of deployments", review(
			func(t *tx, r delivery.DeploymentRecord, _ time.Time) bool {
				done := t.state.deployments.pick("", math.MaxInt, func(r delivery.DeploymentRecord) bool { return !r.ReviewAt.IsZero() })
				return r.ReviewAt.IsZero() && len(done) < store.MaxPage
			})},
	}
}

type otherDeployments struct {
	store.Deployments
	t      *tx
	due    func(t *tx, now time.Time, limit int) []*delivery.Deployment
	brings func(t *tx, r delivery.DeploymentRecord, at time.Time) bool
}

func (d otherDeployments) Due(ctx context.Context, now time.Time, limit int) ([]*delivery.Deployment, error) {
	if d.due == nil {
		return d.Deployments.Due(ctx, now, limit)
	}
	return d.due(d.t, now, limit), nil
}

func (d otherDeployments) Review(ctx context.Context, license string, at time.Time) error {
	if d.brings == nil || at.IsZero() {
		return d.Deployments.Review(ctx, license, at)
	}
	for key, r := range d.t.state.deployments.above("") {
		if r.License == license && d.brings(d.t, r, at) {
			r.ReviewAt = own(at)
			d.t.state.deployments = d.t.state.deployments.put(key, r)
		}
	}
	return nil
}

func clusterMutants() []broken {
	usage := func(usage func(t *tx, license string) entitlement.Usage) func(m *mutant) {
		return twisting(func(t *tx, r *store.Roles) {
			r.DesiredStates = otherDesired{DesiredStates: r.DesiredStates, t: t, usage: usage}
		})
	}
	sum := func(of tree[delivery.DesiredRecord], counts func(delivery.DesiredRecord) bool) (out entitlement.Usage) {
		for _, r := range of.above("") {
			if counts(r) {
				out.Apps, out.Replicas = out.Apps+r.Usage.Apps, out.Replicas+r.Usage.Replicas
				out.MilliCPU, out.MemoryBytes = out.MilliCPU+r.Usage.MilliCPU, out.MemoryBytes+r.Usage.MemoryBytes
			}
		}
		return out
	}
	before := func(list func(ctx context.Context, v store.Revisions, install string, revision int64, limit int) ([]delivery.Revision, error)) func(*mutant) {
		return twisting(func(_ *tx, r *store.Roles) { r.Revisions = otherRevisions{r.Revisions, list} })
	}
	usageLaw, revisionLaw := "usage is summed over the license's deployments alone", "revisions come newest first, from below the given"
	return []broken{
		{"every license's use is summed", usageLaw, usage(func(t *tx, _ string) entitlement.Usage {
			return sum(t.state.desired, func(delivery.DesiredRecord) bool { return true })
		})},
		{"use is summed in 32 bits", usageLaw, usage(func(t *tx, license string) entitlement.Usage {
			out := sum(t.state.desired, func(r delivery.DesiredRecord) bool { return r.License == license })
			out.MemoryBytes = int64(int32(out.MemoryBytes))
			return out
		})},
		{"use is summed as it was committed", usageLaw, func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.DesiredStates = otherDesired{DesiredStates: r.DesiredStates, t: t, usage: func(_ *tx, license string) entitlement.Usage {
					return sum(m.state.Load().desired, func(r delivery.DesiredRecord) bool { return r.License == license })
				}}
			}
		}},
		{"history comes oldest first", revisionLaw, before(
			func(ctx context.Context, v store.Revisions, install string, revision int64, limit int) ([]delivery.Revision, error) {
				found, err := v.Before(ctx, install, revision, limit)
				slices.Reverse(found)
				return found, err
			})},
		{"history comes whole", revisionLaw, before(
			func(ctx context.Context, v store.Revisions, install string, revision int64, limit int) ([]delivery.Revision, error) {
				found, err := v.Before(ctx, install, revision, limit)
				for i := range found {
					if found[i], err = v.Get(ctx, install, found[i].Revision); err != nil {
						return nil, err
					}
				}
				return found, err
			})},
		{"history begins with the given", revisionLaw, before(
			func(ctx context.Context, v store.Revisions, install string, revision int64, limit int) ([]delivery.Revision, error) {
				if revision > 0 {
					revision++
				}
				return v.Before(ctx, install, revision, limit)
			})},
		{"a head is cut at a hundred apps", "a desired state of two hundred apps comes back", twisting(func(t *tx, r *store.Roles) {
			r.DesiredStates = otherDesired{DesiredStates: r.DesiredStates, t: t, cut: 100}
		})},
		{"a deployment has any number of agents", "a deployment has one agent", twisting(func(t *tx, r *store.Roles) {
			r.Agents = manyAgents{r.Agents, of(t, agentKind)}
		})},
		{"an agent takes another's deployment", "a deployment has one agent", twisting(func(t *tx, r *store.Roles) {
			r.Agents = movingAgents{r.Agents, of(t, agentKind)}
		})},
		{"an agent that was removed keeps its deployment", "a deployment has one agent", twisting(func(_ *tx, r *store.Roles) {
			r.Agents = stickyAgents{r.Agents}
		})},
	}
}

type otherDesired struct {
	store.DesiredStates
	t     *tx
	usage func(t *tx, license string) entitlement.Usage
	cut   int
}

func (d otherDesired) Usage(ctx context.Context, license string) (entitlement.Usage, error) {
	if d.usage == nil {
		return d.DesiredStates.Usage(ctx, license)
	}
	return d.usage(d.t, license), nil
}

func (d otherDesired) Create(ctx context.Context, v *delivery.Desired) error {
	record := v.Record()
	if d.cut > 0 {
		record.Apps = record.Apps[:min(len(record.Apps), d.cut)]
	}
	return d.DesiredStates.Create(ctx, delivery.RestoreDesired(record))
}

type otherRevisions struct {
	store.Revisions
	before func(ctx context.Context, v store.Revisions, install string, revision int64, limit int) ([]delivery.Revision, error)
}

func (v otherRevisions) Before(ctx context.Context, install string, revision int64, limit int) ([]delivery.Revision, error) {
	return v.before(ctx, v.Revisions, install, revision, limit)
}

type manyAgents struct {
	store.Agents
	plain aggregate[*delivery.Agent, delivery.AgentRecord]
}

func (a manyAgents) Create(ctx context.Context, v *delivery.Agent) error {
	return a.plain.Create(ctx, v)
}

type movingAgents struct {
	store.Agents
	plain aggregate[*delivery.Agent, delivery.AgentRecord]
}

func (a movingAgents) Save(ctx context.Context, v *delivery.Agent) error { return a.plain.Save(ctx, v) }

type stickyAgents struct{ store.Agents }

func (a stickyAgents) Remove(ctx context.Context, id string) error {
	_, err := a.Agents.Get(ctx, id)
	return err
}

func intentMutants() []broken {
	list := func(list func(ctx context.Context, t *tx, i store.Intents, install, before string, limit int) ([]*delivery.Intent, error)) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Intents = otherIntents{Intents: r.Intents, t: t, list: list} })
	}
	flying := func(flies func(r delivery.IntentRecord) bool) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Intents = otherIntents{Intents: r.Intents, t: t, flies: flies} })
	}
	order, flight := "intents come newest first, from below the given", "intents are in flight until they end"
	return []broken{
		{"intents come oldest first", order, list(
			func(ctx context.Context, _ *tx, i store.Intents, install, before string, limit int) ([]*delivery.Intent, error) {
				found, err := i.OfInstall(ctx, install, before, limit)
				slices.Reverse(found)
				return found, err
			})},
		{"intents begin with the given", order, list(
			func(ctx context.Context, _ *tx, i store.Intents, install, before string, limit int) ([]*delivery.Intent, error) {
				if before != "" {
					before += "!"
				}
				return i.OfInstall(ctx, install, before, limit)
			})},
		{"intents are of every deployment", order, list(
			func(_ context.Context, t *tx, _ store.Intents, _, before string, limit int) ([]*delivery.Intent, error) {
				var found []delivery.IntentRecord
				for _, r := range t.state.intents.below(before) {
					if found = append(found, r); len(found) >= max(limit, 1) {
						break
					}
				}
				return intentKind().list(found), nil
			})},
		{"an intent that ended flies", flight, flying(func(r delivery.IntentRecord) bool { return r.InstallID == "i" })},
		{"what ended in 1970 flies", flight, flying(func(r delivery.IntentRecord) bool {
			return r.InstallID == "i" && (r.EndedAt.IsZero() || r.EndedAt.Unix() == 0)
		})},
		{"intents of others fly", flight, flying(func(r delivery.IntentRecord) bool { return r.EndedAt.IsZero() })},
	}
}

type otherIntents struct {
	store.Intents
	t     *tx
	list  func(ctx context.Context, t *tx, i store.Intents, install, before string, limit int) ([]*delivery.Intent, error)
	flies func(r delivery.IntentRecord) bool
}

func (i otherIntents) OfInstall(ctx context.Context, install, before string, limit int) ([]*delivery.Intent, error) {
	if i.list == nil {
		return i.Intents.OfInstall(ctx, install, before, limit)
	}
	return i.list(ctx, i.t, i.Intents, install, before, limit)
}

func (i otherIntents) InFlight(ctx context.Context, install string) ([]*delivery.Intent, error) {
	if i.flies == nil {
		return i.Intents.InFlight(ctx, install)
	}
	return intentKind().list(i.t.state.intents.pick("", math.MaxInt, i.flies)), nil
}
