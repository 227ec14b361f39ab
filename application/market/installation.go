package market

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/store"
)

// InstallationRequest is a platform's word on an app: whether it installed it, and in which version (E7).
type InstallationRequest struct {
	Caller    Caller
	App       string
	Installed bool
	Version   string // of what was installed
}

// SetInstallation keeps it. It changes nothing of what is deployed, and nothing else says whether an app is installed.
// Said again, it changes nothing. It is taken of an app that is, or was, on the license. Faults: NotFound app_not_found;
// Invalid version_invalid.
func (m *Market) SetInstallation(ctx context.Context, in InstallationRequest) (delivery.Observation, error) {
	if err := fault.All(ident.Check("app", in.App), checkInstalled(in)); err != nil {
		return delivery.Observation{}, err
	}
	now := m.Clock.Now()
	var out delivery.Observation
	err := m.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Entitlements.Get(ctx, in.Caller.license, in.App); fault.KindOf(err) == fault.NotFound {
			return fault.New(fault.NotFound, "app_not_found", "there is no app %s on the license", in.App)
		} else if err != nil {
			return err
		}
		before, err := observation(ctx, r, in.Caller.install, in.App)
		if err != nil {
			return err
		}
		out = in.on(before, now)
		if out.Installed == before.Installed && out.InstalledAs == before.InstalledAs {
			return nil
		}
		return keepInstallation(ctx, r, audit.Draft{At: now, Actor: in.Caller.actor(), Action: "installation.reported"}, before, out)
	})
	return out, err
}

func checkInstalled(in InstallationRequest) *fault.Error {
	if !in.Installed && in.Version == "" {
		return nil
	}
	if err := delivery.CheckVersion(in.Version); err != nil {
		return err.At("version")
	}
	return nil
}

// on is what is known of the app once that was said.
func (in InstallationRequest) on(o delivery.Observation, now time.Time) delivery.Observation {
	if !in.Installed {
		o.Installed, o.InstalledAs, o.InstalledAt = false, "", time.Time{}
		return o
	}
	if !o.Installed || o.InstalledAs != in.Version {
		o.Installed, o.InstalledAs, o.InstalledAt = true, in.Version, ident.Instant(now)
	}
	return o
}

// keepInstallation stores what a platform said, and notes it.
func keepInstallation(ctx context.Context, r *store.Roles, d audit.Draft, before, after delivery.Observation) error {
	if err := r.Observations.Put(ctx, []delivery.Observation{after}); err != nil {
		return err
	}
	d.Subject = "deployment/" + after.InstallID
	d.Detail = map[string]string{"app": after.App, "before": installation(before), "after": installation(after)}
	return r.Audit.Append(ctx, d)
}

func installation(o delivery.Observation) string {
	if !o.Installed {
		return "not installed"
	}
	return "installed " + o.InstalledAs
}

func observation(ctx context.Context, r *store.Roles, install, app string) (delivery.Observation, error) {
	all, err := r.Observations.OfInstall(ctx, install)
	for _, o := range all {
		if o.App == app {
			return o, err
		}
	}
	return delivery.Observation{InstallID: install, App: app}, err
}
