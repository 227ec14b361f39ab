package access

import (
	"encoding/binary"
	"testing"

	"berth/domain/identity"
	"berth/ports/store"
)

func numbered(i int) (b beliefs) {
	binary.BigEndian.PutUint64(b.digest[:], uint64(i))
	return b
}

// However many beliefs are confirmed, no more than two generations of them are kept, and those that are asked about
// stay.
func TestConfirmedIsBounded(t *testing.T) {
	t.Parallel()
	var c confirmed
	p := store.Pulse{Origin: "o", Number: 1}
	c.note(numbered(0), p)
	for i := 1; i < 5*mostConfirmed; i++ {
		c.note(numbered(i), p)
		if i%1000 == 0 && !c.at(numbered(0), p) {
			t.Fatalf("what is asked about all the time was forgotten after %d others", i)
		}
		if n := len(c.young) + len(c.old); n > 2*mostConfirmed {
			t.Fatalf("%d beliefs are kept", n)
		}
	}
	if c.at(numbered(1), p) {
		t.Fatal("what nobody asks about is kept for ever")
	}
}

// A belief is confirmed at the pulse it was found true at, of that database, and at no other.
func TestConfirmedAtOnePulse(t *testing.T) {
	t.Parallel()
	var c confirmed
	p := store.Pulse{Origin: "o", Number: 7}
	c.note(numbered(1), p)
	for _, other := range []store.Pulse{{Origin: "o", Number: 6}, {Origin: "o", Number: 8}, {Origin: "", Number: 7}, {Origin: "p", Number: 7}} {
		if c.at(numbered(1), other) {
			t.Errorf("what was true at %+v is taken for true at %+v", p, other)
		}
	}
	if !c.at(numbered(1), p) || c.at(numbered(2), p) {
		t.Error("the belief itself is not told from another")
	}
}

// Nodes and beliefs that differ in anything, also in where one text ends and the next begins, have different digests.
func TestDigestsTellApart(t *testing.T) {
	t.Parallel()
	k := func(tenant string, generation, revision int64) store.Known {
		return store.Known{Tenant: tenant, Generation: generation, Revision: revision}
	}
	seen := map[beliefs]int{}
	for i, c := range []struct {
		node  string
		known []store.Known
	}{
		{"n", nil}, {"", nil}, {"n", []store.Known{{}}}, {"n", []store.Known{{}, {}}}, {"na", []store.Known{k("b", 1, 1)}},
		{"n", []store.Known{k("ab", 1, 1)}}, {"n", []store.Known{k("a", 1, 1), k("b", 1, 1)}},
		{"n", []store.Known{k("b", 1, 1), k("a", 1, 1)}}, {"n", []store.Known{k("a", 1, 2)}}, {"n", []store.Known{k("a", 2, 1)}},
		{"n", []store.Known{k("a", 1, 1)}}, {"n", []store.Known{k("a", 1, -1)}}, {"n", []store.Known{k("a", 300, 1)}},
		{"n", []store.Known{k("a\x01", 1, 1)}},
	} {
		d := PollRequest{Caller: identity.Caller{Node: c.node}, Known: c.known}.beliefs()
		if j, taken := seen[d]; taken {
			t.Errorf("cases %d and %d have one digest", j, i)
		}
		seen[d] = i
	}
}
