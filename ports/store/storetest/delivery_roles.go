package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// addressOf is where an object of this content is found.
func addressOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// deliveryReads are the methods of the delivery half that take text and only read, each called with the same text.
func deliveryReads(id string) map[string]body {
	page, at := store.Page{Limit: 3}, store.Page{After: id, Limit: 3}
	return map[string]body{
		"customers": func(ctx context.Context, r *store.Roles) error { return second(r.Customers.List(ctx, at)) },
		"licenses":  func(ctx context.Context, r *store.Roles) error { return second(r.Licenses.List(ctx, id, page)) },
		"licenses after": func(ctx context.Context, r *store.Roles) error {
			return second(r.Licenses.List(ctx, "", at))
		},
		"entitlement":  func(ctx context.Context, r *store.Roles) error { return second(r.Entitlements.Get(ctx, "l", id)) },
		"entitlements": func(ctx context.Context, r *store.Roles) error { return second(r.Entitlements.OfLicense(ctx, id)) },
		"apps":         func(ctx context.Context, r *store.Roles) error { return second(r.Apps.List(ctx, at)) },
		"named":        func(ctx context.Context, r *store.Roles) error { return second(r.Apps.Named(ctx, []string{id})) },
		"release":      func(ctx context.Context, r *store.Roles) error { return second(r.Releases.Get(ctx, "a", id)) },
		"releases":     func(ctx context.Context, r *store.Roles) error { return second(r.Releases.OfApp(ctx, id, page)) },
		"outlines":     func(ctx context.Context, r *store.Roles) error { return second(r.Releases.Outlines(ctx, []string{id})) },
		"registries":   func(ctx context.Context, r *store.Roles) error { return second(r.Registries.List(ctx, at)) },
		"deployments":  func(ctx context.Context, r *store.Roles) error { return second(r.Deployments.List(ctx, id, page)) },
		"usage":        func(ctx context.Context, r *store.Roles) error { return second(r.DesiredStates.Usage(ctx, id)) },
		"revision":     func(ctx context.Context, r *store.Roles) error { return second(r.Revisions.Get(ctx, id, 1)) },
		"revisions":    func(ctx context.Context, r *store.Roles) error { return second(r.Revisions.Before(ctx, id, 0, 3)) },
		"object":       func(ctx context.Context, r *store.Roles) error { return second(r.Objects.Get(ctx, id)) },
		"own object":   func(ctx context.Context, r *store.Roles) error { return second(r.Objects.Read(ctx, "i", id)) },
		"object of": func(ctx context.Context, r *store.Roles) error {
			return second(r.Objects.Read(ctx, id, addressOf(nil)))
		},
		"agent of":     func(ctx context.Context, r *store.Roles) error { return second(r.Agents.OfInstall(ctx, id)) },
		"observations": func(ctx context.Context, r *store.Roles) error { return second(r.Observations.OfInstall(ctx, id)) },
		"intents":      func(ctx context.Context, r *store.Roles) error { return second(r.Intents.OfInstall(ctx, id, "", 3)) },
		"intents before": func(ctx context.Context, r *store.Roles) error {
			return second(r.Intents.OfInstall(ctx, "i", id, 3))
		},
		"in flight":     func(ctx context.Context, r *store.Roles) error { return second(r.Intents.InFlight(ctx, id)) },
		"secret values": func(ctx context.Context, r *store.Roles) error { return second(r.SecretValues.OfInstall(ctx, id)) },
		"packages":      func(ctx context.Context, r *store.Roles) error { return second(r.Packages.OfInstall(ctx, id, page)) },
		"wrapped":       func(ctx context.Context, r *store.Roles) error { return second(r.WrappedSecrets.Get(ctx, id)) },
	}
}

// deliveryWrites are the methods of the delivery half that change something, but those of single records.
func deliveryWrites() map[string]body {
	return map[string]body{
		"entitlements put": func(ctx context.Context, r *store.Roles) error {
			return r.Entitlements.Put(ctx, []entitlement.Entitlement{{License: "every", App: "other"}})
		},
		"observations put": func(ctx context.Context, r *store.Roles) error {
			return r.Observations.Put(ctx, []delivery.Observation{{InstallID: "every", App: "other"}})
		},
		"secret values put": func(ctx context.Context, r *store.Roles) error {
			return r.SecretValues.Put(ctx, []delivery.SecretValue{{InstallID: "every", App: "other"}})
		},
		"registry remove": func(ctx context.Context, r *store.Roles) error { return r.Registries.Remove(ctx, "every") },
		"agent remove":    func(ctx context.Context, r *store.Roles) error { return r.Agents.Remove(ctx, "every") },
		"review":          func(ctx context.Context, r *store.Roles) error { return r.Deployments.Review(ctx, "every", noon) },
		"objects put":     func(ctx context.Context, r *store.Roles) error { return r.Objects.Put(ctx, []byte("other")) },
		"objects allow": func(ctx context.Context, r *store.Roles) error {
			return r.Objects.Allow(ctx, "other", addressOf([]byte("every")))
		},
	}
}

// deliveryEverywhere writes something to every role of the delivery half that is not over single records.
func deliveryEverywhere(ctx context.Context, r *store.Roles) error {
	return errors.Join(
		r.Entitlements.Put(ctx, []entitlement.Entitlement{{License: "every", App: "every"}}),
		r.Observations.Put(ctx, []delivery.Observation{{InstallID: "every", App: "every"}}),
		r.SecretValues.Put(ctx, []delivery.SecretValue{{InstallID: "every", App: "every"}}),
		r.Objects.Put(ctx, []byte("every")), r.Objects.Allow(ctx, "every", addressOf([]byte("every"))),
	)
}

// deliveryNowhere fails where deliveryEverywhere left something behind.
func deliveryNowhere(ctx context.Context, r *store.Roles, why string) error {
	es, err1 := r.Entitlements.OfLicense(ctx, "every")
	os, err2 := r.Observations.OfInstall(ctx, "every")
	vs, err3 := r.SecretValues.OfInstall(ctx, "every")
	if n := len(es) + len(os) + len(vs); n > 0 {
		return fmt.Errorf("%s: %d records were left", why, n)
	}
	object := addressOf([]byte("every"))
	return errors.Join(err1, err2, err3,
		expect(second(r.Objects.Get(ctx, object)), fault.NotFound, "object_not_found"),
		expect(second(r.Objects.Read(ctx, "every", object)), fault.NotFound, "object_not_found"))
}

func licenseListings() []listing {
	customer := func(c entitlement.Customer) string { return c.ID }
	license := func(l *entitlement.License) string { return l.Record().ID }
	app := func(a delivery.App) string { return a.ID }
	return []listing{
		{"customers", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Customers.Create(ctx, entitlement.Customer{ID: key})
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Customers.List(ctx, p))(customer)
		}},
		{"licenses", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Licenses.Create(ctx, licenseOf(key, "acme"))
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Licenses.List(ctx, "", p))(license)
		}},
		{"licenses of a customer", true, nil, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Licenses.List(ctx, "acme", p))(license)
		}},
		{"apps", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Apps.Create(ctx, delivery.App{ID: key})
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Apps.List(ctx, p))(app)
		}},
		{"registries", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Registries.Create(ctx, delivery.Registry{Host: key})
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Registries.List(ctx, p))(func(v delivery.Registry) string { return v.Host })
		}},
	}
}

func deliveryListings() []listing {
	install := func(d *delivery.Deployment) string { return d.Record().InstallID }
	return []listing{
		{"releases", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Releases.Create(ctx, delivery.Release{App: "app", Version: key})
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Releases.OfApp(ctx, "app", p))(func(v delivery.Release) string { return v.Version })
		}},
		{"deployments", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Deployments.Create(ctx, deploymentOf(key, "lic"))
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Deployments.List(ctx, "", p))(install)
		}},
		{"deployments of a license", true, nil, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Deployments.List(ctx, "lic", p))(install)
		}},
		{"packages", false, func(ctx context.Context, r *store.Roles, key string) error {
			return r.Packages.Create(ctx, delivery.PackageRecord{ID: key, InstallID: "ins"})
		}, func(ctx context.Context, r *store.Roles, p store.Page) ([]string, error) {
			return keysOf(r.Packages.OfInstall(ctx, "ins", p))(func(v delivery.PackageRecord) string { return v.ID })
		}},
	}
}

func licenseOf(id, customer string) *entitlement.License {
	return entitlement.RestoreLicense(entitlement.LicenseRecord{ID: id, Customer: customer, ExpiresAt: noon})
}

func deploymentOf(install, license string) *delivery.Deployment {
	return delivery.RestoreDeployment(delivery.DeploymentRecord{InstallID: install, License: license})
}
