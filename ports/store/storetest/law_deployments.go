package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"berth/domain/delivery"
	"berth/domain/ident"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func deploymentLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("deployments are due by time of review, then install id", deploymentsDue),
		promise("a review is brought forward and never back", reviewsForward),
		promise("a review is brought forward on any number of deployments", reviewsMany),
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
