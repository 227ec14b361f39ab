package desired

import (
	"context"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

// FetchPackage gives a package out to whoever has its link, once (K1). Faults: NotFound package_not_found; Gone
// package_fetched, package_expired. Another request for the same link changes nothing. Content is that of what is given.
func (d *Desired) FetchPackage(ctx context.Context, link, source string) (delivery.PackageRecord, []byte, error) {
	key, err := secretKey(identity.PackageLink, link)
	if err != nil {
		return delivery.PackageRecord{}, nil, store.Missing("package").Because(err)
	}
	var out delivery.PackageRecord
	var content []byte
	err = d.commit(ctx, itself("package-link"), func(ctx context.Context, w *work) (err error) {
		if out, err = w.fetch(ctx, key); err != nil {
			return err
		}
		sealed, err := w.Objects.Get(ctx, out.Content.SHA256)
		if err != nil {
			return err
		}
		if content, err = delivery.OpenArchive(link, sealed); err != nil {
			return err
		}
		out.Content = delivery.BlobOf(content)
		return w.note(ctx, "package.fetched", out.InstallID, map[string]string{"package": out.ID, "source": short(source)})
	})
	return out, content, err
}

// fetch uses a link up, and notes that its package was fetched.
func (w *work) fetch(ctx context.Context, key string) (delivery.PackageRecord, error) {
	secret, err := w.Secrets.Get(ctx, key)
	if fault.KindOf(err) == fault.NotFound {
		return delivery.PackageRecord{}, store.Missing("package").Because(err)
	}
	if err != nil {
		return delivery.PackageRecord{}, err
	}
	p, err := w.Packages.Get(ctx, secret.Record().Subject)
	if err != nil {
		return p, err
	}
	if p, err = p.Fetch(w.now); err != nil {
		return p, err
	}
	if err := secret.Spend(w.now); err != nil {
		return p, err
	}
	if err := w.Secrets.Save(ctx, secret); err != nil {
		return p, err
	}
	return p, w.Packages.Save(ctx, p)
}
