package ident

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
)

// form is the contract's own words (API.md).
func form() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\z`) }

func good() []string {
	return []string{"a", "0", "acme", "a-b", "a--b", "0-0", "xn--bcher-kva", strings.Repeat("a", 63), "a" + strings.Repeat("-", 61) + "b"}
}

func bad() []string {
	return []string{
		"", "-", "-a", "a-", "A", "aCme", "a_b", "a.b", "a b", " a", "a ", "a\n", "\na", "a\x00", "a/b", "../a", "a%2fb", "é", "а", // the last is Cyrillic
		"\xff", "a\u200b", "１", strings.Repeat("a", 64), strings.Repeat("a", 1000),
	}
}

// Ids have the form of the contract, and a refusal names the field.
func TestCheckKeepsTheForm(t *testing.T) {
	t.Parallel()
	for _, id := range good() {
		if err := Check("id", id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range bad() {
		if err := Check("tenant.id", id); err == nil || err.Kind != fault.Invalid || err.Slug != "invalid_id" || err.Field != "tenant.id" {
			t.Errorf("%q: got %v", id, err)
		}
	}
}

// Any text is judged as the contract's expression judges it.
func TestCheckIsTheContractsExpression(t *testing.T) {
	t.Parallel()
	re := form()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[a-z0-9-]{0,66}`), rapid.SampledFrom(append(good(), bad()...)))
	rapid.Check(t, func(t *rapid.T) {
		id := text.Draw(t, "id")
		if got, want := Check("id", id) == nil, re.MatchString(id); got != want {
			t.Fatalf("%q: accepted %t, by the contract %t", id, got, want)
		}
	})
}

// What passes is safe in a path, a host name and a file name; what does not pass lacks one of the form's four parts.
func FuzzCheck(f *testing.F) {
	for _, id := range append(good(), bad()...) {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		foreign := strings.ContainsFunc(id, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", c) })
		want := id != "" && len(id) <= 63 && strings.Trim(id, "-") == id && !foreign
		if got := Check("id", id) == nil; got != want {
			t.Fatalf("%q: accepted %t, by its form %t", id, got, want)
		}
	})
}

// Counters are what survives a JSON number.
func TestCounterKeepsItsRange(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int64]bool{
		0: true, 1: true, MaxCounter: true, MaxCounter + 1: false, -1: false, -1 << 63: false, 1<<63 - 1: false,
	} {
		err := Counter("sequence", n)
		if (err == nil) != ok || err != nil && (err.Kind != fault.Invalid || err.Slug != "out_of_range" || err.Field != "sequence") {
			t.Errorf("%d: got %v", n, err)
		}
	}
	if float64(MaxCounter) == float64(MaxCounter-1) || float64(MaxCounter+1) != float64(MaxCounter+2) {
		t.Error("MaxCounter is not where a double stops to count")
	}
}

// An instant is UTC and whole microseconds, is the same when taken again, is never after the time itself, and equals
// itself with == whatever the time's zone or monotonic reading was.
func TestInstantIsWhatStoresKeep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		utc := time.Unix(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		zone := time.FixedZone("somewhere", rapid.IntRange(-14*3600, 14*3600).Draw(t, "offset"))
		got := Instant(utc.In(zone))
		switch {
		case got.Location() != time.UTC, got.Nanosecond()%1000 != 0:
			t.Fatalf("%s is kept as %s", utc, got)
		case got.After(utc), utc.Sub(got) >= time.Microsecond:
			t.Fatalf("%s is kept as %s", utc, got)
		case Instant(got) != got, Instant(utc) != got:
			t.Fatalf("%s is kept in two ways", utc)
		}
	})
	if now := time.Now(); Instant(now) != Instant(now.Round(0)) {
		t.Error("a monotonic reading is kept")
	}
	if !Instant(time.Time{}).IsZero() {
		t.Error("no time became one")
	}
}
