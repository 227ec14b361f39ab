package entitlement

import (
	"time"

	"berth/domain/fault"
)

// The slugs of the commercial rules (E4).
const (
	LicenseInactive = "license_inactive"
	LicenseExpired  = "license_expired"
	NotEntitled     = "not_entitled"
	QuotaExceeded   = "quota_exceeded"
)

// Judge returns all that stands against changing an app on the license at now, each with its cure: Conflict
// license_inactive, not_entitled (also where e is nil: there is no entitlement), license_expired (of the license, and of
// the app). Grace is for what runs, not for changes.
func (l *License) Judge(e *Entitlement, now time.Time) []*fault.Error {
	var errs []*fault.Error
	if status := l.record.Status; status != LicenseActive {
		errs = append(errs, conflict(LicenseInactive, "the license is %s", status).Curable("%s", inactiveCure(status)))
	}
	entitled := e != nil && e.WithdrawnAt.IsZero()
	if !entitled {
		errs = append(errs, conflict(NotEntitled, "the app is not on the license").
			Curable("have the app put on the license"))
	}
	if !now.Before(l.record.ExpiresAt) {
		errs = append(errs, conflict(LicenseExpired, "the license expired at %s", l.record.ExpiresAt.Format(time.RFC3339)).
			Curable("have the license renewed"))
	}
	if entitled && !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt) {
		errs = append(errs, conflict(LicenseExpired, "the app's place on the license expired at %s",
			e.ExpiresAt.Format(time.RFC3339)).Curable("have the app renewed on the license"))
	}
	return errs
}

func conflict(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, slug, format, args...)
}

func inactiveCure(status LicenseStatus) string {
	if status == LicenseRevoked {
		return "ask for another license"
	}
	return "have the license resumed"
}

// Commercial says whether a rule that is not met is recorded and let pass: in observe mode, where it is commercial (E4).
// An app that never was on the license has no terms to observe and does not pass; neither does a revoked license.
func (l *License) Commercial(e *Entitlement, slug string) bool {
	if l.record.Enforcement != Observe || l.record.Status == LicenseRevoked {
		return false
	}
	switch slug {
	case LicenseInactive, LicenseExpired, QuotaExceeded:
		return true
	case NotEntitled:
		return e != nil
	}
	return false
}

// The reasons of Right.Why.
const (
	WhyRevoked    = "license revoked"
	WhySuspended  = "license suspended"
	WhyExpired    = "license expired"
	WhyAppExpired = "app expired"
	WhyWithdrawn  = "app withdrawn"
	WhyUnentitled = "app not on the license"
)

// Right says whether an app may run (E6).
type Right struct {
	Suspended bool
	Why       string    // one of the Why constants; empty where it may run
	RunUntil  time.Time // when an agent that is cut off suspends by itself (D1); zero in observe mode
	Next      time.Time // when this answer changes if nobody changes anything; zero: never
}

// Runs says whether an app may run at now. An expiry or a withdrawal bites after the grace, at its very end; what an
// operator does to a license bites at once. Observe mode suspends for a revoked license only, and for an app that never
// was on the license (e is nil), which has no terms that could be observed. Between changes it only ever goes from
// running to suspended, once.
func (l *License) Runs(e *Entitlement, now time.Time) Right {
	if e == nil {
		return Right{Suspended: true, Why: WhyUnentitled}
	}
	revoked := l.record.Status == LicenseRevoked
	if l.record.Enforcement == Observe {
		return Right{Suspended: revoked, Why: when(revoked, WhyRevoked)}
	}
	end, why := l.end(e)
	right := Right{RunUntil: end}
	switch {
	case revoked:
		right.Suspended, right.Why = true, WhyRevoked
	case l.record.Status == LicenseSuspended:
		right.Suspended, right.Why = true, WhySuspended
	case !now.Before(end):
		right.Suspended, right.Why = true, why
	default:
		right.Next = end
	}
	return right
}

// end is the instant from which an app may not run, grace included, and what ends there.
func (l *License) end(e *Entitlement) (time.Time, string) {
	end, why := l.record.ExpiresAt, WhyExpired
	if !e.ExpiresAt.IsZero() && e.ExpiresAt.Before(end) {
		end, why = e.ExpiresAt, WhyAppExpired
	}
	if !e.WithdrawnAt.IsZero() && e.WithdrawnAt.Before(end) {
		end, why = e.WithdrawnAt, WhyWithdrawn
	}
	return end.Add(l.record.Grace), why
}

func when(ok bool, text string) string {
	if ok {
		return text
	}
	return ""
}
