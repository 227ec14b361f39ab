package delivery

import (
	"slices"
	"time"

	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/ident"
)

// LeapBy is how far a leap goes beyond whatever is known, since unseen answers may be in flight (D4).
const LeapBy = 1 << 20

// Desired is the present desired state of a deployment: the head of its history. Every change makes another one, of the
// next revision, and leaves this one as it is.
type Desired struct{ record DesiredRecord }

// NewDesired makes the head before the first revision: nothing was ever signed.
func NewDesired(install, license string, now time.Time) *Desired {
	return &Desired{DesiredRecord{InstallID: install, License: license, At: ident.Instant(now)}}
}

// RestoreDesired makes one of what was stored.
func RestoreDesired(record DesiredRecord) *Desired { return &Desired{record} }

// Record returns what is to be stored.
func (v *Desired) Record() DesiredRecord { return v.record }

// App returns an app of the head, a tombstone too.
func (v *Desired) App(app string) (DesiredApp, bool) {
	if i := find(v.record.Apps, app); i >= 0 {
		return v.record.Apps[i], true
	}
	return DesiredApp{}, false
}

// Running returns the apps that are to run or are suspended: all but tombstones.
func (v *Desired) Running() []DesiredApp {
	return slices.DeleteFunc(slices.Clone(v.record.Apps), func(a DesiredApp) bool { return a.Removed })
}

// Sealed is this head with what was signed for it.
func (v *Desired) Sealed(digest, token string) *Desired {
	next := v.record
	next.Digest, next.Token = digest, token
	return &Desired{next}
}

// HandedOut notes that an agent was told of this revision at its enrolment: from now on an app is removed by a tombstone
// only, and what the agent may have held before is of no account.
func (v *Desired) HandedOut() *Desired {
	next := v.record
	next.Proven = max(next.Proven, next.Revision)
	return &Desired{next}
}

// Is tells whether nothing was written of a head since it was read: an enrolment and a claim change it, too, and make no
// revision.
func (v *Desired) Is(read DesiredRecord) bool {
	r := v.record
	return r.Revision == read.Revision && r.Digest == read.Digest && r.Proven == read.Proven && r.Claimed == read.Claimed &&
		r.Frozen == read.Frozen
}

// Enrolled tells whether any agent ever enrolled.
func (v *Desired) Enrolled() bool { return v.record.Proven > 0 }

// Usable refuses a frozen head: Conflict desired_state_frozen (D4).
func (v *Desired) Usable() error {
	if !v.record.Frozen {
		return nil
	}
	return fault.New(fault.Conflict, "desired_state_frozen",
		"an agent holds a revision that is not of this history: the database is an older copy").
		Curable("find out which history is right, then leap the desired state")
}

// Claimed notes that an agent says to hold a revision that is not of this history. The head is frozen: nobody is told of
// it, and nobody changes it. It reports whether that is new.
func (v *Desired) Claimed(revision int64) (next *Desired, changed bool) {
	record := v.record
	record.Frozen = true
	record.Claimed = max(record.Claimed, revision)
	return &Desired{record}, record.Frozen != v.record.Frozen || record.Claimed != v.record.Claimed
}

// Proved notes that an agent proved to hold a revision, by what was signed here. recorded is the digest that this
// history has of that revision, empty where it has none. One that is of this history changes nothing.
func (v *Desired) Proved(held Held, recorded string) (next *Desired, changed bool) {
	switch held.Verdict(v.record, recorded) {
	case HeldUnchanged, HeldOlder:
		return v, false
	case HeldBehind, HeldDiverged:
	}
	record := v.record
	record.Frozen = true
	record.Proven = max(record.Proven, held.Revision)
	return &Desired{record}, record.Frozen != v.record.Frozen || record.Proven != v.record.Proven
}

// Leap makes the head that is beyond every revision that was proved (D4); what was merely claimed moves nothing.
// Tombstones are dropped: they belong to a history that nobody is sure of, and a removal must not come of it. From here
// on whatever an agent holds below it is of no account. Conflict desired_state_exhausted.
func (v *Desired) Leap(now time.Time) (next *Desired, diff []Difference, err error) {
	record := v.record
	record.Revision = max(record.Revision, record.Proven) + LeapBy
	if record.Revision > ident.MaxCounter {
		return nil, nil, fault.New(fault.Conflict, "desired_state_exhausted", "there is no revision left to leap to")
	}
	record.Proven = record.Revision
	record.Frozen, record.Claimed = false, 0
	record.Apps = v.Running()
	record.At = ident.Instant(now)
	record.Digest, record.Token = "", ""
	return &Desired{record}, compare(v.record.Apps, record.Apps), nil
}

func find(apps []DesiredApp, app string) int {
	return slices.IndexFunc(apps, func(a DesiredApp) bool { return a.App == app })
}

// usageOf sums what apps use; what is suspended counts, since it comes back as it was.
func usageOf(apps []DesiredApp) entitlement.Usage {
	var sum entitlement.Usage
	for _, a := range apps {
		if !a.Removed {
			sum = sum.Add(a.Usage)
		}
	}
	return sum
}
