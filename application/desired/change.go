package desired

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/sealing"
	"berth/ports/store"
)

// change is what an operator wants of a deployment's apps.
type change struct {
	put      []wanted
	remove   []string
	licensed bool // whether the license has to allow it: it need not where something that runs is only set anew
}

// wanted is an app as an operator wants it. Its parameters take the place of those that it has.
type wanted struct {
	delivery.Choice
	sealed map[string][]byte // secrets that were sealed by whoever set them, by parameter
}

// readied is a change with all that is fetched before its transaction.
type readied struct {
	change
	basis     basis
	catalogue *delivery.Catalogue
	put       []delivery.DesiredApp
	chosen    []delivery.Choice // with version, without secrets
	objects   [][]byte
	secrets   []delivery.SecretValue
}

// basis is what a change was readied on.
type basis struct {
	revision int64
	changed  time.Time // of the deployment
	agent    string    // its seal key; empty where there is none
}

func (s Situation) basis() basis {
	b := basis{revision: s.Head.Record().Revision, changed: s.Deployment.Record().ChangedAt}
	if s.Agent != nil {
		b.agent = s.Agent.Record().SealKey
	}
	return b
}

// errMoved says that what a change was readied on is not what is there any more.
var errMoved = errors.New("the deployment changed while the change was prepared")

// again does a change until nothing moved while it was prepared.
func again[T any](d *Desired, do func() (T, error)) (T, error) {
	for range d.Settings.PublishAttempts {
		out, err := do()
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
	var none T
	return none, contended()
}

func contended() error {
	return fault.New(fault.Unavailable, "desired_state_contended", "the desired state is being changed by others").After(time.Second)
}

// ready judges a change, and fetches what it needs: all that is wrong is told together.
func (d *Desired) ready(ctx context.Context, s Situation, c change) (readied, error) {
	out := readied{change: c, basis: s.basis()}
	known, err := d.outlines(ctx, s, c)
	if err != nil {
		return readied{}, err
	}
	out.catalogue = delivery.NewCatalogue(known)
	order, errs := c.against(s, out.catalogue)
	for _, choice := range order {
		i := slices.IndexFunc(c.put, func(w wanted) bool { return w.App == choice.App })
		w := c.put[i]
		w.Version = choice.Version
		wrong, err := d.readyApp(ctx, s, w, &out)
		if err != nil {
			return readied{}, err
		}
		errs = append(errs, wrong...)
	}
	return out, fault.All(errs...)
}

func (d *Desired) outlines(ctx context.Context, s Situation, c change) ([]delivery.Outline, error) {
	names := map[string]bool{}
	for _, w := range c.put {
		names[w.App] = true
	}
	for _, app := range s.Head.Running() {
		names[app.App] = true
	}
	var out []delivery.Outline
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		list, err := r.Releases.Outlines(ctx, slices.Sorted(maps.Keys(names)))
		for _, o := range list {
			out = append(out, delivery.Outline(o))
		}
		return err
	})
	return out, err
}

// against is what stands against a change, and otherwise the versions that are to be put, in the order of their needs.
func (c change) against(s Situation, catalogue *delivery.Catalogue) ([]delivery.Choice, []*fault.Error) {
	var errs []*fault.Error
	wish := delivery.Wish{Installed: map[string]string{}, Allowed: c.allowed(s)}
	for _, w := range c.put {
		wish.Want = append(wish.Want, delivery.Choice{App: w.App, Version: w.Version})
		errs = append(errs, c.licensing(s, w.App)...)
	}
	for _, app := range s.Head.Running() {
		if !slices.Contains(c.remove, app.App) {
			wish.Installed[app.App] = app.Version
		}
	}
	errs = append(errs, c.dependents(s)...)
	if slices.ContainsFunc(errs, func(e *fault.Error) bool { return e.Slug == entitlement.NotEntitled }) {
		return nil, errs
	}
	order, wrong := delivery.Plan(catalogue, wish)
	return order, append(errs, wrong...)
}

// allowed is what the license lets be chosen. What runs and is only set anew stays in its version, whatever the license
// has come to say of it.
func (c change) allowed(s Situation) func(app string) (versions string, ok bool) {
	return func(app string) (string, bool) {
		if runs, there := s.Head.App(app); there && !runs.Removed && !c.licensed {
			return "=" + runs.Version, true
		}
		if e := s.Entitlement(app); e != nil {
			return e.Versions, true
		}
		return "", false
	}
}

func (c change) licensing(s Situation, app string) []*fault.Error {
	if !c.licensed {
		return nil
	}
	e := s.Entitlement(app)
	var errs []*fault.Error
	for _, f := range s.License.Judge(e, s.Now) {
		if !s.License.Commercial(e, f.Slug) {
			errs = append(errs, f.At(app))
		}
	}
	return errs
}

// dependents refuses to remove what something that stays needs (E5).
func (c change) dependents(s Situation) []*fault.Error {
	var errs []*fault.Error
	for _, app := range s.Head.Running() {
		if slices.Contains(c.remove, app.App) || slices.ContainsFunc(c.put, func(w wanted) bool { return w.App == app.App }) {
			continue // what is put is judged by its own requirements
		}
		for _, gone := range c.remove {
			if slices.Contains(app.Requires, gone) {
				errs = append(errs, fault.New(fault.Conflict, "dependents_remain", "%q needs %q", app.App, gone).At(gone).
					Curable("remove %s first, or with it", app.App))
			}
		}
	}
	return errs
}

// readyApp prepares one app of a change.
func (d *Desired) readyApp(ctx context.Context, s Situation, w wanted, out *readied) ([]*fault.Error, error) {
	release, err := d.release(ctx, w.Choice)
	if err != nil {
		return nil, err
	}
	plain, secrets := delivery.SplitSecrets(release.Parameters, w.Parameters)
	w.Parameters = plain
	values, wrong, err := d.secretValues(ctx, s, w, release, secrets, delivery.ByOperator)
	if err != nil {
		return nil, err
	}
	prepared, errs := d.Prepare(ctx, PrepareRequest{
		Deployment: s.Deployment.Record(), Choice: w.Choice, By: delivery.ByOperator, Platforms: s.Platforms(), Secrets: values,
	})
	if errs = append(wrong, errs...); len(errs) > 0 {
		return atApp(w.App, errs), nil
	}
	out.put = append(out.put, prepared.App)
	out.objects = append(out.objects, prepared.Objects...)
	out.secrets = append(out.secrets, values...)
	out.chosen = append(out.chosen, w.Choice)
	return nil, nil
}

func atApp(app string, errs []*fault.Error) []*fault.Error {
	out := make([]*fault.Error, 0, len(errs))
	for _, e := range errs {
		field := app
		if e.Field != "" {
			field += "." + e.Field
		}
		out = append(out, e.At(field))
	}
	return out
}

func (d *Desired) release(ctx context.Context, c delivery.Choice) (delivery.Release, error) {
	var out delivery.Release
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Releases.Get(ctx, c.App, c.Version)
		return versionUnknown(err, c)
	})
	return out, err
}

// secretValues takes secrets into custody: wrapped before an agent enrolled, and after it only as they were sealed by
// whoever set them (D3).
func (d *Desired) secretValues(ctx context.Context, s Situation, w wanted, release delivery.Release, clear map[string]string,
	by delivery.Chooser,
) ([]delivery.SecretValue, []*fault.Error, error) {
	errs := delivery.CheckSecrets(release.Parameters, clear, by)
	install := s.Deployment.Record().InstallID
	var out []delivery.SecretValue
	for _, name := range slices.Sorted(maps.Keys(clear)) {
		if s.Agent != nil {
			errs = append(errs, mustBeSealed(name))
			continue
		}
		text, err := d.Crypto.Wrapper.Wrap(ctx, Binding(install, w.App, name), []byte(clear[name]))
		if err != nil {
			return nil, nil, err
		}
		out = append(out, delivery.SecretValue{
			InstallID: install, App: w.App, Parameter: name, Custody: delivery.CustodyControl, Text: text, SetAt: s.Now,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(w.sealed)) {
		v := delivery.SecretValue{
			InstallID: install, App: w.App, Parameter: name, Custody: delivery.CustodyAgent, Text: w.sealed[name], SetAt: s.Now,
		}
		if s.Agent != nil {
			v.Recipient = s.Agent.Record().SealKey
		}
		errs = append(errs, checkSealed(s, release, v)...)
		out = append(out, v)
	}
	return out, errs, nil
}

// maxSealed bounds a secret value once it is sealed.
const maxSealed = 16 << 10

func checkSealed(s Situation, release delivery.Release, v delivery.SecretValue) []*fault.Error {
	var errs []*fault.Error
	if err, ok := fault.As(s.custody(v)); ok {
		errs = append(errs, err)
	}
	if !slices.ContainsFunc(release.Parameters, func(p delivery.Parameter) bool { return p.Name == v.Parameter && p.Secret }) {
		errs = append(errs, fault.New(fault.Invalid, "parameter_unknown", "the release declares no secret parameter of this name").At(v.Parameter))
	}
	if len(v.Text) == 0 || len(v.Text) > maxSealed {
		errs = append(errs, fault.New(fault.Invalid, "secret_size", "a sealed value has 1 to %d bytes", maxSealed).At(v.Parameter))
	}
	return errs
}

// Binding is what the wrapped text of a secret parameter is bound to.
func Binding(install, app, parameter string) string {
	return "parameter/" + install + "/" + app + "/" + parameter
}

func placeOf(v delivery.SecretValue) sealing.Place {
	return sealing.Place{InstallID: v.InstallID, App: v.App, Parameter: v.Parameter}
}

// decide judges a change on a situation. It is pure: the transaction calls it again.
func (c readied) decide(s Situation) (delivery.Edit, error) {
	if s.basis() != c.basis {
		return delivery.Edit{}, errMoved
	}
	_, errs := c.against(s, c.catalogue)
	if f := c.quota(s); f != nil {
		errs = append(errs, f)
	}
	if err := fault.All(errs...); err != nil {
		return delivery.Edit{}, err
	}
	return delivery.Edit{Put: c.put, Remove: c.remove}, nil
}

func (c readied) quota(s Situation) *fault.Error {
	var before, after entitlement.Usage
	for _, app := range c.put {
		after = after.Add(app.Usage)
	}
	for _, app := range s.Head.Running() {
		if slices.Contains(c.remove, app.App) || slices.ContainsFunc(c.put, func(a delivery.DesiredApp) bool { return a.App == app.App }) {
			before = before.Add(app.Usage)
		}
	}
	f := s.License.Record().Quota.Exceeded(s.Used, after.Sub(before))
	if f == nil || s.License.Commercial(&entitlement.Entitlement{}, f.Slug) {
		return nil
	}
	return f
}
