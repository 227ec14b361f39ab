package catalog

import (
	"context"
	"strconv"
	"strings"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// MaxRegistries is how many registries there are at most.
const MaxRegistries = 200

// AddRegistryRequest registers a place that images and charts may come from.
type AddRegistryRequest struct {
	Actor    audit.Actor
	Registry delivery.Registry
}

// AddRegistry registers a registry. Faults: those of delivery.NewRegistry; AlreadyExists registry_exists; Conflict
// registry_mirror_taken, where another one answers for the same host; Exhausted registries_too_many.
func (c *Catalog) AddRegistry(ctx context.Context, in AddRegistryRequest) (delivery.Registry, error) {
	var added delivery.Registry
	err := c.commit(ctx, in.Actor, func(ctx context.Context, w *work) (err error) {
		if added, err = delivery.NewRegistry(in.Registry, w.now); err != nil {
			return err
		}
		all, err := registries(ctx, w.Roles)
		if err != nil {
			return err
		}
		if len(all) >= MaxRegistries {
			return fault.New(fault.Exhausted, "registries_too_many", "there are %d registries, and there may be no more", len(all)).
				Curable("remove one: DELETE /api/v1/registries/{host}")
		}
		for _, other := range all {
			if added.MirrorOf != "" && other.MirrorOf == added.MirrorOf && other.Host != added.Host {
				return fault.New(fault.Conflict, "registry_mirror_taken", "%s answers for %s already", other.Host, other.MirrorOf).
					Curable("remove it first: DELETE /api/v1/registries/%s", other.Host)
			}
		}
		if err := w.Registries.Create(ctx, added); err != nil {
			return err
		}
		return w.note(ctx, "registry.added", registrySubject(added.Host), registryDetail(added))
	})
	return added, err
}

// registrySubject names a registry in the audit log, in which subjects have no brackets.
func registrySubject(host string) string {
	return "registry/" + strings.NewReplacer("[", "", "]", "").Replace(host)
}

// registryDetail is what the audit log says of a registry: everything but the certificates themselves.
func registryDetail(r delivery.Registry) map[string]string {
	detail := map[string]string{"plain_http": strconv.FormatBool(r.PlainHTTP)}
	if r.CredentialsRef != "" {
		detail["credentials_ref"] = r.CredentialsRef
	}
	if r.MirrorOf != "" {
		detail["mirror_of"] = r.MirrorOf
	}
	if r.CA != "" {
		detail["ca_sha256"] = delivery.Digest([]byte(r.CA))
	}
	return detail
}

// Registries lists the registries, by host.
func (c *Catalog) Registries(ctx context.Context, p store.Page) (store.List[delivery.Registry], error) {
	var out store.List[delivery.Registry]
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = store.Listed(p, func(p store.Page) ([]delivery.Registry, error) { return r.Registries.List(ctx, p) }, hostOf)
		return err
	})
	return out, err
}

// RemoveRegistryRequest names a registry.
type RemoveRegistryRequest struct {
	Actor audit.Actor
	Host  string
}

// RemoveRegistry forgets a registry: nothing is asked of it any more. What runs from it goes on running. Fault: NotFound
// registry_not_found.
func (c *Catalog) RemoveRegistry(ctx context.Context, in RemoveRegistryRequest) error {
	return c.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		gone, err := w.Registries.Get(ctx, in.Host)
		if err != nil {
			return err
		}
		if err := w.Registries.Remove(ctx, in.Host); err != nil {
			return err
		}
		return w.note(ctx, "registry.removed", registrySubject(gone.Host), registryDetail(gone))
	})
}
