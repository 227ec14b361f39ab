package fleet

import (
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
)

// Settings are what operators tune.
type Settings struct {
	TrustDomain string // of the nodes' SPIFFE ids (I1)
	Lease       placement.LeaseTerms
	Deadlines   placement.Deadlines

	DrainParallelism int           // migrations that may run at a time from a node that is being emptied (P12)
	DrainRetry       time.Duration // how long a tenant is left alone before a drain tries to move it again
	QueueBatch       int           // tenants of a region that one sweep of the placement queue places at most

	MaxWait time.Duration // the longest that a long poll waits
	Relook  time.Duration // how often a long poll reads without a hint
}

// DefaultSettings are the figures of DESIGN §14 and generous ones beside them.
func DefaultSettings(trustDomain string) Settings {
	return Settings{
		TrustDomain: trustDomain, Lease: placement.DefaultLeaseTerms(), Deadlines: placement.DefaultDeadlines(),
		DrainParallelism: 4, DrainRetry: time.Minute, QueueBatch: 200, MaxWait: 30 * time.Second, Relook: 5 * time.Second,
	}
}

// Check refuses settings that are out of bounds or do not fit one another, each as Invalid: lease_terms_unsafe,
// invalid_deadline, spiffe_id_malformed, invalid_setting.
func (s Settings) Check() error {
	if err := s.Lease.Check(); err != nil {
		return err
	}
	if err := s.Deadlines.Check(); err != nil {
		return err
	}
	if _, err := identity.RelayID(s.TrustDomain, "region", "node"); err != nil {
		return err
	}
	return fault.All(
		within("drain_parallelism", s.DrainParallelism, 1, 1000),
		within("drain_retry", s.DrainRetry, time.Second, 24*time.Hour),
		within("queue_batch", s.QueueBatch, 1, 1000),
		within("max_wait", s.MaxWait, time.Second, 30*time.Second),
		within("relook", s.Relook, 100*time.Millisecond, s.MaxWait),
		atLeast("deadlines.quiesce", s.Deadlines.Quiesce, 2*s.Relook,
			"a source that missed a hint learns of its step by looking again, and needs the time for it"),
		atLeast("deadlines.copy", s.Deadlines.Copy, 2*s.Relook,
			"a target that missed a hint learns of its step by looking again, and needs the time for it"),
		atLeast("deadlines.drain", s.Deadlines.Drain, s.Lease.Duration,
			"a source that does not report is fenced by its lease only, which lasts longer than this"),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}

func atLeast(field string, d, least time.Duration, why string) *fault.Error {
	if d >= least {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must be at least %s: %s", least, why).At(field)
}
