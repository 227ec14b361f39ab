package enginetest

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"berth/ports/engine"
	"berth/ports/internal/law"
)

// Safe opens the identity that is kept in one place, each time as a process does that starts.
type Safe struct {
	Open func(tb testing.TB) engine.Identity
}

// RunIdentity checks an implementation of engine.Identity. safe makes an empty one.
func RunIdentity(t *testing.T, safe func(tb testing.TB) Safe) {
	t.Helper()
	law.Run(t, identityLaws(), safe)
}

func identityLaws() []law.Law[Safe] {
	return []law.Law[Safe]{
		{Name: "nothing is kept at first", Check: emptyAtFirst},
		{Name: "a prepared key survives", Check: preparedSurvives},
		{Name: "preparing leaves the current one alone", Check: preparingIsApart},
		{Name: "certificate and key change together", Check: installsBoth},
		{Name: "an installed key is prepared no more", Check: installedIsNotPrepared},
		{Name: "spent tokens are remembered", Check: remembersTokens},
	}
}

func keyOf(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func credentialOf(n byte) engine.Credential {
	return engine.Credential{Chain: [][]byte{bytes.Repeat([]byte{n}, 300), {n, 2}}, Key: keyOf(n)}
}

func emptyAtFirst(tb testing.TB, s Safe) {
	tb.Helper()
	i := s.Open(tb)
	_, current, err := i.Current(tb.Context())
	ok(tb, err)
	_, prepared, err := i.Prepared(tb.Context())
	ok(tb, err)
	spent, err := i.Spent(tb.Context(), [32]byte{1})
	ok(tb, err)
	if current || prepared || spent {
		tb.Fatalf("there is something: %v %v %v", current, prepared, spent)
	}
}

func hasPrepared(tb testing.TB, s Safe, n byte, purpose string) {
	tb.Helper()
	next, found, err := s.Open(tb).Prepared(tb.Context())
	ok(tb, err)
	if !found || !next.Key.Equal(keyOf(n)) || next.For != purpose {
		tb.Fatalf("prepared is %v for %q", found, next.For)
	}
}

func hasCurrent(tb testing.TB, s Safe, n byte) {
	tb.Helper()
	c, found, err := s.Open(tb).Current(tb.Context())
	ok(tb, err)
	want := credentialOf(n)
	if !found || !c.Key.Equal(want.Key) || len(c.Chain) != 2 || !bytes.Equal(c.Chain[0], want.Chain[0]) || !bytes.Equal(c.Chain[1], want.Chain[1]) {
		tb.Fatalf("current is another than %d, or its key is: %v", n, found)
	}
}

func preparedSurvives(tb testing.TB, s Safe) {
	tb.Helper()
	ok(tb, s.Open(tb).Prepare(tb.Context(), engine.NextKey{Key: keyOf(1), For: "enrol abc"}))
	hasPrepared(tb, s, 1, "enrol abc")
	ok(tb, s.Open(tb).Prepare(tb.Context(), engine.NextKey{Key: keyOf(2), For: "rotate 0123"}))
	hasPrepared(tb, s, 2, "rotate 0123")
}

func preparingIsApart(tb testing.TB, s Safe) {
	tb.Helper()
	i := s.Open(tb)
	ok(tb, i.Install(tb.Context(), credentialOf(1)))
	ok(tb, i.Prepare(tb.Context(), engine.NextKey{Key: keyOf(2), For: "rotate"}))
	hasCurrent(tb, s, 1)
	hasPrepared(tb, s, 2, "rotate")
}

func installsBoth(tb testing.TB, s Safe) {
	tb.Helper()
	for n := range byte(4) {
		ok(tb, s.Open(tb).Install(tb.Context(), credentialOf(n+1)))
		hasCurrent(tb, s, n+1)
	}
}

func installedIsNotPrepared(tb testing.TB, s Safe) {
	tb.Helper()
	i := s.Open(tb)
	ok(tb, i.Prepare(tb.Context(), engine.NextKey{Key: keyOf(1), For: "rotate"}))
	ok(tb, i.Install(tb.Context(), credentialOf(1)))
	if _, found, err := s.Open(tb).Prepared(tb.Context()); err != nil || found {
		tb.Fatalf("the installed key is still prepared: %v %v", found, err)
	}
}

func remembersTokens(tb testing.TB, s Safe) {
	tb.Helper()
	for n := range byte(16) {
		ok(tb, s.Open(tb).Spend(tb.Context(), [32]byte{n}))
	}
	ok(tb, s.Open(tb).Spend(tb.Context(), [32]byte{3}))
	for n := range byte(16) {
		if spent, err := s.Open(tb).Spent(tb.Context(), [32]byte{n}); err != nil || !spent {
			tb.Fatalf("token %d is forgotten: %v", n, err)
		}
	}
	if spent, err := s.Open(tb).Spent(tb.Context(), [32]byte{99}); err != nil || spent {
		tb.Fatalf("a token that nobody spent is remembered: %v", err)
	}
}
