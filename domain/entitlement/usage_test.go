package entitlement_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

func part(r *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64),
		rapid.Int64Range(math.MaxInt64-5, math.MaxInt64)).Draw(r, label)
}

func usage(r *rapid.T, label string) entitlement.Usage {
	return entitlement.Usage{
		Apps: part(r, label), Replicas: part(r, label), MilliCPU: part(r, label), MemoryBytes: part(r, label),
	}
}

func split(u entitlement.Usage) map[string]int64 {
	return map[string]int64{"apps": u.Apps, "replicas": u.Replicas, "cpu": u.MilliCPU, "memory": u.MemoryBytes}
}

// A quota judges each part as numbers without an end would, and names exactly those that are exceeded.
func TestQuotaIsExactHoweverLarge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		limit, used, more := usage(r, "limit"), usage(r, "used"), usage(r, "more")
		err := limit.Exceeded(used, more)
		any := false
		for name, max := range split(limit) {
			sum := new(big.Int).Add(big.NewInt(split(used)[name]), big.NewInt(split(more)[name]))
			over := split(more)[name] > 0 && sum.Cmp(big.NewInt(max)) > 0
			any = any || over
			if named := err != nil && strings.Contains(err.Detail, " "+name+" ("); named != over {
				r.Fatalf("%s: %d of %d used, %d more: named %v", name, split(used)[name], max, split(more)[name], named)
			}
		}
		if (err != nil) != any || err != nil && (err.Kind != fault.Conflict || err.Slug != "quota_exceeded" || err.Cure == "") {
			r.Fatalf("answered with %v", err)
		}
	})
}

// Sums never wrap, and a difference that was added comes back.
func TestUsageNeverWraps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := usage(r, "a"), usage(r, "b")
		for name, sum := range split(a.Add(b)) {
			x, y := split(a)[name], split(b)[name]
			exact := new(big.Int).Add(big.NewInt(x), big.NewInt(y))
			if exact.Cmp(big.NewInt(math.MaxInt64)) > 0 {
				exact = big.NewInt(math.MaxInt64)
			}
			if big.NewInt(sum).Cmp(exact) != 0 {
				r.Fatalf("%d and %d make %d", x, y, sum)
			}
			if left := split(a.Sub(b))[name]; left != max(x-y, 0) {
				r.Fatalf("%d without %d leaves %d", x, y, left)
			}
		}
		if a.Add(b) != b.Add(a) {
			r.Fatal("the order makes a difference")
		}
		if grown := a.Add(b.Sub(a)); grown.Sub(b) != a.Sub(b) {
			r.Fatalf("%+v with what %+v has more is %+v", a, b, grown)
		}
	})
}

// What shrinks passes though the quota was lowered beneath what runs.
func TestShrinkingPasses(t *testing.T) {
	t.Parallel()
	limit := entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1, MemoryBytes: 1}
	if err := limit.Exceeded(quota(), entitlement.Usage{}); err != nil {
		t.Fatal(err)
	}
	err := limit.Exceeded(quota(), entitlement.Usage{MilliCPU: 500})
	if err == nil || !strings.Contains(err.Detail, "cpu (4000m of 1m used, 500m more)") {
		t.Fatalf("answered with %v", err)
	}
}
