package market

import (
	"context"

	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// Credentials are what a customer's platform sends with each request.
type Credentials struct {
	Install string
	Key     string // the license key in clear text
	Source  string // the address that the request came from, for the audit log
}

// nobody is looked for where a request names what can not be a deployment, so that it costs what any other does.
const nobody = "ins_00000000000000000000000000"

// decoy stands in for the license of a deployment that does not exist: no key has its hash.
var decoy = entitlement.RestoreLicense(entitlement.LicenseRecord{ //nolint:gochecknoglobals // immutable
	Status: entitlement.LicenseRevoked,
})

// Authenticate proves that a request comes from whom it names (E3). Every failure is the same Unauthenticated
// credentials_unknown after the same work: an unknown deployment, a wrong key, another license's key, a revoked license,
// and nothing given at all. It counts nothing: who fails too often is for the caller to say, and a valid pair is never
// asked.
func (m *Market) Authenticate(ctx context.Context, c Credentials) (Caller, error) {
	pepper, err := m.Pepper(ctx)
	if err != nil {
		return Caller{}, err
	}
	hash := entitlement.HashKey(pepper, c.Key)
	install, license := c.Install, decoy
	if !maybeInstall(install) {
		install = nobody
	}
	known := false
	err = m.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		license, known, err = licenseOf(ctx, r, install)
		return err
	})
	if err != nil {
		return Caller{}, err
	}
	matches := license.Matches(hash)
	if !matches || !known || license.Record().Status == entitlement.LicenseRevoked {
		return Caller{}, fault.New(fault.Unauthenticated, "credentials_unknown", "the install id and the license key do not belong together").
			Curable("send the headers Berth-Install-Id and Berth-License-Key as the vendor gave them")
	}
	return Caller{install: c.Install, license: license.Record().ID, source: c.Source}, nil
}

// licenseOf reads a deployment's license, and one that there is not for a deployment that there is not.
func licenseOf(ctx context.Context, r *store.Roles, install string) (*entitlement.License, bool, error) {
	id, known := nobody, false
	d, err := r.Deployments.Get(ctx, install)
	switch {
	case err == nil:
		id, known = d.Record().License, true
	case fault.KindOf(err) != fault.NotFound:
		return decoy, false, err
	}
	license, err := r.Licenses.Get(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		return decoy, false, nil
	}
	if err != nil {
		return decoy, false, err
	}
	return license, known, nil
}

// maybeInstall says whether a text can be the id of a deployment: other text is not put before a store.
func maybeInstall(id string) bool {
	if len(id) == 0 || len(id) > len(nobody)*2 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
