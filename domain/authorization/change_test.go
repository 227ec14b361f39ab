package authorization_test

import (
	"fmt"
	"slices"
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// logged is a tenant at revision 4: an owner with one handle, a member with two, the member revoked.
func logged(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.mustAdmit(authorization.Owner, 1)
	p := w.mustAdmit(authorization.Member, 2)
	if _, err := w.revoke(p, authorization.ByOperator("ada")); err != nil {
		t.Fatal(err)
	}
	return w
}

// A delta from each revision that is kept holds exactly the later changes; from the present one it is empty (A3).
func TestDeltaSince(t *testing.T) {
	t.Parallel()
	w := logged(t)
	for from, size := range map[int64]int{1: 8, 2: 6, 3: 3, 4: 0} {
		d, err := authorization.DeltaSince(w.tenant, 7, from, w.since(from))
		wantNone(t, err)
		if d.Tenant != tenantID || d.Generation != 7 || d.From != from || d.To != 4 || len(d.Changes) != size {
			t.Errorf("since %d: %+v", from, d)
		}
	}
}

// A revision that is unknown or compacted has no delta, even where the changes are at hand (A3).
func TestDeltaUnavailable(t *testing.T) {
	t.Parallel()
	w := logged(t)
	full := w.since(1)
	w.tenant.Compact(1)
	for from, changes := range map[int64][]authorization.Change{-1: full, 0: full, 1: full, 2: full[2:], 5: nil, 1 << 60: nil} {
		_, err := authorization.DeltaSince(w.tenant, 1, from, changes)
		wantSlug(t, err, fault.Gone, "delta_unavailable")
	}
	_, err := authorization.DeltaSince(w.tenant, 1, 3, full[5:])
	wantNone(t, err)
}

// A log with a hole, a part missing, something twice or out of order is never answered: a delta that forgot a
// revocation would leave it in force.
func TestDeltaFromTornLog(t *testing.T) {
	t.Parallel()
	w := logged(t)
	whole := w.since(1)
	torn := map[string][]authorization.Change{
		"empty": nil, "a revision left out": slices.Concat(whole[:2], whole[5:]), "the last one left out": whole[:5],
		"twice": slices.Concat(whole[:2], whole), "one change twice": slices.Concat(whole[:1], whole),
		"too early a start": w.since(0)[:1], "in disorder": slices.Concat(whole[2:5], whole[:2], whole[5:]),
		"from another revision": whole[2:],
	}
	for i := range whole {
		torn[fmt.Sprint("without part ", i)] = slices.Delete(slices.Clone(whole), i, i+1)
		torn[fmt.Sprint("cut before part ", i)] = whole[:i]
	}
	swapped := slices.Clone(whole)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	torn["parts in disorder"] = swapped
	for name, parts := range map[string]int{"a part of none": 0, "a part of fewer": 1, "a part of more": 9} {
		for i := range whole {
			odd := slices.Clone(whole)
			if odd[i].Parts = parts; parts != whole[i].Parts {
				torn[fmt.Sprint(name, " at ", i)] = odd
			}
		}
	}
	for name, changes := range torn {
		if _, err := authorization.DeltaSince(w.tenant, 1, 1, changes); fault.SlugOf(err) != "delta_unavailable" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A delta is bounded: whoever is further behind takes a snapshot, also where the store cut the log at the bound.
func TestDeltaIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.mustAdmit(authorization.Owner, 0)
	w.limits.PrincipalHandles = 10_000
	from := w.tenant.Revision()
	for range 8 {
		wantNone(t, w.grant(p, authorization.MaxDelta/8))
	}
	_, err := authorization.DeltaSince(w.tenant, 1, from, w.since(from))
	wantNone(t, err)
	wantNone(t, w.grant(p, 1))
	_, err = authorization.DeltaSince(w.tenant, 1, from, w.since(from))
	wantSlug(t, err, fault.Gone, "delta_unavailable")
}
