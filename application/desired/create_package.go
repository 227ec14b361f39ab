package desired

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
	"berth/ports/tokens"
)

// CreatePackageRequest asks for a delivery package (K1).
type CreatePackageRequest struct {
	Actor      audit.Actor
	Install    string
	WithImages bool
	ApplyIn    *time.Duration // how long its enrolment token works; nil for Settings.AgentTokenLife
	FetchIn    *time.Duration // how long its link works; nil for Settings.PackageLife
}

// Package is a package that was made. Its URL is shown only here: what is kept is a hash of what is secret in it.
type Package struct {
	delivery.PackageRecord // with Content of what the link gives
	DownloadURL            string
}

// CreatePackage makes a package of the present desired state: what a cluster needs for its first install, or, where an
// agent has enrolled, to be rescued without the control plane. Its link works once. It holds no license key and no secret
// but what is sealed to the agent. Faults: NotFound deployment_not_found; Invalid expiry_out_of_range,
// package_too_large, package_images_unsupported; Conflict desired_state_frozen; Unavailable signing_key_missing,
// signer_unavailable, desired_state_contended.
func (d *Desired) CreatePackage(ctx context.Context, in CreatePackageRequest) (Package, error) {
	if in.WithImages {
		return Package{}, fault.New(fault.Invalid, "package_images_unsupported", "packages hold no images yet").At("with_images").
			Curable("leave it out, and give the cluster a mirror of the images")
	}
	return again(d, func() (Package, error) { return d.createPackage(ctx, in) })
}

// contents is what goes into a package.
type contents struct {
	head    delivery.DesiredRecord
	objects map[string][]byte
	anchors []TrustAnchor
	token   string // to enrol by; empty where there is an agent
	key     tokens.SigningKey
}

func (d *Desired) createPackage(ctx context.Context, in CreatePackageRequest) (Package, error) {
	now := d.Clock.Now()
	applyIn, fetchIn := orElse(in.ApplyIn, d.Settings.AgentTokenLife), orElse(in.FetchIn, d.Settings.PackageLife)
	if err := d.reviewed(ctx, in.Install, now); err != nil {
		return Package{}, err
	}
	c, err := d.contents(ctx, in.Install, now)
	if err != nil {
		return Package{}, err
	}
	p, err := d.packed(ctx, c, now)
	if err != nil {
		return Package{}, err
	}
	p.record, err = delivery.NewPackage(delivery.PackagePlan{
		ID: d.IDs.New("pkg"), InstallID: in.Install, Revision: c.head.Revision, Content: delivery.BlobOf(p.sealed),
		ApplyIn: applyIn, FetchIn: fetchIn,
	}, now)
	if err != nil {
		return Package{}, err
	}
	err = d.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		return d.keepPackage(ctx, w, c, p)
	})
	if err != nil {
		return Package{}, err
	}
	p.record.Content = p.archive
	return Package{p.record, d.Settings.PublicURL + "/packages/v1/" + p.link}, nil
}

// packed is a package that was put together, as it is kept.
type packed struct {
	record  delivery.PackageRecord
	archive delivery.Blob // as it is handed out
	sealed  []byte        // by the link
	link    string
}

func (d *Desired) packed(ctx context.Context, c contents, now time.Time) (packed, error) {
	archive, err := d.archive(ctx, c, now)
	if err != nil {
		return packed{}, err
	}
	link, err := identity.FormatSecret(identity.PackageLink, d.IDs.Secret(identity.DeliverySecretBytes))
	if err != nil {
		return packed{}, err
	}
	sealed, err := delivery.SealArchive(link, archive)
	return packed{archive: delivery.BlobOf(archive), sealed: sealed, link: link}, err
}

func orElse(asked *time.Duration, usual time.Duration) time.Duration {
	if asked == nil {
		return usual
	}
	return *asked
}

// reviewed makes sure that a package holds nothing that may not run any more.
func (d *Desired) reviewed(ctx context.Context, install string, now time.Time) error {
	view, err := d.Deployment(ctx, install)
	if err != nil || !delivery.Due(view.Deployment.ReviewAt, now) {
		return err
	}
	return d.Review(ctx, install)
}

func (d *Desired) contents(ctx context.Context, install string, now time.Time) (contents, error) {
	c := contents{objects: map[string][]byte{}}
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		s, err := read(ctx, r, install, now, false)
		if err != nil {
			return err
		}
		if err := s.Head.Usable(); err != nil {
			return err
		}
		if c.head = s.Head.Record(); c.head.Revision == 0 {
			return store.Missing("revision")
		}
		if s.Agent == nil {
			if c.token, err = identity.FormatSecret(identity.EnrolmentToken, d.IDs.Secret(identity.DeliverySecretBytes)); err != nil {
				return err
			}
		}
		if c.anchors, err = anchors(ctx, r, now); err != nil {
			return err
		}
		if c.key, err = signing(ctx, r, identity.KeyForPackages, now); err != nil {
			return err
		}
		return c.read(ctx, r)
	})
	return c, err
}

// read fetches every object that the head names.
func (c *contents) read(ctx context.Context, r *store.Roles) error {
	payload, list, err := payloadOf(ctx, r, c.head)
	if err != nil {
		return err
	}
	if list != nil {
		c.objects[payload.AppsAt.SHA256] = list
	}
	size := 0
	for _, name := range named(c.head, nil) {
		content, err := r.Objects.Read(ctx, c.head.InstallID, name)
		if err != nil {
			return err
		}
		if size += len(content); size > delivery.MaxPackage {
			return fault.New(fault.Invalid, "package_too_large", "a package has at most %d bytes", delivery.MaxPackage)
		}
		c.objects[name] = content
	}
	return nil
}

// payloadOf is what was signed of a head, and the list of apps where that is an object.
func payloadOf(ctx context.Context, r *store.Roles, head delivery.DesiredRecord) (delivery.Payload, []byte, error) {
	payload, err := delivery.PayloadOfToken(head.Token)
	if err != nil || payload.AppsAt == nil {
		return payload, nil, err
	}
	list, err := r.Objects.Read(ctx, head.InstallID, payload.AppsAt.SHA256)
	return payload, list, err
}

// keepPackage stores a package, its link and its enrolment token, unless the desired state is another one by now.
func (d *Desired) keepPackage(ctx context.Context, w *work, c contents, made packed) error {
	p := made.record
	head, err := w.DesiredStates.Get(ctx, p.InstallID)
	if err != nil {
		return err
	}
	if now := head.Record(); now.Revision != c.head.Revision || now.Digest != c.head.Digest || now.Frozen {
		return errMoved
	}
	if err := w.Objects.Put(ctx, made.sealed); err != nil {
		return err
	}
	if err := w.Packages.Create(ctx, p); err != nil {
		return err
	}
	if err := w.oneTime(ctx, identity.PackageLink, made.link, p.ID, p.ID, p.ExpiresAt); err != nil {
		return err
	}
	if c.token != "" {
		if err := w.oneTime(ctx, identity.EnrolmentToken, c.token, d.IDs.New("enrol"), p.InstallID, p.ApplyBefore); err != nil {
			return err
		}
	}
	return w.note(ctx, "package.created", p.InstallID, map[string]string{
		"package": p.ID, "revision": number(p.Revision), "sha256": made.archive.SHA256, "expires_at": p.ExpiresAt.Format(time.RFC3339),
		"apply_before": p.ApplyBefore.Format(time.RFC3339),
	})
}

func (w *work) oneTime(ctx context.Context, purpose identity.SecretPurpose, clear, id, about string, until time.Time) error {
	secret, err := identity.NewOneTimeSecret(identity.NewSecret{
		ID: id, Hash: identity.HashSecret(purpose, clear), Purpose: purpose, Subject: about, ExpiresAt: until,
	}, w.now)
	if err != nil {
		return err
	}
	return w.Secrets.Create(ctx, secret)
}
