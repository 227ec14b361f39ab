package licensing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// EntitleRequest is the whole list of apps that are to be on a license.
type EntitleRequest struct {
	LicenseRequest
	Apps []entitlement.Entitled
}

// Entitled are the apps of a license.
type Entitled struct {
	Revision  int64                     // of the license
	Apps      []entitlement.Entitlement // on it, by app
	Withdrawn []entitlement.Entitlement // that were on it, by app
}

// Entitle makes a list the apps of a license. An app that a deployment has among its selected services stays on it (E2):
// what is taken off otherwise goes on for the grace. The list that is in force changes nothing, and is not audited.
// Faults: those of entitlement.License.Entitle; NotFound license_not_found, app_not_found; Conflict
// selected_service_remains, which names the installations.
func (l *Licensing) Entitle(ctx context.Context, in EntitleRequest) (Entitled, error) {
	var out Entitled
	err := l.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		license, err := w.Licenses.Get(ctx, in.License)
		if err != nil {
			return err
		}
		current, err := w.Entitlements.OfLicense(ctx, in.License)
		if err != nil {
			return err
		}
		rows, err := license.Entitle(current, in.Apps, w.now)
		if err != nil {
			return err
		}
		if err := w.mayEntitle(ctx, in, rows); err != nil {
			return err
		}
		before := byApp(current)
		out = listOf(license, before, rows)
		return w.entitled(ctx, license, before, rows)
	})
	if err != nil {
		return Entitled{}, err
	}
	return out, nil
}

// mayEntitle refuses apps that there are not, and taking off what is selected.
func (w *work) mayEntitle(ctx context.Context, in EntitleRequest, rows []entitlement.Entitlement) error {
	if len(rows) == 0 {
		return nil
	}
	unknown, err := w.unknown(ctx, in.Apps)
	if err != nil {
		return err
	}
	selected, err := w.selected(ctx, in.License, rows)
	if err != nil {
		return err
	}
	return fault.All(append(unknown, selected...)...)
}

// entitled stores the rows with the license that they changed.
func (w *work) entitled(
	ctx context.Context, license *entitlement.License, before map[string]entitlement.Entitlement, rows []entitlement.Entitlement,
) error {
	if len(rows) == 0 {
		return nil
	}
	if err := w.Entitlements.Put(ctx, rows); err != nil {
		return err
	}
	if err := w.changed(ctx, license); err != nil {
		return err
	}
	r := license.Record()
	for _, detail := range appDetails(before, rows, r.Revision) {
		if err := w.note(ctx, "license.apps_changed", "license/"+r.ID, detail); err != nil {
			return err
		}
	}
	return nil
}

// unknown names every app that is wanted and does not exist.
func (w *work) unknown(ctx context.Context, wanted []entitlement.Entitled) ([]*fault.Error, error) {
	ids := make([]string, 0, len(wanted))
	for _, e := range wanted {
		ids = append(ids, e.App)
	}
	apps, err := w.Apps.Named(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(apps))
	for _, app := range apps {
		known[app.ID] = true
	}
	var errs []*fault.Error
	for i, id := range ids {
		if !known[id] {
			errs = append(errs, fault.New(fault.NotFound, "app_not_found", "there is no app %q", id).At(fmt.Sprintf("apps[%d].app", i)))
		}
	}
	return errs, nil
}

// selected names every app that would be taken off and is selected, and the installations that selected it.
func (w *work) selected(ctx context.Context, license string, rows []entitlement.Entitlement) ([]*fault.Error, error) {
	off := make(map[string][]string)
	for _, row := range rows {
		if !row.WithdrawnAt.IsZero() {
			off[row.App] = nil
		}
	}
	if len(off) == 0 {
		return nil, nil
	}
	err := store.EachPage(
		func(p store.Page) ([]*delivery.Deployment, error) { return w.Deployments.List(ctx, license, p) },
		func(d *delivery.Deployment) string { return d.Record().InstallID },
		func(page []*delivery.Deployment) error {
			for _, d := range page {
				for _, c := range d.Record().Selected {
					if installs, leaves := off[c.App]; leaves {
						off[c.App] = append(installs, d.Record().InstallID)
					}
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return remaining(rows, off), nil
}

func remaining(rows []entitlement.Entitlement, off map[string][]string) []*fault.Error {
	const named = 10 // installations, of what may be very many
	var errs []*fault.Error
	for _, row := range rows {
		installs := off[row.App]
		if len(installs) == 0 {
			continue
		}
		text := strings.Join(installs[:min(len(installs), named)], ", ")
		if more := len(installs) - named; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		errs = append(errs, fault.New(fault.Conflict, "selected_service_remains",
			"the app %s is a selected service of %s", row.App, text).At("apps").
			Curable("take it off the selected services of these deployments first"))
	}
	return errs
}

// Apps returns the apps of a license. Fault: NotFound license_not_found.
func (l *Licensing) Apps(ctx context.Context, license string) (Entitled, error) {
	var out Entitled
	err := l.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		found, err := r.Licenses.Get(ctx, license)
		if err != nil {
			return err
		}
		current, err := r.Entitlements.OfLicense(ctx, license)
		if err != nil {
			return err
		}
		out = listOf(found, byApp(current), nil)
		return nil
	})
	if err != nil {
		return Entitled{}, err
	}
	return out, nil
}

func byApp(es []entitlement.Entitlement) map[string]entitlement.Entitlement {
	out := make(map[string]entitlement.Entitlement, len(es))
	for _, e := range es {
		out[e.App] = e
	}
	return out
}

// listOf is what is stored once the rows are put.
func listOf(l *entitlement.License, stored map[string]entitlement.Entitlement, rows []entitlement.Entitlement) Entitled {
	out := Entitled{Revision: l.Record().Revision}
	after := byApp(rows)
	for app, e := range stored {
		if _, changed := after[app]; !changed {
			after[app] = e
		}
	}
	for _, e := range after {
		if e.WithdrawnAt.IsZero() {
			out.Apps = append(out.Apps, e)
		} else {
			out.Withdrawn = append(out.Withdrawn, e)
		}
	}
	for _, list := range [][]entitlement.Entitlement{out.Apps, out.Withdrawn} {
		slices.SortFunc(list, func(a, b entitlement.Entitlement) int { return strings.Compare(a.App, b.App) })
	}
	return out
}
