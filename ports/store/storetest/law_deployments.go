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

func deploymentLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("deployments are due by time of review, then install id", deploymentsDue),
		promise("a review is brought forward and never back", reviewsForward),
		promise("a review is brought forward on any number of deployments", reviewsMany),
		promise("usage is summed over the license's deployments alone", usageSummed),
		promise("revisions come newest first, from below the given", revisionsBefore),
		promise("a desired state of two hundred apps comes back", largeDesired),
		promise("a deployment has one agent", oneAgent),
		promise("intents come newest first, from below the given", intentsBefore),
		promise("intents are in flight until they end", intentsInFlight),
	}
}

func deploymentsDue(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for install, at := range map[string]time.Time{
			"d": noon, "c": noon.Add(-time.Hour), "b": noon, "B": noon, "later": noon.Add(time.Microsecond), "never": {},
			"old": time.Unix(0, 0),
		} {
			record := delivery.DeploymentRecord{InstallID: install, License: "l", ReviewAt: at}
			if err := r.Deployments.Create(ctx, delivery.RestoreDeployment(record)); err != nil {
				return err
			}
		}
		return nil
	})
	due := func(now time.Time, limit int) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Deployments.Due(ctx, now, limit))(func(d *delivery.Deployment) string { return d.Record().InstallID })
		}
	}
	k.gives("due at noon", due(noon, 99), "old", "c", "B", "b", "d")
	k.gives("due before noon", due(noon.Add(-time.Microsecond), 99), "old", "c")
	k.gives("due after noon", due(noon.Add(time.Microsecond), 99), "old", "c", "B", "b", "d", "later")
	k.gives("the first three", due(noon, 3), "old", "c", "B")
	k.gives("a limit of none", due(noon, 0), "old")
	k.gives("due long ago", due(time.Unix(-1, 0), 9))
}

func (k *kit) reviewAt(install string, want time.Time) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, install)
		if err == nil && (want.IsZero() != d.Record().ReviewAt.IsZero() || !want.IsZero() && d.Record().ReviewAt != ident.Instant(want)) {
			err = fmt.Errorf("%s is reviewed at %v, want %v", install, d.Record().ReviewAt, want)
		}
		return err
	})
}

func reviewsForward(k *kit) {
	whole := full[delivery.DeploymentRecord](k.maker)
	whole.InstallID, whole.License, whole.ReviewAt = "later", "l", noon.Add(time.Hour)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Deployments.Create(ctx, delivery.RestoreDeployment(whole)),
			r.Deployments.Create(ctx, delivery.RestoreDeployment(delivery.DeploymentRecord{InstallID: "sooner", License: "l", ReviewAt: noon.Add(-time.Hour)})),
			r.Deployments.Create(ctx, deploymentOf("never", "l")), r.Deployments.Create(ctx, deploymentOf("other", "L")))
	})
	review := func(at time.Time) {
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Deployments.Review(ctx, "l", at) })
	}
	review(time.Time{})
	k.reviewAt("never", time.Time{})
	review(noon)
	review(noon.Add(time.Minute))
	review(time.Time{})
	for install, want := range map[string]time.Time{"later": noon, "sooner": noon.Add(-time.Hour), "never": noon, "other": {}} {
		k.reviewAt(install, want)
	}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, "later")
		if err == nil {
			whole.ReviewAt = noon
			same(k, "what was reviewed", d.Record(), whole)
		}
		return err
	})
}

func reviewsMany(k *kit) {
	const many = store.MaxPage + 7
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			if err := r.Deployments.Create(ctx, deploymentOf(fmt.Sprintf("i%05d", i), "l")); err != nil {
				return err
			}
		}
		return nil
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Deployments.Review(ctx, "l", noon) })
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		due, err := r.Deployments.Due(ctx, noon, 2*many)
		if err == nil && len(due) != many {
			err = fmt.Errorf("%d are due, want %d", len(due), many)
		}
		return err
	})
}

func headOf(install, license string, used entitlement.Usage) *delivery.Desired {
	return delivery.RestoreDesired(delivery.DesiredRecord{InstallID: install, License: license, Revision: 1, Usage: used})
}

func usageSummed(k *kit) {
	big := int64(1 << 52)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			r.DesiredStates.Create(ctx, headOf("a", "l", entitlement.Usage{Apps: 1, Replicas: 20, MilliCPU: 300, MemoryBytes: big})),
			r.DesiredStates.Create(ctx, headOf("b", "l", entitlement.Usage{Apps: 2, Replicas: 30, MilliCPU: 400, MemoryBytes: big})),
			r.DesiredStates.Create(ctx, headOf("c", "L", entitlement.Usage{Apps: 9, Replicas: 9, MilliCPU: 9, MemoryBytes: 9})),
			r.DesiredStates.Create(ctx, headOf("d", "", entitlement.Usage{Apps: 9, Replicas: 9, MilliCPU: 9, MemoryBytes: 9})),
		)
	})
	k.uses("l", entitlement.Usage{Apps: 3, Replicas: 50, MilliCPU: 700, MemoryBytes: 2 * big})
	k.uses("nobody", entitlement.Usage{})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		if err := r.DesiredStates.Save(ctx, headOf("b", "L", entitlement.Usage{Apps: 5})); err != nil {
			return err
		}
		used, err := r.DesiredStates.Usage(ctx, "l")
		if err == nil && used.Apps != 1 {
			err = fmt.Errorf("a transaction sums %+v after what it wrote", used)
		}
		return err
	})
	k.uses("L", entitlement.Usage{Apps: 14, Replicas: 9, MilliCPU: 9, MemoryBytes: 9})
}

func (k *kit) uses(license string, want entitlement.Usage) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.DesiredStates.Usage(ctx, license)
		if err == nil && got != want {
			err = fmt.Errorf("%s uses %+v, want %+v", license, got, want)
		}
		return err
	})
}

func revisionsBefore(k *kit) {
	const last = 1<<53 - 1
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, install := range []string{"i", "I", "ii"} {
			for _, n := range []int64{2, 9, 1, 10, last} {
				if err := r.Revisions.Append(ctx, delivery.Revision{InstallID: install, Revision: n, Reason: install}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	before := func(revision int64, limit int) func(context.Context, *store.Roles) ([]string, error) {
		return func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Revisions.Before(ctx, "i", revision, limit))(func(v delivery.Revision) string {
				return fmt.Sprint(v.Reason, v.Revision)
			})
		}
	}
	k.gives("the newest", before(0, 2), fmt.Sprint("i", int64(last)), "i10")
	k.gives("from below", before(10, 99), "i9", "i2", "i1")
	k.gives("from below what is not there", before(5, 99), "i2", "i1")
	k.gives("below the first", before(1, 99))
	k.gives("a limit of none", before(10, 0), "i9")
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(expect(second(r.Revisions.Get(ctx, "i", 3)), fault.NotFound, "revision_not_found"),
			second(r.Revisions.Get(ctx, "i", last)))
	})
}

func largeDesired(k *kit) {
	want := full[delivery.DesiredRecord](k.maker)
	want.InstallID, want.Apps = "large", nil
	for i := range 200 {
		app := delivery.DesiredApp{App: fmt.Sprint("bare-", i)}
		if i%2 == 0 {
			app = full[delivery.DesiredApp](k.maker)
		}
		want.Apps = append(want.Apps, app)
	}
	revision := delivery.Revision{InstallID: "large", Revision: 1, Apps: want.Apps, Diff: []delivery.Difference{{App: "a", What: "installed"}}}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.DesiredStates.Create(ctx, delivery.RestoreDesired(want)), r.Revisions.Append(ctx, revision))
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		head, err := r.DesiredStates.Get(ctx, "large")
		if err != nil {
			return err
		}
		same(k, "the head", head.Record(), want)
		got, err := r.Revisions.Before(ctx, "large", 0, 1)
		if err == nil {
			same(k, "the revision", got, []delivery.Revision{revision})
		}
		return err
	})
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
