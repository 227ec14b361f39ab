package storetest

import (
	"context"
	"math"
	"slices"

	"berth/domain/delivery"
	"berth/ports/store"
)

func agentKind() kind[*delivery.Agent, delivery.AgentRecord] {
	return kind[*delivery.Agent, delivery.AgentRecord]{
		thing: "agent", tree: func(s *state) *tree[delivery.AgentRecord] { return &s.agents },
		key:    func(r delivery.AgentRecord) string { return r.ID },
		record: (*delivery.Agent).Record, restore: delivery.RestoreAgent,
	}
}

type agents struct {
	aggregate[*delivery.Agent, delivery.AgentRecord]
}

func (a agents) Create(ctx context.Context, v *delivery.Agent) error {
	if a.rival(v.Record()) {
		return store.Taken("agent")
	}
	return a.aggregate.Create(ctx, v)
}

func (a agents) Save(ctx context.Context, v *delivery.Agent) error {
	if a.state.agents.has(v.Record().ID) && a.rival(v.Record()) {
		return store.Taken("agent")
	}
	return a.aggregate.Save(ctx, v)
}

// rival says whether another agent has the deployment. A transaction that may not write finds none.
func (a agents) rival(of delivery.AgentRecord) bool {
	return a.writing() == nil && len(a.state.agents.pick("", 1, func(r delivery.AgentRecord) bool {
		return r.InstallID == of.InstallID && r.ID != of.ID
	})) > 0
}

func (a agents) OfInstall(_ context.Context, install string) (*delivery.Agent, error) {
	found, err := a.page(store.Page{}, func(r delivery.AgentRecord) bool { return r.InstallID == install }, install)
	if err == nil && len(found) == 0 {
		return nil, store.Missing("agent")
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func (a agents) Remove(_ context.Context, id string) error { return a.remove(id) }

type observations struct{ *tx }

func (o observations) Put(_ context.Context, os []delivery.Observation) error {
	return putAll(o.tx, &o.state.observations, os, func(r delivery.Observation) string { return compound(r.InstallID, r.App) })
}

func (o observations) OfInstall(_ context.Context, install string) ([]delivery.Observation, error) {
	return spanOf(o.tx, o.state.observations, install)
}

func intentKind() kind[*delivery.Intent, delivery.IntentRecord] {
	return kind[*delivery.Intent, delivery.IntentRecord]{
		thing: "intent", tree: func(s *state) *tree[delivery.IntentRecord] { return &s.intents },
		key:    func(r delivery.IntentRecord) string { return r.ID },
		record: (*delivery.Intent).Record, restore: delivery.RestoreIntent,
	}
}

type intents struct {
	aggregate[*delivery.Intent, delivery.IntentRecord]
}

func (i intents) OfInstall(_ context.Context, install, before string, limit int) ([]*delivery.Intent, error) {
	if err := i.reading(install, before); err != nil {
		return nil, err
	}
	var found []delivery.IntentRecord
	for _, r := range i.state.intents.below(before) {
		if r.InstallID == install {
			if found = append(found, r); len(found) >= max(limit, 1) {
				break
			}
		}
	}
	return i.kind.list(found), nil
}

func (i intents) InFlight(_ context.Context, install string) ([]*delivery.Intent, error) {
	if err := i.reading(install); err != nil {
		return nil, err
	}
	return i.kind.list(i.state.intents.pick("", math.MaxInt, func(r delivery.IntentRecord) bool {
		return r.InstallID == install && r.EndedAt.IsZero()
	})), nil
}

type secretValues struct{ *tx }

func (s secretValues) Put(_ context.Context, vs []delivery.SecretValue) error {
	return putAll(s.tx, &s.state.secretValues, vs, func(r delivery.SecretValue) string {
		return compound(r.InstallID, r.App, r.Parameter)
	})
}

func (s secretValues) OfInstall(_ context.Context, install string) ([]delivery.SecretValue, error) {
	return spanOf(s.tx, s.state.secretValues, install)
}

func packageKind() kind[delivery.PackageRecord, delivery.PackageRecord] {
	return kind[delivery.PackageRecord, delivery.PackageRecord]{
		thing: "package", tree: func(s *state) *tree[delivery.PackageRecord] { return &s.packages },
		key:    func(r delivery.PackageRecord) string { return r.ID },
		record: self[delivery.PackageRecord], restore: self[delivery.PackageRecord],
	}
}

type packages struct {
	aggregate[delivery.PackageRecord, delivery.PackageRecord]
}

func (p packages) OfInstall(_ context.Context, install string, at store.Page) ([]delivery.PackageRecord, error) {
	return p.page(at, func(r delivery.PackageRecord) bool { return r.InstallID == install }, install)
}

// Poll reads the last commit.
func (m *Memory) Poll(ctx context.Context, agent string) (out store.Polled, err error) {
	err = m.View(ctx, func(context.Context, *store.Roles) error {
		out, err = m.state.Load().poll(agent)
		return err
	})
	if err != nil {
		return store.Polled{}, err
	}
	return out, nil
}

func (s *state) poll(agent string) (store.Polled, error) {
	if err := store.CheckText(agent); err != nil {
		return store.Polled{}, err
	}
	a, enrolled := s.agents.get(agent)
	d, deployed := s.deployments.get(a.InstallID)
	head, desired := s.desired.get(a.InstallID)
	if !enrolled || !deployed || !desired {
		return store.Polled{}, store.Missing("agent")
	}
	return store.Polled{
		InstallID: a.InstallID, PublicKey: slices.Clone(a.PublicKey), Instance: a.Instance,
		Revision: head.Revision, Digest: head.Digest, Frozen: head.Frozen, ReviewAt: d.ReviewAt,
	}, nil
}
