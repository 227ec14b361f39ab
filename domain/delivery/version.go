package delivery

import (
	"cmp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"berth/domain/fault"
)

// Bounds of versions, in bytes.
const (
	MaxVersion    = 64
	MaxConstraint = 128
)

// Version is a semantic version in its one form: 1.2.3 or 1.2.3-rc.1. The zero value is no version.
type Version struct{ parsed *semver.Version }

// ParseVersion reads a version. Fault: Invalid version_invalid, with the form that was meant where that is clear.
func ParseVersion(text string) (Version, *fault.Error) {
	if len(text) <= MaxVersion {
		if v, err := semver.StrictNewVersion(text); err == nil && v.Metadata() == "" && v.String() == text {
			return Version{v}, nil
		}
	}
	return Version{}, invalid("version_invalid", "a version is strict semver without build metadata, of at most %d bytes", MaxVersion).
		Curable("write it like %s", meant(text))
}

// meant is how a version that was written loosely is written.
func meant(text string) string {
	if len(text) <= MaxVersion {
		if v, err := semver.NewVersion(text); err == nil {
			if bare, err := v.SetMetadata(""); err == nil {
				return bare.String()
			}
		}
	}
	return "1.2.3 or 1.2.3-rc.1"
}

// CheckVersion refuses what ParseVersion refuses.
func CheckVersion(text string) *fault.Error {
	_, err := ParseVersion(text)
	return err
}

// String returns the version as it was written.
func (v Version) String() string {
	if v.parsed == nil {
		return ""
	}
	return v.parsed.String()
}

// Compare is below zero where v is the lower one. No version is lower than any.
func (v Version) Compare(o Version) int {
	if v.parsed == nil || o.parsed == nil {
		return cmp.Compare(len(v.String()), len(o.String()))
	}
	return v.parsed.Compare(o.parsed)
}

// CompareVersions compares two texts as versions; what is no version is lower than any.
func CompareVersions(a, b string) int {
	x, _ := ParseVersion(a)
	y, _ := ParseVersion(b)
	return x.Compare(y)
}

// Range is a constraint on versions. The zero value admits every release.
type Range struct {
	text   string
	parsed *semver.Constraints
}

// ParseRange reads a constraint such as ">=1.2.0 <2.0.0", "^1.2" or "~1.2.3 || 2.x"; an empty one admits every release. A
// pre-release is admitted only where the constraint names a pre-release. Fault: Invalid constraint_invalid.
func ParseRange(text string) (Range, *fault.Error) {
	if text == "" {
		return Range{}, nil
	}
	if len(text) <= MaxConstraint {
		if c, err := semver.NewConstraint(text); err == nil {
			return Range{text, c}, nil
		}
	}
	return Range{}, invalid("constraint_invalid", "this is no constraint on versions of at most %d bytes", MaxConstraint).
		Curable(`write it like ">=1.2.0 <2.0.0" or "^1.2.0"`)
}

// CheckConstraint refuses what ParseRange refuses.
func CheckConstraint(text string) *fault.Error {
	_, err := ParseRange(text)
	return err
}

// String returns the constraint as it was written.
func (r Range) String() string { return r.text }

// Admits tells whether a version lies within the constraint.
func (r Range) Admits(v Version) bool {
	switch {
	case v.parsed == nil:
		return false
	case r.parsed == nil:
		return v.parsed.Prerelease() == ""
	}
	return r.parsed.Check(v.parsed)
}

// Admits tells whether a version lies within a constraint. What is no version, or no constraint, is not admitted.
func Admits(constraint, version string) bool {
	r, bad := ParseRange(constraint)
	v, _ := ParseVersion(version)
	return bad == nil && r.Admits(v)
}

// Highest returns the highest version that every one of the ranges admits; false where there is none. What is no version
// is passed over. Without a range, and where an empty one is given, only releases are considered, no pre-releases.
func Highest(versions []string, ranges ...Range) (string, bool) {
	if len(ranges) == 0 {
		ranges = []Range{{}}
	}
	var best Version
	for _, text := range versions {
		v, bad := ParseVersion(text)
		if bad == nil && v.Compare(best) > 0 && admitted(v, ranges) {
			best = v
		}
	}
	return best.String(), best.parsed != nil
}

func admitted(v Version, ranges []Range) bool {
	for _, r := range ranges {
		if !r.Admits(v) {
			return false
		}
	}
	return true
}

// checkRequirement accepts a requirement of an app.
func checkRequirement(app string, r Requirement) []*fault.Error {
	var errs []*fault.Error
	if err := CheckConstraint(r.Versions); err != nil {
		errs = append(errs, err.At("versions"))
	}
	if r.App == app {
		errs = append(errs, invalid("requirement_invalid", "an app does not require itself").At("app"))
	}
	if strings.TrimSpace(r.Versions) != r.Versions {
		errs = append(errs, invalid("constraint_invalid", "a constraint neither begins nor ends with a space").At("versions"))
	}
	return errs
}
