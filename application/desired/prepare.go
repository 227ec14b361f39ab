package desired

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
	"berth/ports/store"
)

// PrepareRequest asks for an app as it is to run.
type PrepareRequest struct {
	Deployment delivery.DeploymentRecord
	Choice     delivery.Choice // with a version
	By         delivery.Chooser
	// Keep are the parameters that the app has at present. Those that the release still declares and takes, and that
	// Choice does not set, are kept.
	Keep      map[string]string
	Platforms []string               // of the cluster; none: not known, and any will do
	Secrets   []delivery.SecretValue // that are set with the same change
}

// Prepared is an app ready to be put into a desired state.
type Prepared struct {
	App     delivery.DesiredApp
	Objects [][]byte // to be stored with it
	Release delivery.Release
}

// Prepare makes of a choice what is to run: the release with its parameters settled, rendered, judged by what this
// deployment allows, each image looked up and pinned. It changes nothing. All that stands against it is told together:
// NotFound version_unknown; Invalid parameter_…, parameter_reaches_identity, manifest_…, ingress_host_refused, registry_unknown, image_missing,
// platform_unsupported; Unavailable image_check_unavailable, render_unavailable. App.Usage is there as far as it could be
// known.
func (d *Desired) Prepare(ctx context.Context, in PrepareRequest) (Prepared, []*fault.Error) {
	known, err := d.known(ctx, in)
	if err != nil {
		return Prepared{}, faultsOf(err)
	}
	chosen, settled, errs := known.settle(in)
	docs, wrong := d.rendered(ctx, in, known, settled)
	errs = append(errs, wrong...)
	if len(wrong) > 0 {
		return Prepared{}, errs
	}
	errs = append(errs, known.judge(in, docs)...)
	errs = append(errs, d.reached(ctx, in, known, settled, docs)...)
	pins, missing := d.images(ctx, known.registries, delivery.Images(docs), in.Platforms)
	if errs = append(errs, missing...); len(errs) > 0 {
		use, _ := delivery.Use(docs) // so that a quota is judged, too
		return Prepared{App: delivery.DesiredApp{Usage: use}}, errs
	}
	return known.assemble(in, chosen, delivery.Place(delivery.Pin(docs, pins), in.Deployment.Namespace))
}

// material is what is stored of a release and what belongs to it.
type material struct {
	release    delivery.Release
	source     []byte
	registries []delivery.Registry
	secrets    map[string]bool // parameters that have a value
}

func (d *Desired) known(ctx context.Context, in PrepareRequest) (material, error) {
	m := material{secrets: map[string]bool{}}
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if m.release, err = r.Releases.Get(ctx, in.Choice.App, in.Choice.Version); err != nil {
			return versionUnknown(err, in.Choice)
		}
		if m.source, err = r.Objects.Get(ctx, m.release.Source); err != nil {
			return err
		}
		m.registries, err = store.All(func(p store.Page) ([]delivery.Registry, error) { return r.Registries.List(ctx, p) },
			func(r delivery.Registry) string { return r.Host })
		if err != nil {
			return err
		}
		values, err := r.SecretValues.OfInstall(ctx, in.Deployment.InstallID)
		for _, v := range append(values, in.Secrets...) {
			if v.App == in.Choice.App {
				m.secrets[v.Parameter] = true
			}
		}
		return err
	})
	return m, err
}

func versionUnknown(err error, c delivery.Choice) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return fault.New(fault.NotFound, "version_unknown", "there is no version %q of %q", c.Version, c.App).
		Curable("choose a version that was released")
}

// settle returns what was chosen, what was kept included, and the value of every parameter that has one.
func (m material) settle(in PrepareRequest) (chosen, settled map[string]string, errs []*fault.Error) {
	chosen = maps.Clone(in.Choice.Parameters)
	if chosen == nil {
		chosen = map[string]string{}
	}
	_, errs = delivery.Settle(m.release.Parameters, chosen, in.By)
	errs = slices.DeleteFunc(errs, func(e *fault.Error) bool { return e.Slug == "parameter_required" && m.takes(e.Field, in.Keep) })
	for name, value := range in.Keep {
		if _, set := chosen[name]; !set && m.takes(name, in.Keep) {
			chosen[name] = value
		}
	}
	errs = append(errs, delivery.MissingSecrets(m.release.Parameters, func(name string) bool { return m.secrets[name] })...)
	if len(errs) > 0 {
		return chosen, m.sampled(), errs
	}
	// What is kept was allowed to whoever set it.
	settled, errs = delivery.Settle(m.release.Parameters, chosen, delivery.ByOperator)
	if len(errs) > 0 {
		return chosen, m.sampled(), errs
	}
	return chosen, settled, nil
}

// takes tells whether a value that was chosen for another version is one of this version's, too.
func (m material) takes(name string, kept map[string]string) bool {
	value, has := kept[name]
	i := slices.IndexFunc(m.release.Parameters, func(p delivery.Parameter) bool { return p.Name == name })
	return has && i >= 0 && !m.release.Parameters[i].Secret && m.release.Parameters[i].Check(value) == nil
}

// sampled are values by which the rest can be judged although those that were given are refused, so that everything that
// is wrong is told at once.
func (m material) sampled() map[string]string {
	out := map[string]string{}
	for _, p := range m.release.Parameters {
		if !p.Secret {
			out[p.Name] = p.Sample()
		}
	}
	return out
}

func (d *Desired) rendered(ctx context.Context, in PrepareRequest, m material, settled map[string]string) ([]delivery.Document, []*fault.Error) {
	docs, err := d.Rendering.Renderers.Release(ctx, render.Request{
		Release: m.release, Source: m.source, Namespace: in.Deployment.Namespace, Values: settled,
	})
	return docs, faultsOf(err)
}

// reached holds what a customer sets to what customers may change (E4): rendered without it, the release is the same
// objects, images and accounts. A template can look at a value in ways that no trial at its release had tried.
func (d *Desired) reached(ctx context.Context, in PrepareRequest, m material, settled map[string]string, docs []delivery.Document) []*fault.Error {
	if in.By != delivery.ByCustomer {
		return nil
	}
	without := maps.Clone(settled)
	for _, p := range m.release.Parameters {
		if _, given := in.Choice.Parameters[p.Name]; given && !p.Secret {
			without[p.Name] = p.Sample()
			if m.takes(p.Name, in.Keep) {
				without[p.Name] = in.Keep[p.Name]
			}
		}
	}
	if maps.Equal(without, settled) {
		return nil
	}
	other, wrong := d.rendered(ctx, in, m, without)
	if len(wrong) == 0 && delivery.SameIdentity(docs, other) {
		return nil
	}
	return []*fault.Error{fault.New(fault.Invalid, "parameter_reaches_identity",
		"what was set changes which objects there are, or their images, containers or accounts").At("parameters").
		Curable("leave parameters out one by one, and tell the vendor of the one that it was")}
}

func (m material) judge(in PrepareRequest, docs []delivery.Document) []*fault.Error {
	return delivery.Check(delivery.Policy{
		Namespace: in.Deployment.Namespace, IngressHosts: in.Deployment.IngressHosts, ConfigMaps: in.Deployment.ConfigMaps,
		Externals: m.release.Externals, AnyRegistry: true, // images are looked up
	}, docs)
}

func (m material) assemble(in PrepareRequest, chosen map[string]string, docs []delivery.Document) (Prepared, []*fault.Error) {
	use, err := delivery.Use(docs)
	if err != nil {
		return Prepared{}, faultsOf(err)
	}
	content, err := delivery.Encode(docs)
	if err != nil {
		return Prepared{}, faultsOf(err)
	}
	app := delivery.DesiredApp{
		App: in.Choice.App, Version: m.release.Version, Release: m.release.Digest, Manifests: delivery.BlobOf(content),
		Images: delivery.Images(docs), Objects: delivery.Objects(docs), Usage: use, Parameters: chosen,
	}
	for _, q := range m.release.Requires {
		app.Requires = append(app.Requires, q.App)
	}
	for _, seal := range delivery.Seals(docs) {
		if m.secrets[seal.Parameter] {
			app.Seals = append(app.Seals, seal)
		}
	}
	return Prepared{App: app, Objects: [][]byte{content}, Release: m.release}, nil
}

// images looks every image up, all at once; how many are asked for at a time is the registry's to bound.
func (d *Desired) images(ctx context.Context, registries []delivery.Registry, images, platforms []string) (map[string]string, []*fault.Error) {
	type answer struct {
		image  string
		pinned string
		err    *fault.Error
	}
	answers := make(chan answer, len(images))
	for _, image := range images {
		go func() {
			pinned, err := d.image(ctx, registries, image, platforms)
			answers <- answer{image, pinned, err}
		}()
	}
	pins, byImage := map[string]string{}, map[string]*fault.Error{}
	for range images {
		a := <-answers
		pins[a.image], byImage[a.image] = a.pinned, a.err
	}
	var errs []*fault.Error
	for _, image := range images {
		if byImage[image] != nil {
			errs = append(errs, byImage[image])
		}
	}
	return pins, errs
}

func (d *Desired) image(ctx context.Context, registries []delivery.Registry, image string, platforms []string) (string, *fault.Error) {
	found, err := d.Rendering.Images.Resolve(ctx, registries, image)
	if err != nil {
		f, ok := fault.As(err)
		if !ok {
			f = fault.New(fault.Unavailable, "image_check_unavailable", "the image could not be looked up").Because(err)
		}
		if f.Field == "" {
			f = f.At("image " + image)
		}
		return "", f
	}
	for _, platform := range platforms {
		if !slices.ContainsFunc(found.Platforms, func(p string) bool { return runsOn(p, platform) }) {
			return "", fault.New(fault.Invalid, "platform_unsupported", "%s is not there for %s, which the cluster has: it is for %s",
				image, platform, strings.Join(found.Platforms, ", ")).At("image " + image).
				Curable("push the image for that platform, too, or choose another version")
		}
	}
	return found.Pinned, nil
}

// runsOn tells whether an image for one platform runs on a node of another: a variant that either leaves open fits.
func runsOn(image, node string) bool {
	return image == node || strings.HasPrefix(image, node+"/") || strings.HasPrefix(node, image+"/")
}

// faultsOf takes an error apart into what failed.
func faultsOf(err error) []*fault.Error {
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &f):
		return []*fault.Error{fault.New(fault.Internal, "internal", "something failed").Because(err)}
	case len(f.Errors) > 0:
		return f.Errors
	}
	return []*fault.Error{f}
}
