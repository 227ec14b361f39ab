package licensing

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/entitlement"
)

// CreateLicenseRequest describes a license.
type CreateLicenseRequest struct {
	Actor       audit.Actor
	Customer    string
	Environment entitlement.Environment
	Enforcement entitlement.Enforcement
	ExpiresAt   time.Time
	Grace       *time.Duration // nil for entitlement.DefaultGrace
	Quota       entitlement.Usage
}

// KeyedLicense is a license with its key, shown only here: what is kept is its hash (E1).
type KeyedLicense struct {
	License entitlement.LicenseRecord // without the hash
	Clear   string
}

// CreateLicense makes a license and its key. Faults: those of entitlement.NewLicense; NotFound customer_not_found;
// Unavailable keywrap_unavailable, pepper_changed; Internal pepper_unreadable.
func (l *Licensing) CreateLicense(ctx context.Context, in CreateLicenseRequest) (KeyedLicense, error) {
	id := l.IDs.New("lic")
	clear, hash, p, err := l.newKey(ctx, id)
	if err != nil {
		return KeyedLicense{}, err
	}
	var out entitlement.LicenseRecord
	err = l.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		license, err := entitlement.NewLicense(in.spec(id, hash), w.now)
		if err != nil {
			return err
		}
		if _, err := w.Customers.Get(ctx, in.Customer); err != nil {
			return at(err, "customer_not_found", "customer")
		}
		if err := l.still(ctx, w, p); err != nil {
			return err
		}
		if err := w.Licenses.Create(ctx, license); err != nil {
			return err
		}
		out = withoutHash(license)
		return w.note(ctx, "license.created", "license/"+id, createdDetail(out))
	})
	if err != nil {
		return KeyedLicense{}, err
	}
	return KeyedLicense{License: out, Clear: clear}, nil
}

func (in CreateLicenseRequest) spec(id string, hash [32]byte) entitlement.LicenseSpec {
	s := entitlement.LicenseSpec{
		ID: id, Customer: in.Customer, Environment: in.Environment, Enforcement: in.Enforcement, ExpiresAt: in.ExpiresAt,
		Grace: entitlement.DefaultGrace, Quota: in.Quota, KeyHash: hash,
	}
	if in.Grace != nil {
		s.Grace = *in.Grace
	}
	return s
}

func (l *Licensing) newKey(ctx context.Context, license string) (clear string, hash [32]byte, p *pepper, err error) {
	p, err = l.peppered(ctx)
	if err != nil {
		return "", hash, nil, err
	}
	clear = entitlement.FormatKey(license, l.IDs.Secret(entitlement.SecretSize))
	return clear, entitlement.HashKey(p.clear, clear), p, nil
}

func withoutHash(l *entitlement.License) entitlement.LicenseRecord {
	r := l.Record()
	r.KeyHash = [32]byte{}
	return r
}
