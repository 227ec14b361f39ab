package storetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/ident"
	"berth/ports/store"
)

func deploymentKind() kind[*delivery.Deployment, delivery.DeploymentRecord] {
	return kind[*delivery.Deployment, delivery.DeploymentRecord]{
		thing: "deployment", tree: func(s *state) *tree[delivery.DeploymentRecord] { return &s.deployments },
		key:    func(r delivery.DeploymentRecord) string { return r.InstallID },
		record: (*delivery.Deployment).Record, restore: delivery.RestoreDeployment,
	}
}

type deployments struct {
	aggregate[*delivery.Deployment, delivery.DeploymentRecord]
}

func (d deployments) List(_ context.Context, license string, p store.Page) ([]*delivery.Deployment, error) {
	return d.page(p, func(r delivery.DeploymentRecord) bool { return license == "" || r.License == license }, license)
}

func (d deployments) Due(_ context.Context, now time.Time, limit int) ([]*delivery.Deployment, error) {
	if err := d.reading(); err != nil {
		return nil, err
	}
	found := d.state.deployments.pick("", math.MaxInt, func(r delivery.DeploymentRecord) bool {
		return !r.ReviewAt.IsZero() && !r.ReviewAt.After(ident.Instant(now))
	})
	slices.SortFunc(found, func(a, b delivery.DeploymentRecord) int {
		return cmp.Or(a.ReviewAt.Compare(b.ReviewAt), cmp.Compare(a.InstallID, b.InstallID))
	})
	return d.kind.list(found[:min(len(found), max(limit, 1))]), nil
}

func (d deployments) Review(_ context.Context, license string, at time.Time) error {
	if err := d.writing(license); err != nil || at.IsZero() {
		return err
	}
	at = ident.Instant(at)
	for key, r := range d.state.deployments.above("") {
		if r.License == license && (r.ReviewAt.IsZero() || r.ReviewAt.After(at)) {
			r.ReviewAt = at
			d.state.deployments = d.state.deployments.put(key, r)
		}
	}
	return nil
}

func desiredKind() kind[*delivery.Desired, delivery.DesiredRecord] {
	return kind[*delivery.Desired, delivery.DesiredRecord]{
		thing: "desired_state", tree: func(s *state) *tree[delivery.DesiredRecord] { return &s.desired },
		key:    func(r delivery.DesiredRecord) string { return r.InstallID },
		record: (*delivery.Desired).Record, restore: delivery.RestoreDesired,
	}
}

type desiredStates struct {
	aggregate[*delivery.Desired, delivery.DesiredRecord]
}

func (d desiredStates) Usage(_ context.Context, license string) (sum entitlement.Usage, err error) {
	if err := d.reading(license); err != nil {
		return sum, err
	}
	for _, r := range d.state.desired.above("") {
		if r.License == license {
			sum.Apps += r.Usage.Apps
			sum.Replicas += r.Usage.Replicas
			sum.MilliCPU += r.Usage.MilliCPU
			sum.MemoryBytes += r.Usage.MemoryBytes
		}
	}
	return sum, nil
}

type revisions struct{ *tx }

func (v revisions) Append(_ context.Context, r delivery.Revision) error {
	return addOne(v.tx, &v.state.revisions, "revision", r, r.InstallID, number(r.Revision))
}

func (v revisions) Get(_ context.Context, install string, revision int64) (delivery.Revision, error) {
	return getOne(v.tx, v.state.revisions, "revision", install, number(revision))
}

func (v revisions) Before(_ context.Context, install string, revision int64, limit int) ([]delivery.Revision, error) {
	if err := v.reading(install); err != nil {
		return nil, err
	}
	if revision == 0 {
		revision = math.MaxInt64
	}
	var out []delivery.Revision
	for _, r := range v.state.revisions.below(compound(install, number(revision))) {
		if r.InstallID != install || len(out) >= max(limit, 1) {
			break
		}
		r.Apps, r.Token = nil, ""
		out = append(out, own(r))
	}
	return out, nil
}

type objects struct{ *tx }

func (o objects) Put(_ context.Context, contents ...[]byte) error {
	if err := o.writing(); err != nil {
		return err
	}
	for _, content := range contents {
		sum := sha256.Sum256(content)
		if key := hex.EncodeToString(sum[:]); !o.state.objects.has(key) {
			o.state.objects = o.state.objects.put(key, own(content))
		}
	}
	return nil
}

func (o objects) Get(_ context.Context, sha256 string) ([]byte, error) {
	return getOne(o.tx, o.state.objects, "object", sha256)
}

func (o objects) Allow(_ context.Context, install string, sha256 ...string) error {
	if err := o.writing(slices.Concat(sha256, []string{install})...); err != nil {
		return err
	}
	for _, key := range sha256 {
		o.state.allowed = o.state.allowed.put(compound(install, key), true)
		o.owe(func(s *state) bool { return s.objects.has(key) })
	}
	return nil
}

func (o objects) Read(ctx context.Context, install, sha256 string) ([]byte, error) {
	if _, err := getOne(o.tx, o.state.allowed, "object", install, sha256); err != nil {
		return nil, err
	}
	return o.Get(ctx, sha256)
}
