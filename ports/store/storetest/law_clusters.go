package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func clusterLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a deployment has one agent", oneAgent),
		promise("intents come newest first, from below the given", intentsBefore),
		promise("intents are in flight until they end", intentsInFlight),
	}
}

func agentOf(id, install string) *delivery.Agent {
	return delivery.RestoreAgent(delivery.AgentRecord{ID: id, InstallID: install, PublicKey: []byte("key of " + id), Instance: "first"})
}

func oneAgent(k *kit) {
	ofInstall := func(install string) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			a, err := r.Agents.OfInstall(ctx, install)
			if err != nil {
				return nil, err
			}
			return []string{a.Record().ID}, nil
		}
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Agents.Create(ctx, agentOf("a", "i")), r.Agents.Create(ctx, agentOf("b", "I")))
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			expect(r.Agents.Create(ctx, agentOf("c", "i")), fault.AlreadyExists, "agent_exists"),
			expect(r.Agents.Create(ctx, agentOf("a", "j")), fault.AlreadyExists, "agent_exists"),
			expect(r.Agents.Save(ctx, agentOf("b", "i")), fault.AlreadyExists, "agent_exists"),
			expect(r.Agents.Save(ctx, agentOf("c", "i")), fault.NotFound, "agent_not_found"),
			r.Agents.Save(ctx, agentOf("a", "i")),
		)
	})
	k.gives("of i", ofInstall("i"), "a")
	k.gives("of I", ofInstall("I"), "b")
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Agents.Remove(ctx, "a"), expect(r.Agents.Remove(ctx, "a"), fault.NotFound, "agent_not_found"),
			expect(second(r.Agents.OfInstall(ctx, "i")), fault.NotFound, "agent_not_found"),
			expect(second(r.Agents.Get(ctx, "a")), fault.NotFound, "agent_not_found"),
			r.Agents.Create(ctx, agentOf("c", "i")))
	})
	k.gives("of i again", ofInstall("i"), "c")
	k.gives("of I still", ofInstall("I"), "b")
}

func intentOf(id, install string, ended time.Time) *delivery.Intent {
	return delivery.RestoreIntent(delivery.IntentRecord{ID: id, InstallID: install, CreatedAt: noon, EndedAt: ended})
}

func intentID(i *delivery.Intent) string { return i.Record().ID }

func intentsBefore(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, install := range []string{"i", "I", "i", "i", "ii", "i"} {
			if err := r.Intents.Create(ctx, intentOf(fmt.Sprint("int-", i), install, time.Time{})); err != nil {
				return err
			}
		}
		return nil
	})
	before := func(id string, limit int) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Intents.OfInstall(ctx, "i", id, limit))(intentID)
		}
	}
	k.gives("the newest", before("", 2), "int-5", "int-3")
	k.gives("from below", before("int-3", 99), "int-2", "int-0")
	k.gives("from below another's", before("int-4", 99), "int-3", "int-2", "int-0")
	k.gives("below the first", before("int-0", 99))
	k.gives("a limit of none", before("", 0), "int-5")
}

func intentsInFlight(k *kit) {
	inFlight := func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Intents.InFlight(ctx, "i"))(intentID)
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Intents.Create(ctx, intentOf("c", "i", time.Time{})), r.Intents.Create(ctx, intentOf("b", "i", time.Unix(0, 0))),
			r.Intents.Create(ctx, intentOf("a", "i", time.Time{})), r.Intents.Create(ctx, intentOf("d", "I", time.Time{})))
	})
	k.gives("in flight", inFlight, "a", "c")
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Intents.Save(ctx, intentOf("a", "i", noon)) })
	k.gives("in flight after one ended", inFlight, "c")
}
