package delivery

import (
	"cmp"
	"slices"

	"github.com/Masterminds/semver/v3"
)

// Outline is a release in short: what choosing among versions needs.
type Outline struct {
	App        string
	Version    string
	Requires   []Requirement
	SchemaGate bool
}

// Catalogue are releases to choose from. It is not safe for concurrent use: it remembers the ranges that it read.
type Catalogue struct {
	releases map[string][]*outlined // highest first
	ranges   map[string]*semver.Constraints
}

type outlined struct {
	Outline
	at *semver.Version
}

// NewCatalogue orders releases. One whose version is out of form, which no release has, is left out.
func NewCatalogue(outlines []Outline) *Catalogue {
	c := &Catalogue{releases: make(map[string][]*outlined), ranges: make(map[string]*semver.Constraints)}
	all := make([]outlined, len(outlines))
	for i, o := range outlines {
		at, err := semver.StrictNewVersion(o.Version)
		if err != nil {
			continue
		}
		all[i] = outlined{o, at}
		c.releases[o.App] = append(c.releases[o.App], &all[i])
	}
	for _, list := range c.releases {
		slices.SortFunc(list, func(a, b *outlined) int {
			return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Version, a.Version))
		})
	}
	return c
}

// Within returns the versions of an app within a range, the highest first. The empty range is any, and as with every
// range a pre-release is within it only where the range names a pre-release.
func (c *Catalogue) Within(app, versions string) []string {
	out := make([]string, 0, len(c.releases[app]))
	for _, r := range c.within(app, versions) {
		out = append(out, r.Version)
	}
	return out
}

func (c *Catalogue) within(app, versions string) []*outlined {
	out := make([]*outlined, 0, len(c.releases[app]))
	for _, r := range c.releases[app] {
		if c.matches(versions, r.at) {
			out = append(out, r)
		}
	}
	return out
}

// matches says whether a version is within a range; nothing is within one that is out of form.
func (c *Catalogue) matches(versions string, v *semver.Version) bool {
	in, known := c.ranges[versions]
	if !known {
		text := cmp.Or(versions, "*")
		in, _ = semver.NewConstraint(text) // nil where it is out of form
		c.ranges[versions] = in
	}
	return in != nil && v != nil && in.Check(v)
}

// release returns a release; of one that is not known only its version is.
func (c *Catalogue) release(app, version string) *outlined {
	for _, r := range c.releases[app] {
		if r.Version == version {
			return r
		}
	}
	at, _ := semver.StrictNewVersion(version) // nil, which is within no range
	return &outlined{Outline{App: app, Version: version}, at}
}

// higher says whether version a is above b. What is out of form is above nothing, and nothing is above it.
func higher(a, b string) bool {
	va, errA := semver.StrictNewVersion(a)
	vb, errB := semver.StrictNewVersion(b)
	return errA == nil && errB == nil && va.GreaterThan(vb)
}
