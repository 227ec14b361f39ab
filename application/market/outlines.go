package market

import (
	"context"
	"maps"
	"slices"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// Bounds on what is read of the catalogue for one answer. What lies beyond is taken for unknown: that only leaves a cure
// untold.
const (
	maxOutlined = 2000 // apps
	maxSteps    = 16   // from an app to what it needs
)

// outlines reads the releases of apps, and of all that they need.
func outlines(ctx context.Context, r *store.Roles, apps []string) ([]delivery.Outline, error) {
	var all []delivery.Outline
	looked := map[string]bool{}
	next := unseen(looked, apps)
	for step := 0; step < maxSteps && len(next) > 0; step++ {
		list, err := r.Releases.Outlines(ctx, next)
		if err != nil {
			return nil, err
		}
		var needed []string
		for _, o := range list {
			all = append(all, delivery.Outline(o))
			for _, q := range o.Requires {
				needed = append(needed, q.App)
			}
		}
		if next = unseen(looked, needed); len(looked) > maxOutlined {
			break
		}
	}
	return all, nil
}

// unseen are the apps that were not looked at yet, each once; from now on they were.
func unseen(looked map[string]bool, apps []string) []string {
	next := map[string]bool{}
	for _, app := range apps {
		if !looked[app] {
			next[app], looked[app] = true, true
		}
	}
	return slices.Sorted(maps.Keys(next))
}

// platforms are those of the cluster, as its agent said; none where nobody knows.
func platforms(ctx context.Context, r *store.Roles, install string) ([]string, error) {
	agent, err := r.Agents.OfInstall(ctx, install)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return agent.Record().Platforms, nil
}
