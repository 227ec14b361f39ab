package entitlement_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

const hour = time.Hour

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func quota() entitlement.Usage {
	return entitlement.Usage{Apps: 3, Replicas: 10, MilliCPU: 4000, MemoryBytes: 8 << 30}
}

func spec() entitlement.LicenseSpec {
	return entitlement.LicenseSpec{
		ID: "lic_01jq0000000000000000000001", Customer: "acme", Environment: entitlement.Production,
		Enforcement: entitlement.Enforce, ExpiresAt: noon().Add(100 * hour), Grace: 10 * hour, Quota: quota(),
		KeyHash: [32]byte{1},
	}
}

func license(tb testing.TB, change func(*entitlement.LicenseSpec)) *entitlement.License {
	tb.Helper()
	s := spec()
	if change != nil {
		change(&s)
	}
	l, err := entitlement.NewLicense(s, noon())
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func refused(tb testing.TB, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		tb.Fatalf("answered with %v, not with %v %s", err, kind, slug)
	}
}

// restored draws a license of any status, mode, times and grace.
func restored(r *rapid.T) *entitlement.License {
	return entitlement.RestoreLicense(entitlement.LicenseRecord{
		ID: spec().ID, Customer: "acme", Environment: entitlement.Production, Quota: quota(), Revision: 1,
		Status: rapid.SampledFrom([]entitlement.LicenseStatus{
			entitlement.LicenseActive, entitlement.LicenseActive, entitlement.LicenseSuspended, entitlement.LicenseRevoked,
		}).Draw(r, "status"),
		Enforcement: rapid.SampledFrom([]entitlement.Enforcement{entitlement.Enforce, entitlement.Observe}).Draw(r, "mode"),
		ExpiresAt:   someTime(r, "license expiry"),
		Grace:       time.Duration(rapid.Int64Range(0, 50).Draw(r, "grace")) * time.Second,
	})
}

// entitled draws an entitlement, withdrawn or not, or none at all.
func entitled(r *rapid.T) *entitlement.Entitlement {
	e := &entitlement.Entitlement{License: spec().ID, App: "shop", GrantedAt: noon()}
	switch rapid.IntRange(0, 5).Draw(r, "shape") {
	case 0:
		return nil
	case 1:
	case 2:
		e.ExpiresAt = someTime(r, "app expiry")
	case 3:
		e.WithdrawnAt = someTime(r, "withdrawn")
	default:
		e.ExpiresAt, e.WithdrawnAt = someTime(r, "app expiry"), someTime(r, "withdrawn")
	}
	return e
}

// someTime draws a second around noon: few enough that times coincide now and then.
func someTime(r *rapid.T, label string) time.Time {
	return noon().Add(time.Duration(rapid.Int64Range(-60, 60).Draw(r, label)) * time.Second)
}
