package audit_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/audit"
	"berth/domain/fault"
)

// A chain verifies as it was sealed, and page by page as well as at once.
func TestSealedChainVerifies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head, entries := drawChain(t, 0)
		mustVerify(t, head, entries)
		cut := rapid.IntRange(0, len(entries)).Draw(t, "page")
		middle, err := audit.VerifyFrom(audit.Head{}, entries[:cut])
		if err != nil {
			t.Fatalf("first page: %v", err)
		}
		end, err := audit.VerifyFrom(middle, entries[cut:])
		if err != nil || audit.CheckEnd(end, head) != nil {
			t.Fatalf("second page: %v, end %v, head %v", err, end, head)
		}
	})
}

// The chain that nothing was written to verifies, and only against the empty head.
func TestEmptyChain(t *testing.T) {
	t.Parallel()
	mustVerify(t, audit.Head{}, nil)
	head, entries := chain(1)
	wantBreak(t, audit.Verify(head, nil), 1, audit.DamageCut)
	wantBreak(t, audit.Verify(audit.Head{}, entries), 1, audit.DamageExtended)
	wantBreak(t, audit.Verify(audit.Head{Sequence: -1}, entries), 0, audit.DamageExtended)
}

// Any single change of any field of any entry is found, and named at that entry.
func TestAnyChangeIsFound(t *testing.T) {
	t.Parallel()
	for name, change := range fieldChanges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				head, entries := drawChain(t, 1)
				i := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
				e := copyEntry(entries[i])
				change(t, &e)
				entries[i] = e
				err := audit.Verify(head, entries)
				var b *audit.Break
				if !errors.As(err, &b) || b.Sequence != int64(i+1) {
					t.Fatalf("a change of entry %d was answered with %v", i+1, err)
				}
			})
		})
	}
}

func fieldChanges() map[string]func(*rapid.T, *audit.Entry) {
	other := func(t *rapid.T, s string) string {
		return rapid.String().Filter(func(o string) bool { return o != s }).Draw(t, "other")
	}
	return map[string]func(*rapid.T, *audit.Entry){
		"sequence": func(t *rapid.T, e *audit.Entry) {
			e.Sequence += rapid.Int64Range(1, 100).Draw(t, "by") * rapid.SampledFrom([]int64{1, -1}).Draw(t, "sign")
		},
		"at": func(t *rapid.T, e *audit.Entry) {
			e.At = e.At.Add(time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "by")))
		},
		"actor kind":   func(t *rapid.T, e *audit.Entry) { e.Actor.Kind = audit.ActorKind(other(t, string(e.Actor.Kind))) },
		"actor id":     func(t *rapid.T, e *audit.Entry) { e.Actor.ID = other(t, e.Actor.ID) },
		"actor source": func(t *rapid.T, e *audit.Entry) { e.Actor.Source = other(t, e.Actor.Source) },
		"action":       func(t *rapid.T, e *audit.Entry) { e.Action = other(t, e.Action) },
		"subject":      func(t *rapid.T, e *audit.Entry) { e.Subject = other(t, e.Subject) },
		"detail":       changeDetail,
		"previous":     func(t *rapid.T, e *audit.Entry) { flip(t, &e.Previous) },
		"hash":         func(t *rapid.T, e *audit.Entry) { flip(t, &e.Hash) },
	}
}

func flip(t *rapid.T, hash *[32]byte) {
	hash[rapid.IntRange(0, 31).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
}

func changeDetail(t *rapid.T, e *audit.Entry) {
	keys := slices.Sorted(maps.Keys(e.Detail))
	how := "add"
	if len(keys) > 0 {
		how = rapid.SampledFrom([]string{"add", "remove", "change", "rename"}).Draw(t, "how")
	} else {
		e.Detail = map[string]string{}
	}
	fresh := rapid.String().Filter(func(s string) bool { _, taken := e.Detail[s]; return !taken }).Draw(t, "fresh key")
	switch how {
	case "add":
		e.Detail[fresh] = rapid.String().Draw(t, "value")
	case "remove":
		delete(e.Detail, keys[0])
	case "change":
		e.Detail[keys[0]] += "x"
	case "rename":
		e.Detail[fresh] = e.Detail[keys[0]]
		delete(e.Detail, keys[0])
	}
}

// Bytes that move from one text field to the next change the hash: the encoding is unambiguous.
func TestNeighbouringFieldsDoNotRunTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDraft(t, "a"), drawDraft(t, "b")
		b.At = a.At
		same := a.Actor == b.Actor && a.Action == b.Action && a.Subject == b.Subject && maps.Equal(a.Detail, b.Detail)
		if (audit.Seal(audit.Head{}, a).Hash == audit.Seal(audit.Head{}, b).Hash) != same {
			t.Fatalf("equal hashes do not mean equal entries: %+v %+v", a, b)
		}
	})
	base := audit.Draft{Action: "ab", Subject: "c", Detail: map[string]string{"k": "vw", "l": ""}}
	for _, d := range []audit.Draft{
		{Action: "a", Subject: "bc", Detail: base.Detail},
		{Action: "abc", Detail: base.Detail},
		{Action: "ab", Subject: "c", Detail: map[string]string{"kv": "w", "l": ""}},
		{Action: "ab", Subject: "c", Detail: map[string]string{"k": "v", "l": "w"}},
	} {
		if audit.Seal(audit.Head{}, d).Hash == audit.Seal(audit.Head{}, base).Hash {
			t.Errorf("%+v hashes as %+v", d, base)
		}
	}
}

// Each kind of damage is told apart, and the first broken sequence is the one named.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		damage   audit.Damage
		sequence int64
		do       func([]audit.Entry) []audit.Entry
	}{
		{"first removed", audit.DamageGap, 1, func(e []audit.Entry) []audit.Entry { return e[1:] }},
		{"middle removed", audit.DamageGap, 3, func(e []audit.Entry) []audit.Entry { return slices.Delete(e, 2, 3) }},
		{"last removed", audit.DamageCut, 5, func(e []audit.Entry) []audit.Entry { return e[:4] }},
		{"all removed", audit.DamageCut, 1, func([]audit.Entry) []audit.Entry { return nil }},
		{"two swapped", audit.DamageReordered, 2, func(e []audit.Entry) []audit.Entry { e[1], e[3] = e[3], e[1]; return e }},
		{"one doubled", audit.DamageReordered, 3, func(e []audit.Entry) []audit.Entry { return slices.Insert(e, 2, e[1]) }},
		{"one added", audit.DamageExtended, 6, func(e []audit.Entry) []audit.Entry {
			return append(e, audit.Seal(e[4].Head(), draftOf(6)))
		}},
		{"one replaced and sealed anew", audit.DamageAltered, 4, func(e []audit.Entry) []audit.Entry {
			e[2] = audit.Seal(e[1].Head(), draftOf(77))
			return e
		}},
		{"all from one on sealed anew", audit.DamageAltered, 5, func(e []audit.Entry) []audit.Entry {
			for i := 2; i < len(e); i++ {
				e[i] = audit.Seal(e[i-1].Head(), draftOf(70+i))
			}
			return e
		}},
		{"two entries' texts swapped", audit.DamageAltered, 2, func(e []audit.Entry) []audit.Entry {
			e[1].Subject, e[3].Subject = e[3].Subject, e[1].Subject
			return e
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			head, entries := chain(5)
			err := audit.Verify(head, c.do(entries))
			wantBreak(t, err, c.sequence, c.damage)
			if fault.KindOf(err) != fault.Conflict || fault.SlugOf(err) != string(c.damage) {
				t.Errorf("the break is no conflict with its slug: %v", err)
			}
		})
	}
}

// The order in which a detail was written down, a later change of the draft, and the zone of its time do not matter.
func TestSealDependsOnValuesOnly(t *testing.T) {
	t.Parallel()
	a, b := draftOf(1), draftOf(1)
	a.Detail, b.Detail = map[string]string{}, map[string]string{}
	for i := range 30 {
		a.Detail[string(rune('a'+i))] = "v"
		b.Detail[string(rune('a'+29-i))] = "v"
	}
	b.At = b.At.In(time.FixedZone("east", 3600)).Add(999 * time.Nanosecond)
	first, second := audit.Seal(audit.Head{}, a), audit.Seal(audit.Head{}, b)
	if first.Hash != second.Hash {
		t.Error("the same draft sealed twice has two hashes")
	}
	a.Detail["a"] = "later"
	mustVerify(t, first.Head(), []audit.Entry{first})
	none, empty := draftOf(1), draftOf(1)
	none.Detail, empty.Detail = nil, map[string]string{}
	if audit.Seal(audit.Head{}, none).Hash != audit.Seal(audit.Head{}, empty).Hash {
		t.Error("no detail and an empty one differ")
	}
}

// The encoding is part of what is stored: a hash of today must be found right by every later version.
func TestHashIsStable(t *testing.T) {
	t.Parallel()
	head, _ := chain(2)
	const want = "b28861bbecd657b75c8671f88c05cb799393842185c90086184749f49e63ca9e"
	if got := hexOf(head.Hash); got != want {
		t.Errorf("the head's hash is %s, was %s", got, want)
	}
}
