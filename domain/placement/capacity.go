package placement

import (
	"berth/domain/fault"
	"berth/domain/ident"
)

// Capacity is room for, or use by, tenants: their number and their bytes on disk. Zero is no room, not "unlimited".
type Capacity struct {
	Tenants int64
	Bytes   int64
}

// Boundless is what a node that never reported its own limits is taken to have: the operator's figure decides alone.
func Boundless() Capacity { return Capacity{Tenants: ident.MaxCounter, Bytes: ident.MaxCounter} }

// Check refuses negative figures and those above 2^53-1 as Invalid out_of_range, naming each under prefix.
func (c Capacity) Check(prefix string) error { return fault.All(c.faults(prefix)...) }

func (c Capacity) faults(prefix string) []*fault.Error {
	return []*fault.Error{ident.Counter(prefix+".tenants", c.Tenants), ident.Counter(prefix+".bytes", c.Bytes)}
}

// Least is the smaller of two capacities in each dimension.
func (c Capacity) Least(other Capacity) Capacity {
	return Capacity{Tenants: min(c.Tenants, other.Tenants), Bytes: min(c.Bytes, other.Bytes)}
}
