package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func raceLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("no two take the last of a quota", quotaRaced),
		promise("no two deployments are made for the last of a quota", quotaRacedByNew),
		promise("no phantom gets among the intents in flight", intentsRaced),
		promise("of desired states made at once each is of the one before", headsRaced),
		promise("reviews and changes of a deployment lose nothing", reviewsRaced),
		promise("of agents enrolled at once one gets the deployment", agentsRaced),
	}
}

// Deployments of one license share a quota: each transaction sums all of them and writes its own.
func quotaRaced(k *kit) {
	const limit = 5
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range crowd {
			if err := r.DesiredStates.Create(ctx, headOf(fmt.Sprint("i", i), "l", entitlement.Usage{})); err != nil {
				return err
			}
		}
		return nil
	})
	k.inTurns(func(worker, _ int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			used, err := r.DesiredStates.Usage(ctx, "l")
			if err != nil || used.Apps >= limit {
				return err
			}
			runtime.Gosched()
			return store.UpdateIn(ctx, r.DesiredStates, fmt.Sprint("i", worker), func(d *delivery.Desired) error {
				record := d.Record()
				record.Usage.Apps++
				*d = *delivery.RestoreDesired(record)
				return nil
			})
		})
	})
	k.uses("l", entitlement.Usage{Apps: limit})
}

func quotaRacedByNew(k *kit) {
	const limit = 3
	k.inTurns(func(worker, round int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			used, err := r.DesiredStates.Usage(ctx, "l")
			if err != nil || used.Replicas >= limit {
				return err
			}
			runtime.Gosched()
			return r.DesiredStates.Create(ctx, headOf(fmt.Sprint("i", worker, "-", round), "l", entitlement.Usage{Replicas: 1}))
		})
	})
	k.uses("l", entitlement.Usage{Replicas: limit})
}

func intentsRaced(k *kit) {
	k.inTurns(func(worker, round int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			there, err := r.Intents.InFlight(ctx, "i")
			if err != nil || len(there) > 0 {
				return err
			}
			runtime.Gosched()
			return r.Intents.Create(ctx, intentOf(fmt.Sprint("int-", worker, "-", round), "i", time.Time{}))
		})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		there, err := r.Intents.InFlight(ctx, "i")
		if err == nil && len(there) != 1 {
			err = fmt.Errorf("%d intents are in flight, want 1", len(there))
		}
		return err
	})
}

func headsRaced(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.DesiredStates.Create(ctx, delivery.RestoreDesired(delivery.DesiredRecord{InstallID: "i", License: "l"}))
	})
	k.inTurns(func(int, int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			head, err := r.DesiredStates.Get(ctx, "i")
			if err != nil {
				return err
			}
			runtime.Gosched()
			record := head.Record()
			record.Revision++
			return errors.Join(r.Revisions.Append(ctx, delivery.Revision{InstallID: "i", Revision: record.Revision}),
				r.DesiredStates.Save(ctx, delivery.RestoreDesired(record)))
		})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		head, err := r.DesiredStates.Get(ctx, "i")
		if err != nil {
			return err
		}
		history, err := r.Revisions.Before(ctx, "i", 0, 2*crowd*rounds)
		if err == nil && (head.Record().Revision != crowd*rounds || len(history) != crowd*rounds) {
			err = fmt.Errorf("the head is at %d with %d behind it, want %d", head.Record().Revision, len(history), crowd*rounds)
		}
		return err
	})
}

// Half of the crowd changes the deployment, half brings its review forward, each to an earlier time than all before.
func reviewsRaced(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.Deployments.Create(ctx, deploymentOf("i", "l"))
	})
	k.inTurns(func(worker, round int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			if worker%2 == 0 {
				return r.Deployments.Review(ctx, "l", noon.Add(-time.Duration(round*crowd+worker)*time.Second))
			}
			return store.UpdateIn(ctx, r.Deployments, "i", func(d *delivery.Deployment) error {
				runtime.Gosched()
				record := d.Record()
				record.GateNote += "x"
				*d = *delivery.RestoreDeployment(record)
				return nil
			})
		})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, "i")
		if err == nil && len(d.Record().GateNote) != crowd/2*rounds {
			err = fmt.Errorf("%d changes are left, want %d", len(d.Record().GateNote), crowd/2*rounds)
		}
		return err
	})
	k.reviewAt("i", noon.Add(-time.Duration((rounds-1)*crowd+crowd-2)*time.Second))
}

func agentsRaced(k *kit) {
	errs := together(crowd, func(i int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			if _, err := r.Agents.OfInstall(ctx, "i"); err == nil {
				return store.Taken("agent")
			}
			runtime.Gosched()
			return r.Agents.Create(ctx, agentOf(fmt.Sprint("a", i), "i"))
		})
	})
	if got := k.count(errs, store.Taken("agent").Kind, "agent_exists"); got != 1 {
		k.Fatalf("%d agents were enrolled, want 1", got)
	}
}
