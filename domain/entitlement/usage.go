package entitlement

import (
	"fmt"
	"math"
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
)

// part is one of the quantities of a Usage, as the API names it.
type part struct {
	name string
	of   func(Usage) int64
	unit string
}

var parts = [...]part{ //nolint:gochecknoglobals // an immutable table
	{"apps", func(u Usage) int64 { return u.Apps }, ""},
	{"replicas", func(u Usage) int64 { return u.Replicas }, ""},
	{"cpu", func(u Usage) int64 { return u.MilliCPU }, "m"},
	{"memory", func(u Usage) int64 { return u.MemoryBytes }, ""},
}

// Add returns the sum; a part that would overflow stays at the most there is, which no quota allows.
func (u Usage) Add(more Usage) Usage {
	return Usage{
		Apps: add(u.Apps, more.Apps), Replicas: add(u.Replicas, more.Replicas),
		MilliCPU: add(u.MilliCPU, more.MilliCPU), MemoryBytes: add(u.MemoryBytes, more.MemoryBytes),
	}
}

// Sub returns what is left of u without less, in no part below zero. A change from one usage to another asks for
// after.Sub(before) more.
func (u Usage) Sub(less Usage) Usage {
	return Usage{
		Apps: sub(u.Apps, less.Apps), Replicas: sub(u.Replicas, less.Replicas),
		MilliCPU: sub(u.MilliCPU, less.MilliCPU), MemoryBytes: sub(u.MemoryBytes, less.MemoryBytes),
	}
}

func add(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func sub(a, b int64) int64 { return max(max(a, 0)-max(b, 0), 0) }

// Exceeded judges whether more fits beside what is used already (E4). A part of which nothing more is asked is never
// exceeded, so that what shrinks passes also where the quota was lowered beneath what runs. Fault: Conflict
// quota_exceeded, which names every part.
func (u Usage) Exceeded(used, more Usage) *fault.Error {
	var over []string
	for _, p := range parts {
		has, asks, limit := max(p.of(used), 0), p.of(more), p.of(u)
		if asks > 0 && asks > limit-has { // limit and has are not negative: this can not overflow
			over = append(over, fmt.Sprintf("%s (%d%s of %d%s used, %d%s more)", p.name, has, p.unit, limit, p.unit, asks, p.unit))
		}
	}
	if over == nil {
		return nil
	}
	return fault.New(fault.Conflict, "quota_exceeded", "the license's quota is exceeded: %s", strings.Join(over, ", ")).
		Curable("uninstall something of the license's deployments, or ask for a larger quota")
}

// checkQuota refuses a quota in which a part is missing: nothing is without a limit by accident.
func checkQuota(q Usage) error {
	var errs []*fault.Error
	for _, p := range parts {
		if n := p.of(q); n < 1 || n > ident.MaxCounter {
			errs = append(errs, fault.New(fault.Invalid, "out_of_range", "must lie between 1%s and 2^53-1", p.unit).
				At("quota."+p.name))
		}
	}
	return fault.All(errs...)
}
