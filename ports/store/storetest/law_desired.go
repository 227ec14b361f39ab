package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func desiredLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("usage is summed over the license's deployments alone", usageSummed),
		promise("revisions come newest first, from below the given", revisionsBefore),
		promise("a desired state of two hundred apps comes back", largeDesired),
	}
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
				if err := r.Revisions.Append(ctx, revisionOf(install, n)); err != nil {
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
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Revisions.Before(ctx, "ii", 3, 1)
		if err == nil {
			want := revisionOf("ii", 2)
			want.Apps, want.Token = nil, ""
			same(k, "a revision in short", got, []delivery.Revision{want})
		}
		return err
	})
}

func revisionOf(install string, n int64) delivery.Revision {
	return delivery.Revision{
		InstallID: install, Revision: n, At: noon, Reason: install, Digest: "digest", Token: "token",
		Diff: []delivery.Difference{{App: "a", What: "installed"}}, Apps: []delivery.DesiredApp{{App: "a"}},
	}
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
		got, err := r.Revisions.Get(ctx, "large", 1)
		if err == nil {
			same(k, "the revision", got, revision)
		}
		return err
	})
}
