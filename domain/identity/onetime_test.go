package identity_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

func newSecret(purpose identity.SecretPurpose) identity.NewSecret {
	return identity.NewSecret{
		ID: "pc_1", Hash: identity.HashSecret(purpose, "0123456789ABCDEF"), Purpose: purpose, Subject: "acme",
		Grants: "owner", ExpiresAt: start().Add(10 * time.Minute),
	}
}

// A secret works once, before it expires, and its refusals are named after its purpose.
func TestSpend(t *testing.T) {
	t.Parallel()
	for _, purpose := range []identity.SecretPurpose{identity.PairingCode, identity.JoinToken} {
		fresh := func() *identity.OneTimeSecret {
			s, err := identity.NewOneTimeSecret(newSecret(purpose), start())
			must(t, err)
			return s
		}
		s := fresh()
		last := start().Add(10*time.Minute - 1)
		must(t, s.Spend(last))
		used := s.Record()
		wantFault(t, s.Spend(last), fault.Unauthenticated, string(purpose)+"_used")
		wantFault(t, s.Spend(last.Add(time.Hour)), fault.Unauthenticated, string(purpose)+"_used")
		if s.Record() != used || !used.UsedAt.Equal(last.Truncate(time.Microsecond)) {
			t.Errorf("the first use was overwritten: %+v", s.Record())
		}
		s = fresh()
		wantFault(t, s.Spend(last.Add(1)), fault.Unauthenticated, string(purpose)+"_expired")
		if s.Record() != fresh().Record() {
			t.Errorf("a refusal used the secret up: %+v", s.Record())
		}
		again := identity.RestoreOneTimeSecret(used)
		wantFault(t, again.Spend(start()), fault.Unauthenticated, string(purpose)+"_used")
		wantFault(t, purpose.Unknown(), fault.Unauthenticated, string(purpose)+"_unknown")
	}
}

// A secret that one key used is that key's alone: it may come again within the secret's life, nobody else may, and
// nothing is changed by it. One that was used for no key is no key's.
func TestSpendBy(t *testing.T) {
	t.Parallel()
	one, other := [32]byte{1}, [32]byte{2}
	fresh := func() *identity.OneTimeSecret {
		s, err := identity.NewOneTimeSecret(newSecret(identity.JoinToken), start())
		must(t, err)
		return s
	}
	s := fresh()
	must(t, s.SpendBy(start(), one))
	used := s.Record()
	if used.UsedBy != one || !used.UsedAt.Equal(start()) {
		t.Fatalf("used is %+v", used)
	}
	s = identity.RestoreOneTimeSecret(used)
	end := used.ExpiresAt
	must(t, s.SpendBy(end.Add(-1), one))
	wantFault(t, s.SpendBy(end.Add(-1), other), fault.Unauthenticated, "join_token_used")
	wantFault(t, s.Spend(end.Add(-1)), fault.Unauthenticated, "join_token_used")
	if err := s.SpendBy(end, one); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the same key after the end: %v", err)
	}
	if s.Record() != used {
		t.Errorf("the first use was overwritten: %+v", s.Record())
	}
	wantFault(t, fresh().SpendBy(end, one), fault.Unauthenticated, "join_token_expired")
	wantFault(t, fresh().SpendBy(start(), [32]byte{}), fault.Invalid, "public_key_malformed")
	plain := fresh()
	must(t, plain.Spend(start()))
	wantFault(t, plain.SpendBy(start(), one), fault.Unauthenticated, "join_token_used")
	wantFault(t, plain.SpendBy(start(), [32]byte{}), fault.Invalid, "public_key_malformed")
}

// A join token is read in the one spelling it is written in, and different tokens stay different.
func TestJoinTokens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "secret")
		text, err := identity.FormatJoinToken(secret)
		must(t, err)
		canonical, err := identity.CanonicalJoinToken(text)
		must(t, err)
		if canonical != text || len(text) != 35 {
			t.Fatalf("%q is read as %q", text, canonical)
		}
		secret[rapid.IntRange(0, 19).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if other, err := identity.FormatJoinToken(secret); err != nil || other == text {
			t.Fatalf("two secrets share the token %q", text)
		}
	})
	good := "bj_" + strings.Repeat("a2z7", 8)
	must(t, errOf(identity.CanonicalJoinToken(good)))
	for _, text := range []string{
		"", "bj_", good[:34], good + "a", good + "\n", " " + good, strings.ToUpper(good), "bt_" + good[3:], good[:34] + "1", good[:34] + "=",
		good[:34] + "\x00",
	} {
		wantFault(t, errOf(identity.CanonicalJoinToken(text)), fault.Invalid, "join_token_malformed")
	}
	for _, n := range []int{0, 19, 21, 32} {
		wantFault(t, errOf(identity.FormatJoinToken(make([]byte, n))), fault.Invalid, "join_token_malformed")
	}
}

// A secret that was stored without an expiry is expired, not endless (LESSONS 24).
func TestSecretWithoutExpiry(t *testing.T) {
	t.Parallel()
	s := identity.RestoreOneTimeSecret(identity.OneTimeSecretRecord{Purpose: identity.JoinToken})
	wantFault(t, s.Spend(start()), fault.Unauthenticated, "join_token_expired")
}

// Secrets of different purposes never share a hash, so that one is not found as the other.
func TestSecretHashesArePerPurpose(t *testing.T) {
	t.Parallel()
	a, b := identity.HashSecret(identity.PairingCode, "X"), identity.HashSecret(identity.JoinToken, "X")
	if a == b || a != identity.HashSecret(identity.PairingCode, "X") {
		t.Error("the hash does not depend on the purpose, or not only on it and the text")
	}
}

// A secret without hash, purpose, subject or end is refused.
func TestNewOneTimeSecretValidates(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		slug   string
		change func(*identity.NewSecret)
	}{
		{"id_malformed", func(s *identity.NewSecret) { s.ID = "" }},
		{"secret_hash_missing", func(s *identity.NewSecret) { s.Hash = [32]byte{} }},
		{"secret_purpose_unknown", func(s *identity.NewSecret) { s.Purpose = "password" }},
		{"text_out_of_bounds", func(s *identity.NewSecret) { s.Subject = "" }},
		{"text_out_of_bounds", func(s *identity.NewSecret) { s.Grants = strings.Repeat("g", 513) }},
		{"validity_invalid", func(s *identity.NewSecret) { s.ExpiresAt = time.Time{} }},
		{"validity_invalid", func(s *identity.NewSecret) { s.ExpiresAt = start() }},
	} {
		s := newSecret(identity.PairingCode)
		c.change(&s)
		if _, err := identity.NewOneTimeSecret(s, start()); fault.SlugOf(err) != c.slug {
			t.Errorf("case %d: %v, want %s", i, err, c.slug)
		}
	}
}

// However a person types a code, it stands for the same sixteen symbols; different codes stay different.
func TestPairingCodeAsTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []byte { return rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(t, label) }
		secret, other := draw("secret"), draw("other")
		code, err := identity.FormatPairingCode(secret)
		must(t, err)
		canonical, err := identity.CanonicalPairingCode(code)
		must(t, err)
		if len(code) != 19 || strings.ReplaceAll(code, "-", "") != canonical {
			t.Fatalf("%q stands for %q", code, canonical)
		}
		typed := ""
		for _, c := range canonical {
			typed += rapid.SampledFrom([]string{"", "", "-", " "}).Draw(t, "gap") + rapid.SampledFrom(spellings(c)).Draw(t, "spelling")
		}
		if got, err := identity.CanonicalPairingCode(typed); err != nil || got != canonical {
			t.Fatalf("%q typed as %q stands for %q, %v", code, typed, got, err)
		}
		second, err := identity.FormatPairingCode(other)
		must(t, err)
		if (second == code) != (string(secret) == string(other)) {
			t.Fatalf("two secrets share the code %q", code)
		}
	})
}

func spellings(c rune) []string {
	s := string(c)
	out := []string{s, strings.ToLower(s)}
	switch c {
	case '0':
		out = append(out, "O", "o")
	case '1':
		out = append(out, "I", "i", "L", "l")
	}
	return out
}

// What is no pairing code is refused: wrong length, a letter that the alphabet leaves out, other marks.
func TestPairingCodeIsStrict(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{
		"", "-", "0123-4567-89AB-CDE", "0123-4567-89AB-CDEFG", "U123-4567-89AB-CDEF", "0123_4567_89AB_CDEF", "0123–4567–89AB–CDEF",
		"0123-4567-89AB-CDE\n", "0123-4567-89AB-CDE\x00", "0123-4567-89AB-CDEÉ", "0123-4567-89AB-CDEF" + strings.Repeat("-", 60),
	} {
		wantFault(t, errOf(identity.CanonicalPairingCode(typed)), fault.Invalid, "pairing_code_malformed")
	}
	for _, n := range []int{0, 9, 11, 16} {
		wantFault(t, errOf(identity.FormatPairingCode(make([]byte, n))), fault.Invalid, "pairing_code_malformed")
	}
}
