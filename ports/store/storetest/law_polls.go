package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func pollLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a poll finds what an agent's deployment is at", pollFound),
		promise("a poll of an unknown agent is NotFound among known ones", pollUnknown),
		promise("a poll sees what was committed before the call", pollsFresh),
		promise("polls share nothing", pollsApart),
		promise("a poll waits for no writer", pollsWaitForNobody),
	}
}

func pollFound(k *kit) {
	for i := range 3 {
		agent, head, at := full[delivery.AgentRecord](k.maker), full[delivery.DesiredRecord](k.maker), full[delivery.DeploymentRecord](k.maker)
		install := fmt.Sprint("i", i)
		agent.ID, agent.InstallID, head.InstallID, at.InstallID = fmt.Sprint("a", i), install, install, install
		head.Frozen = i == 1
		want := store.Polled{
			InstallID: install, PublicKey: agent.PublicKey, Instance: agent.Instance, Revision: head.Revision,
			Digest: head.Digest, Frozen: head.Frozen, ReviewAt: ident.Instant(at.ReviewAt),
		}
		if i == 2 {
			at.ReviewAt, want.ReviewAt = time.Time{}, time.Time{}
		}
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			return errors.Join(r.Agents.Create(ctx, delivery.RestoreAgent(agent)), r.DesiredStates.Create(ctx, delivery.RestoreDesired(head)),
				r.Deployments.Create(ctx, delivery.RestoreDeployment(at)))
		})
		got, err := k.store.Poll(k.ctx, agent.ID)
		k.must(err)
		same(k, "the poll", got, want)
	}
}

// enrolls makes deployments, each with a desired state and an agent.
func (k *kit) enrolls(n int) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range n {
			if err := Enroll(ctx, r, AgentName(i), InstallName(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func pollUnknown(k *kit) {
	const many = 32
	k.enrolls(many)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		lone := headOf("alone", "l", entitlement.Usage{})
		return errors.Join(r.Agents.Create(ctx, agentOf("of nothing", "nothing")), r.DesiredStates.Create(ctx, lone),
			r.Agents.Create(ctx, agentOf("of a head", "alone")), r.Deployments.Create(ctx, deploymentOf("bare", "l")),
			r.Agents.Create(ctx, agentOf("of a deployment", "bare")))
	})
	errs := together(2*many, func(i int) error {
		at, err := k.store.Poll(k.ctx, AgentName(i))
		if err == nil && at.InstallID != InstallName(i) {
			err = fmt.Errorf("%s was answered %s", AgentName(i), at.InstallID)
		}
		return err
	})
	if got := k.count(errs, fault.NotFound, "agent_not_found"); got != many {
		k.Fatalf("%d agents were found, want %d", got, many)
	}
	for _, agent := range []string{"of nothing", "of a head", "of a deployment", ""} {
		k.refused(agent, second(k.store.Poll(k.ctx, agent)), fault.NotFound, "agent_not_found")
	}
}

// While others ask all the time, each changes its own and must see that at once.
func pollsFresh(k *kit) {
	k.enrolls(crowd)
	k.inTurns(func(worker, round int) error {
		install, want := InstallName(worker), int64(round+10)
		if err := store.Update(k.ctx, k.store, func(r *store.Roles) store.Aggregate[*delivery.Desired] { return r.DesiredStates },
			install, func(d *delivery.Desired) error {
				record := d.Record()
				record.Revision = want
				*d = *delivery.RestoreDesired(record)
				return nil
			}); err != nil {
			return err
		}
		at, err := k.store.Poll(k.ctx, AgentName(worker))
		if err == nil && at.Revision != want {
			err = fmt.Errorf("a poll after revision %d saw %d", want, at.Revision)
		}
		return err
	})
}

func pollsApart(k *kit) {
	k.enrolls(1)
	got := make([]store.Polled, crowd)
	k.mustAll(crowd, func(i int) (err error) {
		got[i], err = k.store.Poll(k.ctx, AgentName(0))
		return err
	})
	for i, at := range got {
		if string(at.PublicKey) != "key of "+AgentName(0) {
			k.Fatalf("poll %d was given what another changed: %q", i, at.PublicKey)
		}
		clear(at.PublicKey)
	}
	again, err := k.store.Poll(k.ctx, AgentName(0))
	k.must(err)
	if string(again.PublicKey) != "key of "+AgentName(0) {
		k.Fatalf("the key became %q", again.PublicKey)
	}
}

// A transaction that wrote every row a poll reads holds none up, and shows it nothing before its commit.
func pollsWaitForNobody(k *kit) {
	k.enrolls(1)
	look := func() error {
		at, err := k.store.Poll(k.ctx, AgentName(0))
		if err == nil && (at.Revision != 1 || at.Instance != "first" || !at.ReviewAt.IsZero()) {
			err = fmt.Errorf("a poll saw what is not committed: %+v", at)
		}
		return err
	}
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		agent := agentOf(AgentName(0), InstallName(0)).Record()
		agent.Instance = "second"
		return errors.Join(r.Agents.Save(ctx, delivery.RestoreAgent(agent)), r.Deployments.Review(ctx, "license", noon),
			store.UpdateIn(ctx, r.DesiredStates, InstallName(0), func(d *delivery.Desired) error {
				record := d.Record()
				record.Revision++
				*d = *delivery.RestoreDesired(record)
				return nil
			}), aside(look), errUndo)
	})
	if fmt.Sprint(err) != errUndo.Error() {
		k.Fatalf("got %v", err)
	}
	k.must(look())
}
