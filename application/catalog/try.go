package catalog

import (
	"context"
	"maps"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// What a release is rendered with, before it is known where it will run.
const (
	sampleNamespace  = "berth-sample"
	sampleKubernetes = "1.33.0"
)

// try renders a release with its defaults and judges it by all that does not depend on a deployment. It returns the images
// that it names.
func (c *Catalog) try(ctx context.Context, r delivery.Release, source []byte, registries []delivery.Registry) ([]string, error) {
	values := samples(r.Parameters)
	docs, err := c.render(ctx, r, source, values)
	if err != nil {
		return nil, err
	}
	faults := delivery.Check(delivery.Policy{
		Namespace: sampleNamespace, AnyHost: true, ConfigMaps: true, Externals: r.Externals, Registries: registries,
	}, docs)
	if err := fault.All(faults...); err != nil {
		return nil, err
	}
	if _, err := delivery.Use(docs); err != nil {
		return nil, err
	}
	if _, err := delivery.Encode(docs); err != nil {
		return nil, err
	}
	return delivery.Images(docs), c.reach(ctx, r, source, values, docs)
}

func (c *Catalog) render(ctx context.Context, r delivery.Release, source []byte, values map[string]string) ([]render.Document, error) {
	return c.Renderers.Release(ctx, render.Request{
		Release: r, Source: source, Namespace: sampleNamespace, Values: values, Versions: map[string]string{"kubernetes": sampleKubernetes},
	})
}

// samples are the defaults, and a sample of each value that has to be given.
func samples(declared []delivery.Parameter) map[string]string {
	out := map[string]string{}
	for _, p := range declared {
		if !p.Secret && (p.HasDefault || p.Required) {
			out[p.Name] = p.Sample()
		}
	}
	return out
}

// reach refuses parameters that are for customers to set, and by which they would choose an image, a kind, a name or an
// account (E4): with another value of theirs, the release is the same objects.
func (c *Catalog) reach(ctx context.Context, r delivery.Release, source []byte, values map[string]string, docs []render.Document) error {
	var settable []delivery.Parameter
	for _, p := range r.Parameters {
		if p.CustomerSettable && !p.Secret {
			settable = append(settable, p)
		}
	}
	if moved, err := c.moves(ctx, r, source, changed(values, settable...), docs); err != nil || !moved {
		return err
	}
	var errs []*fault.Error
	for _, p := range settable {
		moved, err := c.moves(ctx, r, source, changed(values, p), docs)
		if err != nil {
			return err
		}
		if moved {
			errs = append(errs, reaching(p.Name))
		}
	}
	if len(errs) == 0 { // none by itself, but all of them together
		errs = append(errs, reaching(settable[0].Name))
	}
	return fault.All(errs...)
}

func reaching(name string) *fault.Error {
	return fault.New(fault.Invalid, "parameter_reaches_identity",
		"%q is for customers to set, and changes which objects there are, or their images, containers or accounts", name).
		At("parameters").Curable("do not let customers set it, or use it in another place")
}

// moves tells whether a release rendered with other values is other objects. A chart may refuse a value that was made up;
// then nothing is known, and what a customer really sets is judged when it is set.
func (c *Catalog) moves(ctx context.Context, r delivery.Release, source []byte, values map[string]string, docs []render.Document) (bool, error) {
	other, err := c.render(ctx, r, source, values)
	switch {
	case err == nil:
		return !delivery.SameIdentity(docs, other), nil
	case fault.KindOf(err) == fault.Invalid:
		return false, nil
	}
	return false, err
}

func changed(values map[string]string, ps ...delivery.Parameter) map[string]string {
	out := maps.Clone(values)
	for _, p := range ps {
		out[p.Name] = p.Other()
	}
	return out
}
