package storetest

import (
	"context"
	"strings"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

func recordMutants() []broken {
	regions := func(change func(r store.Regions, t *tx) store.Regions) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Regions = change(r.Regions, t) })
	}
	got := func(change func(r *placement.Region)) func(*mutant) {
		return regions(func(r store.Regions, _ *tx) store.Regions { return changedRegions{Regions: r, change: change} })
	}
	return []broken{
		{"Save creates", "saving what is missing is NotFound and creates nothing", regions(func(r store.Regions, t *tx) store.Regions {
			return upsertingRegions{r, t}
		})},
		{"Create overwrites", "a second Create is AlreadyExists and keeps the first", regions(func(r store.Regions, _ *tx) store.Regions {
			return overwritingRegions{r}
		})},
		{"Save keeps an old column", "saving replaces every field", regions(func(r store.Regions, _ *tx) store.Regions {
			return stubbornRegions{r}
		})},
		{"a miss is no fault", "a miss is NotFound", twisting(func(_ *tx, r *store.Roles) { r.Queue = quietQueue{r.Queue} })},
		{"a refusal spoils the transaction", "a transaction goes on after a refusal", regions(func(r store.Regions, t *tx) store.Regions {
			return touchyRegions{r, t}
		})},
		{"times come back local", "times are kept to the microsecond and come back in UTC", got(func(r *placement.Region) {
			r.CreatedAt = r.CreatedAt.In(zone)
		})},
		{"times are cut to milliseconds", "times are kept to the microsecond and come back in UTC", got(func(r *placement.Region) {
			r.CreatedAt = r.CreatedAt.Truncate(time.Millisecond)
		})},
		{"no time comes back as 1970", "a record of nothing but its key comes back so", got(func(r *placement.Region) {
			if r.CreatedAt.IsZero() {
				r.CreatedAt = time.Unix(0, 0).UTC()
			}
		})},
		{"text is trimmed", "keys that look alike are different", regions(func(r store.Regions, _ *tx) store.Regions {
			return trimmingRegions{r}
		})},
		{"NUL is stripped", "text that can not be held is refused in every field", regions(func(r store.Regions, _ *tx) store.Regions {
			return strippingRegions{r}
		})},
		{"counters go through 32 bits", "a counter at its limit comes back", twisting(func(_ *tx, r *store.Roles) { r.Nodes = narrowNodes{r.Nodes} })},
		{"handles are added as far as it goes", "handles are added and saved all or none", twisting(func(_ *tx, r *store.Roles) {
			r.Handles = partialHandles{r.Handles}
		})},
		{"a second body is cut", "a body of a mebibyte comes back", twisting(func(_ *tx, r *store.Roles) {
			r.Idempotency = cuttingOnce{r.Idempotency}
		})},
		{"handles are cut at a thousand", "ten thousand handles are one call", twisting(func(_ *tx, r *store.Roles) {
			r.Handles = shortHandles{r.Handles}
		})},
	}
}

type changedRegions struct {
	store.Regions
	change func(r *placement.Region)
}

func (r changedRegions) Get(ctx context.Context, id string) (placement.Region, error) {
	v, err := r.Regions.Get(ctx, id)
	r.change(&v)
	return v, err
}

type upsertingRegions struct {
	store.Regions
	t *tx
}

func (r upsertingRegions) Save(ctx context.Context, v placement.Region) error {
	err := r.Regions.Save(ctx, v)
	if fault.KindOf(err) == fault.NotFound {
		return r.Regions.Create(ctx, v)
	}
	return err
}

type overwritingRegions struct{ store.Regions }

func (r overwritingRegions) Create(ctx context.Context, v placement.Region) error {
	err := r.Regions.Create(ctx, v)
	if fault.KindOf(err) == fault.AlreadyExists {
		_ = r.Regions.Save(ctx, v)
	}
	return err
}

type stubbornRegions struct{ store.Regions }

func (r stubbornRegions) Save(ctx context.Context, v placement.Region) error {
	if was, err := r.Regions.Get(ctx, v.ID); err == nil && v.Origin == "" {
		v.Origin = was.Origin
	}
	return r.Regions.Save(ctx, v)
}

type quietQueue struct{ store.Queue }

func (q quietQueue) Remove(ctx context.Context, tenant string) error {
	if err := q.Queue.Remove(ctx, tenant); fault.KindOf(err) != fault.NotFound {
		return err
	}
	return nil
}

type touchyRegions struct {
	store.Regions
	t *tx
}

func (r touchyRegions) Create(ctx context.Context, v placement.Region) error {
	err := r.Regions.Create(ctx, v)
	if err != nil {
		r.t.owe(func(*state) bool { return false })
	}
	return err
}

type trimmingRegions struct{ store.Regions }

func (r trimmingRegions) Create(ctx context.Context, v placement.Region) error {
	v.ID = strings.TrimSpace(v.ID)
	return r.Regions.Create(ctx, v)
}

type strippingRegions struct{ store.Regions }

func (r strippingRegions) Create(ctx context.Context, v placement.Region) error {
	v.ID, v.Origin = strings.ReplaceAll(v.ID, "\x00", ""), strings.ReplaceAll(v.Origin, "\x00", "")
	return r.Regions.Create(ctx, v)
}

type narrowNodes struct{ store.Nodes }

func (n narrowNodes) Create(ctx context.Context, v *placement.Node) error {
	record := v.Record()
	record.Inbound = int64(int32(record.Inbound))
	return n.Nodes.Create(ctx, placement.RestoreNode(record))
}

type partialHandles struct{ store.Handles }

func (h partialHandles) Add(ctx context.Context, hs []*authorization.Handle) error {
	for i := range hs {
		if err := h.Handles.Add(ctx, hs[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

type cuttingOnce struct{ store.Idempotency }

func (i cuttingOnce) Finish(ctx context.Context, o store.Once) error {
	o.Body = o.Body[:min(len(o.Body), 1<<16)]
	return i.Idempotency.Finish(ctx, o)
}

type shortHandles struct{ store.Handles }

func (h shortHandles) OfPrincipal(ctx context.Context, tenant, principal string) ([]*authorization.Handle, error) {
	hs, err := h.Handles.OfPrincipal(ctx, tenant, principal)
	return hs[:min(len(hs), 1000)], err
}
