package catalog

import (
	"context"
	"strconv"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// CreateReleaseRequest describes one version of an app.
type CreateReleaseRequest struct {
	Actor      audit.Actor
	App        string
	Version    string
	Kind       delivery.SourceKind
	Files      map[string]string // manifests: YAML by name
	Chart      string            // helm: oci://host/repository:version, or a packaged chart in base64
	Parameters []delivery.Parameter
	Requires   []delivery.Requirement
	Externals  []string
	SchemaGate bool
}

// Created is a release, and whether it was made by this request or had been there, the same, before.
type Created struct {
	Release delivery.Release
	New     bool
}

// CreateRelease adds a release. The same release again answers as the first time. Faults: NotFound app_not_found; Conflict
// release_immutable for the version with another content; Invalid with everything that is wrong: those of
// delivery.NewRelease, requirement_unknown, of the renderer and of delivery.Check, each bad object by file, document and
// place, parameter_reaches_identity, chart_too_large, chart_invalid; those of registry.Charts.
func (c *Catalog) CreateRelease(ctx context.Context, in CreateReleaseRequest) (Created, error) {
	known, err := c.look(ctx, in)
	if err != nil {
		return Created{}, err
	}
	source, unsound := c.source(ctx, in, known.registries)
	release, wrong := delivery.NewRelease(delivery.Release{
		App: in.App, Version: in.Version, Kind: in.Kind, Source: delivery.Digest(source), Parameters: in.Parameters, Requires: in.Requires,
		Externals: in.Externals, SchemaGate: in.SchemaGate,
	}, c.Clock.Now())
	if err := together(wrong, known.missing, unsound); err != nil {
		return Created{}, err
	}
	if known.before != nil {
		return same(*known.before, release)
	}
	if release.Images, err = c.try(ctx, release, source, known.registries); err != nil {
		return Created{}, err
	}
	return c.add(ctx, in.Actor, release, source)
}

// together tells all that is wrong with a request at once; what is wrong with anything else comes first, and alone.
func together(errs ...error) error {
	var parts []*fault.Error
	for _, err := range errs {
		f, ok := fault.As(err)
		switch {
		case err == nil:
		case !ok || f.Kind != fault.Invalid:
			return err
		case len(f.Errors) > 0:
			parts = append(parts, f.Errors...)
		default:
			parts = append(parts, f)
		}
	}
	return fault.All(parts...)
}

// facts are what is known of a release's surroundings before it is made.
type facts struct {
	registries []delivery.Registry
	before     *delivery.Release // of the same version, where there is one
	missing    error             // of the apps that it requires
}

func (c *Catalog) look(ctx context.Context, in CreateReleaseRequest) (facts, error) {
	var out facts
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if _, err = r.Apps.Get(ctx, in.App); err != nil {
			return err
		}
		if out.registries, err = registries(ctx, r); err != nil {
			return err
		}
		if out.missing = required(ctx, r, in.Requires); out.missing != nil && fault.KindOf(out.missing) != fault.Invalid {
			return out.missing
		}
		before, err := r.Releases.Get(ctx, in.App, in.Version)
		switch {
		case err == nil:
			out.before = &before
		case fault.KindOf(err) != fault.NotFound:
			return err
		}
		return nil
	})
	return out, err
}

// required refuses requirements of apps that are not in the catalogue.
func required(ctx context.Context, r *store.Roles, requires []delivery.Requirement) error {
	ids := make([]string, 0, len(requires))
	for _, q := range requires[:min(len(requires), delivery.MaxRequirements)] {
		ids = append(ids, q.App)
	}
	there, err := r.Apps.Named(ctx, ids)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, app := range there {
		known[app.ID] = true
	}
	var errs []*fault.Error
	for i, id := range ids {
		if !known[id] {
			errs = append(errs, fault.New(fault.Invalid, "requirement_unknown", "there is no app %q", id).
				At("requires."+strconv.Itoa(i)+".app").Curable("create the app first: POST /api/v1/apps"))
		}
	}
	return fault.All(errs...)
}

// same answers for a version that is there already.
func same(before, release delivery.Release) (Created, error) {
	if before.Digest == release.Digest {
		return Created{Release: before}, nil
	}
	return Created{}, fault.New(fault.Conflict, "release_immutable", "%s %s exists with another content", before.App, before.Version).
		At("version").Curable("give the changed release a version of its own")
}

// add stores what was tried. Where another request was faster, the first one counts.
func (c *Catalog) add(ctx context.Context, actor audit.Actor, release delivery.Release, source []byte) (Created, error) {
	out := Created{Release: release, New: true}
	err := c.commit(ctx, actor, func(ctx context.Context, w *work) error {
		if _, err := w.Apps.Get(ctx, release.App); err != nil {
			return err
		}
		before, err := w.Releases.Get(ctx, release.App, release.Version)
		switch {
		case err == nil:
			out, err = same(before, release)
			return err
		case fault.KindOf(err) != fault.NotFound:
			return err
		}
		if err := w.Objects.Put(ctx, source); err != nil {
			return err
		}
		if err := w.Releases.Create(ctx, release); err != nil {
			return err
		}
		return w.note(ctx, "release.created", "app/"+release.App, map[string]string{
			"version": release.Version, "digest": release.Digest, "kind": string(release.Kind), "source": release.Source,
			"schema_gate": strconv.FormatBool(release.SchemaGate),
		})
	})
	if err != nil {
		return Created{}, err
	}
	return out, nil
}
