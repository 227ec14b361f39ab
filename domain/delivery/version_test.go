package delivery_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/delivery"
)

// A version has one form; a loose one is refused with the form that was meant.
func TestVersionsAreStrict(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"0.0.0", "1.2.3", "1.2.3-rc.1", "10.20.30", "1.0.0-alpha-x.7", "1.2.3-0"} {
		if err := delivery.CheckVersion(v); err != nil {
			t.Errorf("%q: %v", v, err)
		}
	}
	for v, cure := range map[string]string{
		"1.2": "1.2.0", "1": "1.0.0", "v1.2.3": "1.2.3", "1.2.3+meta": "1.2.3", "v1.2.3-rc.1+x": "1.2.3-rc.1", "V1.2.3": "1.2.3 or",
		"": "1.2.3 or", "latest": "1.2.3 or", "1.2.3.4": "1.2.3 or", "01.2.3": "1.2.3", "1.2.3-01": "1.2.3 or", " 1.2.3": "1.2.3 or",
		"1.2.3\n": "1.2.3 or", "1.2.x": "1.2.3 or", "99999999999999999999.0.0": "1.2.3 or", "1.2.3-" + strings.Repeat("a", 64): "1.2.3 or", "１.2.3": "1.2.3 or",
	} {
		if err := delivery.CheckVersion(v); err == nil || err.Slug != "version_invalid" || !strings.Contains(err.Cure, cure) {
			t.Errorf("%q: %v, cure %q", v, err, err.Cure)
		}
	}
}

// The order is that of semver, and no version at all is below every version.
func TestOrderOfVersions(t *testing.T) {
	t.Parallel()
	order := []string{"", "0.1.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got := delivery.CompareVersions(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q against %q: %d", a, b, got)
			}
		}
	}
	if delivery.CompareVersions("nonsense", "") != 0 || delivery.CompareVersions("nonsense", "0.0.0") >= 0 {
		t.Error("what is no version is not below every version")
	}
}

// A range admits what lies within; a pre-release only where the range names one.
func TestRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		constraint, version string
		want                bool
	}{
		{"", "1.2.3", true}, {"", "1.2.3-rc.1", false}, {"*", "1.2.3-rc.1", false}, {"*", "9.9.9", true},
		{">=1.2.0 <2.0.0", "1.2.0", true}, {">=1.2.0 <2.0.0", "2.0.0", false}, {">=1.2.0, <2.0.0", "1.9.9", true},
		{">=1.2.0 <2.0.0", "1.3.0-rc.1", false}, {">=1.2.0-0 <2.0.0", "1.3.0-rc.1", true}, {">=1.3.0-rc.1", "1.3.0-rc.1", true},
		{">=1.3.0-rc.2", "1.3.0-rc.1", false}, {"=1.3.0-rc.1", "1.3.0-rc.1", true}, {"1.3.0", "1.3.0-rc.1", false},
		{"^1.2", "1.9.0", true}, {"^1.2", "2.0.0", false}, {"~1.2.3", "1.2.9", true}, {"~1.2.3", "1.3.0", false},
		{"1.x || 3.x", "3.1.0", true}, {"1.x || 3.x", "2.1.0", false}, {"1.0.0 - 1.5.0", "1.5.0", true}, {"!=1.2.3", "1.2.3", false},
		{"nonsense", "1.2.3", false}, {"", "1.2", false}, {"*", "", false},
	} {
		if got := delivery.Admits(c.constraint, c.version); got != c.want {
			t.Errorf("%q and %q: %t", c.constraint, c.version, got)
		}
	}
	for _, c := range []string{"nonsense", ">>1", ">=", "||", "1.2.3 ||", strings.Repeat("1.0.0||", 40) + "1.0.0", ">=1.0.0\x00", "git://x"} {
		if err := delivery.CheckConstraint(c); err == nil || err.Slug != "constraint_invalid" || err.Cure == "" {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// The highest is among those given, admitted by every range, and none that is admitted is higher.
func TestHighest(t *testing.T) {
	t.Parallel()
	version := rapid.OneOf(rapid.StringMatching(`[0-3]\.[0-3]\.[0-3](-rc\.[0-2])?`), rapid.SampledFrom([]string{"", "1.2", "v1.0.0", "x"}))
	constraint := rapid.SampledFrom([]string{"", "*", ">=1.0.0", "^1.1.0", "<2.0.0-0", ">=1.0.0-0 <3.0.0", "~1.2.0-rc.1", "!=1.1.1"})
	rapid.Check(t, func(t *rapid.T) {
		versions := rapid.SliceOfN(version, 0, 12).Draw(t, "versions")
		texts := rapid.SliceOfN(constraint, 0, 3).Draw(t, "constraints")
		var ranges []delivery.Range
		for _, c := range texts {
			r, err := delivery.ParseRange(c)
			if err != nil {
				t.Fatal(err)
			}
			ranges = append(ranges, r)
		}
		if len(texts) == 0 {
			texts = []string{""}
		}
		fits := func(v string) bool {
			for _, c := range texts {
				if !delivery.Admits(c, v) {
					return false
				}
			}
			return true
		}
		got, found := delivery.Highest(versions, ranges...)
		seen := false
		for _, v := range versions {
			seen = seen || v == got
			if fits(v) && (!found || delivery.CompareVersions(v, got) > 0) {
				t.Fatalf("%q is higher than %q of %q under %q", v, got, versions, texts)
			}
		}
		if found && (!seen || !fits(got)) || !found && got != "" {
			t.Fatalf("%q of %q under %q", got, versions, texts)
		}
	})
}

// No text makes the readers panic; what is read is written as it was.
func FuzzVersions(f *testing.F) {
	f.Add("1.2.3", ">=1.0.0 <2.0.0 || ^3")
	f.Add("1.2.3-rc.1", "1.0.0 - 2.x")
	f.Add("v1", "~>1|2")
	f.Fuzz(func(t *testing.T, version, constraint string) {
		v, err := delivery.ParseVersion(version)
		if err == nil && v.String() != version {
			t.Fatalf("%q is written %q", version, v)
		}
		r, bad := delivery.ParseRange(constraint)
		if bad == nil && r.String() != constraint {
			t.Fatalf("%q is written %q", constraint, r)
		}
		if err == nil && bad == nil && r.Admits(v) != delivery.Admits(constraint, version) {
			t.Fatal("two answers")
		}
	})
}
