package dev

import (
	"context"
	"fmt"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
)

// seedDelivery makes the catalogue, a customer with a license, and a deployment of which one app is to run.
func (r *running) seedDelivery(ctx context.Context, s *seeds) error {
	if err := r.shelf.fill(ctx); err != nil {
		return fmt.Errorf("the registry: %w", err)
	}
	if err := r.seedCatalogue(ctx, s); err != nil {
		return err
	}
	_, err := s.api.CreateCustomer(ctx, contract.NewCustomer{ID: customer, Name: "Acme"})
	if err := unlessThere(err, "customer_exists"); err != nil {
		return err
	}
	license, err := r.seedLicense(ctx, s)
	if err != nil {
		return err
	}
	return r.seedDeployment(ctx, s, license)
}

// seedCatalogue registers the registry, whose port is kept, and releases each version of each app.
func (r *running) seedCatalogue(ctx context.Context, s *seeds) error {
	_, err := s.api.AddRegistry(ctx, contract.NewRegistry{Host: r.shelf.host(), PlainHTTP: true})
	if err := unlessThere(err, "registry_exists"); err != nil {
		return err
	}
	if err := r.keepPort(shelfFile, r.shelf.listener); err != nil {
		return err
	}
	for _, app := range demoApps() {
		_, err := s.api.CreateApp(ctx, contract.NewApp{ID: app.id, Name: app.name})
		if err := unlessThere(err, "app_exists"); err != nil {
			return err
		}
		for _, version := range app.versions {
			_, err := s.api.CreateRelease(ctx, app.id, app.release(version, r.shelf.image(app.id, version)))
			if err := unlessThere(err, "release_immutable"); err != nil { // of a run whose registry was at another port
				return err
			}
		}
	}
	return nil
}

// seedLicense makes a license, or finds that of the runs before; its key is in dev.json, or made anew.
func (r *running) seedLicense(ctx context.Context, s *seeds) (contract.License, error) {
	all, err := s.api.Licenses(ctx, customer, apiclient.Page{Limit: 1})
	if err != nil {
		return contract.License{}, err
	}
	if len(all.Licenses) > 0 {
		found := all.Licenses[0]
		if last, ok := r.lastTold(); ok && last.LicenseKey != "" {
			s.licenseKey = last.LicenseKey
			return found, nil
		}
		found, err = s.api.RotateLicenseKey(ctx, found.ID)
		s.licenseKey = found.LicenseKey
		return found, err
	}
	made, err := s.api.CreateLicense(ctx, contract.NewLicense{
		Customer: customer, Environment: "DEV", ExpiresAt: time.Now().UTC().AddDate(1, 0, 0), Enforce: "enforce",
		Quota: contract.Quota{Apps: 10, Replicas: 20, CPU: "4", Memory: "8Gi"},
	})
	if err != nil {
		return made, err
	}
	s.licenseKey = made.LicenseKey
	return made, nil
}

// seedDeployment makes an installation with the app that the other one needs, or finds that of the runs before. The apps
// are put on the license before it and not with the license, which a run that was stopped between may have made.
func (r *running) seedDeployment(ctx context.Context, s *seeds, license contract.License) error {
	all, err := s.api.Deployments(ctx, license.ID, apiclient.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(all.Deployments) > 0 {
		s.install = all.Deployments[0].InstallID
		return nil
	}
	apps := contract.LicenseApps{}
	for _, app := range demoApps() {
		apps.Apps = append(apps.Apps, contract.LicenseApp{App: app.id})
	}
	if _, err := s.api.SetLicenseApps(ctx, license.ID, apps); err != nil {
		return err
	}
	made, err := s.api.CreateDeployment(ctx, contract.NewDeployment{
		Customer: customer, License: license.ID, Namespace: "acme",
		SelectedServices: []contract.SelectedService{{App: demoApps()[0].id}},
	})
	s.install = made.InstallID
	return err
}
