package placement

import (
	"time"

	"berth/domain/counting"
	"berth/domain/fault"
)

// LeaseTerms are how long a node's lease lasts and how much longer the control plane counts it (P9, §14).
type LeaseTerms struct {
	Duration     time.Duration // what a beat grants, counted by the node from when it sent the beat
	Margin       time.Duration // what the control plane waits beyond it
	DriftPercent int64         // and by how much clocks may differ in speed
}

// DefaultLeaseTerms are 15 s, 5 s and 10 %.
func DefaultLeaseTerms() LeaseTerms {
	return LeaseTerms{Duration: 15 * time.Second, Margin: 5 * time.Second, DriftPercent: 10}
}

// CountOut is how long the control plane sees a lease row unchanged before it calls the lease ended.
func (t LeaseTerms) CountOut() time.Duration {
	return t.Duration + t.Margin + t.Duration*time.Duration(t.DriftPercent)/100
}

// covering are terms by which a lease that was granted under other ones is counted, by a replica that was configured
// otherwise, or before the configuration changed.
func (t LeaseTerms) covering(granted time.Duration) LeaseTerms {
	t.Duration = max(t.Duration, granted)
	return t
}

// Check refuses terms under which two nodes could hold one lease. Fault: Invalid lease_terms_unsafe.
func (t LeaseTerms) Check() error {
	switch {
	case t.Duration < time.Second || t.Duration > 10*time.Minute:
		return fault.New(fault.Invalid, "lease_terms_unsafe", "a lease lasts between 1 s and 10 min").At("lease.duration")
	case t.Margin < t.Duration/10 || t.Margin < time.Second || t.Margin > 10*time.Minute:
		return fault.New(fault.Invalid, "lease_terms_unsafe",
			"the margin is at least 1 s and a tenth of the lease, and at most 10 min").At("lease.margin")
	case t.DriftPercent < 1 || t.DriftPercent > 100:
		return fault.New(fault.Invalid, "lease_terms_unsafe", "the drift allowance is 1 to 100 %%").At("lease.drift_percent")
	}
	return nil
}

// Watch counts leases for one replica of the control plane (P9): from when this replica first saw a row as it now is,
// on its own monotonic clock. It compares no wall clocks, starts anew with every process, for a row that went backwards,
// and for all rows when the database was restored or failed over.
type Watch struct {
	terms LeaseTerms
	rows  counting.Unchanged[string, Mark]
}

// NewWatch starts to count under the given terms.
func NewWatch(terms LeaseTerms) *Watch { return &Watch{terms: terms} }

// In says of which history are the rows that are asked about next. Another one than before starts every count anew: the
// node may have been granted a lease that is lost from the row.
func (w *Watch) In(origin string) { w.rows.In(origin) }

// Observe notes the row as this replica reads it at the monotonic instant now.
func (w *Watch) Observe(node string, mark Mark, now time.Duration) { w.rows.Observe(node, mark, now) }

// RanOut says whether the lease at mark ran out by this replica's count. A row it has not seen has not run out.
func (w *Watch) RanOut(node string, mark Mark, now time.Duration) bool {
	return w.rows.For(node, mark, now) > w.terms.covering(mark.Granted).CountOut()
}

// Forget drops every node that is not kept, so that the watch stays as big as the fleet.
func (w *Watch) Forget(kept func(node string) bool) { w.rows.Forget(kept) }
