package idstest_test

import (
	"bytes"
	"testing"

	"berth/ports/ids/idstest"
)

// Ids have the length of a true id, sort, and can be foretold.
func TestIDsCount(t *testing.T) {
	t.Parallel()
	s := idstest.New(7)
	first, second := s.New("mig"), s.New("lic")
	if first != "mig_00000000000000000000000001" || second != "lic_00000000000000000000000002" {
		t.Fatalf("got %q, %q", first, second)
	}
}

// Secrets differ from one another and from those of another seed, and come again with the same seed, whatever their size.
func TestSecretsFollowTheSeed(t *testing.T) {
	t.Parallel()
	one, same, other := idstest.New(1), idstest.New(1), idstest.New(2)
	seen := map[string]bool{}
	for _, n := range []int{16, 32, 33, 100} {
		a, b, c := one.Secret(n), same.Secret(n), other.Secret(n)
		if len(a) != n || !bytes.Equal(a, b) || bytes.Equal(a, c) || seen[string(a[:16])] {
			t.Fatalf("secret of %d bytes: %x, %x, %x", n, a, b, c)
		}
		seen[string(a[:16])] = true
	}
	if got := one.Secret(0); len(got) != 0 {
		t.Fatalf("a secret of no bytes has %d", len(got))
	}
}
