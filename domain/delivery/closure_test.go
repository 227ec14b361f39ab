package delivery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// outline reads "shop 1.0.0: db ^1, cache" as a release with what it requires.
func outline(text string) delivery.Outline {
	head, needs, _ := strings.Cut(text, ":")
	app, version, _ := strings.Cut(strings.TrimSpace(head), " ")
	o := delivery.Outline{App: app, Version: version}
	for n := range strings.SplitSeq(needs, ",") {
		if n = strings.TrimSpace(n); n != "" {
			need, versions, _ := strings.Cut(n, " ")
			o.Requires = append(o.Requires, delivery.Requirement{App: need, Versions: versions})
		}
	}
	return o
}

func outlines(texts ...string) []delivery.Outline {
	var out []delivery.Outline
	for _, t := range texts {
		out = append(out, outline(t))
	}
	return out
}

// wish reads "shop, db 1.0.0" as what is wanted, every app of the catalogue being allowed in any version.
func wish(catalogue []delivery.Outline, want string, installed map[string]string) delivery.Wish {
	allowed := map[string]string{}
	for _, o := range catalogue {
		allowed[o.App] = ""
	}
	w := delivery.Wish{Installed: installed, Allowed: only(allowed)}
	for _, o := range outlines(strings.Split(want, ", ")...) {
		w.Want = append(w.Want, delivery.Choice{App: o.App, Version: o.Version})
	}
	return w
}

func only(allowed map[string]string) func(string) (string, bool) {
	return func(app string) (string, bool) {
		versions, ok := allowed[app]
		return versions, ok
	}
}

func planTold(choices []delivery.Choice, faults []*fault.Error) string {
	var parts []string
	for _, c := range choices {
		parts = append(parts, c.App+" "+c.Version)
	}
	for _, f := range faults {
		parts = append(parts, f.Slug+"@"+f.Field+" ("+f.Cure+")")
	}
	return strings.Join(parts, ", ")
}

// Plans, and what is told where there is none.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catalogue []string
		want      string
		installed map[string]string
		allowed   map[string]string
		plan      string
	}{
		"the highest": {catalogue: []string{"shop 1.9.0", "shop 1.10.0", "shop 1.2.0"}, want: "shop", plan: "shop 1.10.0"},
		"the highest that goes with what is installed": {
			catalogue: []string{"db 1.0.0", "shop 2.0.0: db ^2", "shop 1.0.0: db ^1"}, want: "shop",
			installed: map[string]string{"db": "1.0.0"}, plan: "shop 1.0.0",
		},
		"what is needed comes first": {
			catalogue: []string{"a 1.0.0: z ^1", "z 1.0.0: m ^1", "m 1.0.0"}, want: "a, m, z", plan: "m 1.0.0, z 1.0.0, a 1.0.0",
		},
		"a choice is taken back where it leads nowhere": {
			catalogue: []string{"a 2.0.0: b ^2", "a 1.0.0: b ^1", "b 2.0.0", "b 1.0.0", "c 1.0.0: b ^1"}, want: "a, b, c",
			plan: "b 1.0.0, a 1.0.0, c 1.0.0",
		},
		"the first by name has the higher version": {
			catalogue: []string{"a 2.0.0", "a 1.0.0", "b 2.0.0: a ^1", "b 1.0.0: a ^2"}, want: "b, a", plan: "a 2.0.0, b 1.0.0",
		},
		"a diamond meets in the middle": {
			catalogue: []string{"top 1.0.0: left, right", "left 1.0.0: base ^1", "right 1.0.0: base >=1.2.0", "base 1.1.0", "base 1.3.0", "base 2.0.0"},
			want:      "top, left, right, base", plan: "base 1.3.0, left 1.0.0, right 1.0.0, top 1.0.0",
		},
		"a diamond that can not meet": {
			catalogue: []string{"left 1.0.0: base ^1", "right 1.0.0: base ^2", "base 1.1.0", "base 2.0.0"}, want: "left, right, base",
			plan: `dependency_conflict@left (bring base to a version within "^1" first, or choose another version of left)`,
		},
		"what is missing is named with all that it needs": {
			catalogue: []string{"shop 1.0.0: db ^1", "db 1.0.0: disk", "db 1.1.0: disk", "disk 3.0.0"}, want: "shop",
			plan: "dependency_missing@shop (install disk 3.0.0, then db 1.1.0 first)",
		},
		"what is missing and not allowed": {
			catalogue: []string{"shop 1.0.0: db ^1", "db 1.0.0"}, want: "shop", allowed: map[string]string{"shop": ""},
			plan: `dependency_missing@shop (ask the vendor for db in a version within "^1", with all that it needs)`,
		},
		"what is missing, twice": {
			catalogue: []string{"shop 1.0.0: db, cache", "db 1.0.0", "cache 1.0.0"}, want: "shop",
			plan: "dependency_missing@shop (install cache 1.0.0 first), dependency_missing@shop (install db 1.0.0 first)",
		},
		"what stays would not go with it": {
			catalogue: []string{"db 1.0.0", "db 2.0.0", "shop 1.0.0: db ^1"}, want: "db 2.0.0",
			installed: map[string]string{"db": "1.0.0", "shop": "1.0.0"},
			plan:      `dependency_conflict@db (choose a version of db within "^1", or change shop first)`,
		},
		"a circle of two": {
			catalogue: []string{"a 1.0.0: b", "b 1.0.0: a"}, want: "a, b 1.0.0",
			plan: "dependency_cycle@a (choose another version of one of them, or ask the vendor to break the circle), " +
				"dependency_cycle@b (choose another version of one of them, or ask the vendor to break the circle)",
		},
		"a circle with what is not installed": {
			catalogue: []string{"a 1.0.0: b", "b 1.0.0: a"}, want: "a",
			plan: "dependency_cycle@a (choose another version of one of them, or ask the vendor to break the circle)",
		},
		"a circle that an older version avoids": {
			catalogue: []string{"a 1.0.0: b", "b 1.0.0", "b 2.0.0: a"}, want: "a, b", plan: "b 1.0.0, a 1.0.0",
		},
		"itself": {
			catalogue: []string{"a 1.0.0: a"}, want: "a",
			plan: "dependency_cycle@a (choose another version of one of them, or ask the vendor to break the circle)",
		},
		"a pre-release is not chosen by itself": {catalogue: []string{"a 1.0.0", "a 2.0.0-rc.1"}, want: "a", plan: "a 1.0.0"},
		"a pre-release is not within a range that names none": {
			catalogue: []string{"a 2.0.0-rc.1", "a 1.0.0"}, want: "a 2.0.0-rc.1", allowed: map[string]string{"a": ">=1"},
			plan: "version_unknown@a (ask for one of the versions that there are, such as 1.0.0)",
		},
		"a pre-release is within a range that names one": {
			catalogue: []string{"a 2.0.0-rc.2", "a 2.0.0-rc.10", "a 1.0.0"}, want: "a", allowed: map[string]string{"a": ">=1.0.0-0"}, plan: "a 2.0.0-rc.10",
		},
		"a requirement is not met by a pre-release": {
			catalogue: []string{"shop 1.0.0: db >=1", "db 1.1.0-rc.1"}, want: "shop", installed: map[string]string{"db": "1.1.0-rc.1"},
			plan: `dependency_conflict@shop (bring db to a version within ">=1" first, or choose another version of shop)`,
		},
		"a version that is not allowed": {
			catalogue: []string{"a 1.0.0", "a 2.0.0"}, want: "a 2.0.0", allowed: map[string]string{"a": "^1"},
			plan: "version_unknown@a (ask for one of the versions that there are, such as 1.0.0)",
		},
		"an app that is not allowed": {
			catalogue: []string{"a 1.0.0"}, want: "a", allowed: map[string]string{}, plan: "version_unknown@a (ask the vendor for a version of a)",
		},
		"a range out of form holds nothing": {
			catalogue: []string{"a 1.0.0"}, want: "a", allowed: map[string]string{"a": "no range"}, plan: "version_unknown@a (ask the vendor for a version of a)",
		},
		"what is installed and unknown is left alone": {
			catalogue: []string{"a 1.0.0"}, want: "a", installed: map[string]string{"old": "0.1.0"}, plan: "a 1.0.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := outlines(c.catalogue...)
			w := wish(all, c.want, c.installed)
			if c.allowed != nil {
				w.Allowed = only(c.allowed)
			}
			if got := planTold(delivery.Plan(delivery.NewCatalogue(all), w)); got != c.plan {
				t.Errorf("got  %s\nwant %s", got, c.plan)
			}
		})
	}
}

type puzzle struct {
	catalogue []delivery.Outline
	allowed   map[string]string
	wish      delivery.Wish
}

func drawPuzzle(t *rapid.T) puzzle {
	apps := []string{"a", "b", "c", "d"}
	ranges := []string{"", "^1", "^2", ">=1.1.0", "<2", ">=1.0.0-0"}
	p := puzzle{allowed: map[string]string{}}
	p.wish = delivery.Wish{Installed: map[string]string{}, Allowed: only(p.allowed)}
	for _, app := range apps {
		for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1.0.0", "1.1.0", "2.0.0", "2.1.0-rc.1"}), 0, 3, rapid.ID).Draw(t, "versions of "+app) {
			o := delivery.Outline{App: app, Version: v}
			for _, need := range rapid.SliceOfNDistinct(rapid.SampledFrom(apps), 0, 2, rapid.ID).Draw(t, "needs") {
				o.Requires = append(o.Requires, delivery.Requirement{App: need, Versions: rapid.SampledFrom(ranges).Draw(t, "range")})
			}
			p.catalogue = append(p.catalogue, o)
			switch rapid.IntRange(0, 5).Draw(t, "role") {
			case 0:
				p.wish.Installed[app] = v
			case 1, 2, 3:
				p.allowed[app] = rapid.SampledFrom(ranges).Draw(t, "allowed")
			}
		}
	}
	for _, app := range rapid.SliceOfNDistinct(rapid.SampledFrom(apps), 1, 4, rapid.ID).Draw(t, "wanted") {
		c := delivery.Choice{App: app}
		if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
			c.Version = rapid.SampledFrom([]string{"1.0.0", "2.0.0", "2.1.0-rc.1"}).Draw(t, "version")
		}
		p.wish.Want = append(p.wish.Want, c)
	}
	return p
}

// puzzleWithin is the rule of ranges in its own words, apart from the library's matching of releases.
func puzzleWithin(versions, version string) bool {
	v := semver.MustParse(version)
	if v.Prerelease() != "" && !strings.Contains(versions, "-") {
		return false
	}
	if versions == "" {
		return true
	}
	c, err := semver.NewConstraint(versions)
	return err == nil && c.Check(v)
}

// stands says whether a set of versions is closed as far as the wanted apps are concerned.
func (p puzzle) stands(set map[string]string) bool {
	needs := map[string][]delivery.Requirement{}
	for _, o := range p.catalogue {
		if set[o.App] == o.Version {
			needs[o.App] = o.Requires
		}
	}
	wanted := map[string]bool{}
	for _, c := range p.wish.Want {
		wanted[c.App] = true
	}
	for app, list := range needs {
		for _, q := range list {
			if !wanted[app] && !wanted[q.App] {
				continue
			}
			if have := set[q.App]; have == "" || !puzzleWithin(q.Versions, have) {
				return false
			}
		}
	}
	for app := range wanted {
		if reaches(needs, app, app, len(set)+1) {
			return false
		}
	}
	return true
}

func reaches(needs map[string][]delivery.Requirement, from, to string, depth int) bool {
	for _, q := range needs[from] {
		if q.App == to || depth > 0 && reaches(needs, q.App, to, depth-1) {
			return true
		}
	}
	return false
}

// brute tries every combination, the highest versions of the first apps first.
func (p puzzle) brute() map[string]string {
	var apps []string
	options := map[string][]string{}
	for _, c := range p.wish.Want {
		apps = append(apps, c.App)
		allowed, ok := p.allowed[c.App]
		for _, o := range p.catalogue {
			if ok && o.App == c.App && puzzleWithin(allowed, o.Version) && (c.Version == "" || c.Version == o.Version) {
				options[c.App] = append(options[c.App], o.Version)
			}
		}
		slices.SortFunc(options[c.App], func(a, b string) int { return semver.MustParse(b).Compare(semver.MustParse(a)) })
	}
	slices.Sort(apps)
	set := maps.Clone(p.wish.Installed)
	for _, app := range apps {
		delete(set, app)
	}
	var try func(rest []string) bool
	try = func(rest []string) bool {
		if len(rest) == 0 {
			return p.stands(set)
		}
		for _, v := range options[rest[0]] {
			set[rest[0]] = v
			if try(rest[1:]) {
				return true
			}
		}
		delete(set, rest[0])
		return false
	}
	if !try(apps) {
		return nil
	}
	return set
}

// A plan is found exactly where trying everything finds one, and is the same; it is in order; where there is none,
// something is told, with a cure; and nothing of it depends on the order in which the question is put.
func TestPlanIsWhatTryingEverythingFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPuzzle(t)
		choices, faults := delivery.Plan(delivery.NewCatalogue(p.catalogue), p.wish)
		want := p.brute()
		if (want == nil) != (len(faults) > 0) || (want == nil) != (choices == nil) {
			t.Fatalf("%+v\ngot %s, by trying %v", p, planTold(choices, faults), want)
		}
		seen := map[string]bool{}
		for _, c := range choices {
			if want[c.App] != c.Version {
				t.Fatalf("%+v\ngot %s, by trying %v", p, planTold(choices, faults), want)
			}
			seen[c.App] = true
			for _, q := range p.needs(c) {
				if slices.ContainsFunc(p.wish.Want, func(w delivery.Choice) bool { return w.App == q.App }) && !seen[q.App] {
					t.Fatalf("%s comes before %s, which it needs", c.App, q.App)
				}
			}
		}
		for _, f := range faults {
			if f.Cure == "" || f.Field == "" || f.Kind != fault.Invalid {
				t.Fatalf("no cure, field or kind: %+v", f)
			}
		}
		slices.Reverse(p.catalogue)
		slices.Reverse(p.wish.Want)
		if again := planTold(delivery.Plan(delivery.NewCatalogue(p.catalogue), p.wish)); again != planTold(choices, faults) {
			t.Fatalf("got %s, and in another order %s", planTold(choices, faults), again)
		}
	})
}

func (p puzzle) needs(c delivery.Choice) []delivery.Requirement {
	for _, o := range p.catalogue {
		if o.App == c.App && o.Version == c.Version {
			return o.Requires
		}
	}
	return nil
}

// drawLayers is a catalogue without circles, in which things that are missing can mostly be had.
func drawLayers(t *rapid.T) puzzle {
	var p puzzle
	apps := []string{"a", "b", "c", "d"}
	for i, app := range apps {
		for _, v := range []string{"1.0.0", "2.0.0"} {
			o := delivery.Outline{App: app, Version: v}
			if rest := apps[i+1:]; len(rest) > 0 {
				for _, need := range rapid.SliceOfNDistinct(rapid.SampledFrom(rest), 0, 2, rapid.ID).Draw(t, "needs") {
					versions := rapid.SampledFrom([]string{"", "^1", "^2", ">=1.1.0"}).Draw(t, "range")
					o.Requires = append(o.Requires, delivery.Requirement{App: need, Versions: versions})
				}
			}
			p.catalogue = append(p.catalogue, o)
		}
	}
	p.wish = delivery.Wish{
		Want: []delivery.Choice{{App: "a"}}, Installed: map[string]string{}, Allowed: only(map[string]string{"a": "", "b": "", "c": "", "d": ""}),
	}
	return p
}

// What dependency_missing says to install first can be installed in that order, and makes the wish come true.
func TestCureOfAMissingDependencyIsOne(t *testing.T) {
	t.Parallel()
	cured := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawLayers(t)
		_, faults := delivery.Plan(delivery.NewCatalogue(p.catalogue), p.wish)
		if len(faults) != 1 || faults[0].Slug != "dependency_missing" {
			return
		}
		list, ok := strings.CutSuffix(strings.TrimPrefix(faults[0].Cure, "install "), " first")
		if !ok {
			return
		}
		cured++
		for _, o := range outlines(strings.Split(list, ", then ")...) {
			step := delivery.Wish{Want: []delivery.Choice{{App: o.App, Version: o.Version}}, Installed: p.wish.Installed, Allowed: p.wish.Allowed}
			if _, faults := delivery.Plan(delivery.NewCatalogue(p.catalogue), step); len(faults) > 0 {
				t.Fatalf("%+v\n%s can not be installed: %s", p, o.App, planTold(nil, faults))
			}
			p.wish.Installed[o.App] = o.Version
		}
		if _, faults := delivery.Plan(delivery.NewCatalogue(p.catalogue), p.wish); len(faults) > 0 {
			t.Fatalf("%+v\nafter all that: %s", p, planTold(nil, faults))
		}
	})
	if cured < 3 {
		t.Errorf("only %d cases were cured", cured)
	}
}

// However bad a catalogue is, the answer comes after a bounded number of tries.
func TestPlanIsBounded(t *testing.T) {
	t.Parallel()
	var all []delivery.Outline
	var want []string
	for app := range 12 {
		want = append(want, fmt.Sprintf("app-%02d", app))
		for version := range 12 {
			o := outline(fmt.Sprintf("app-%02d 1.%d.0", app, version))
			if app > 0 { // nothing goes with the one before it but by chance, and the last with nothing
				o.Requires = append(o.Requires, delivery.Requirement{App: "app-00", Versions: fmt.Sprintf("<1.%d.0", 12-app)})
			}
			all = append(all, o)
		}
	}
	last := outline("app-99 1.0.0: app-00 >=1.11.0")
	all = append(all, last)
	w := wish(all, strings.Join(append(want, "app-99"), ", "), nil)
	_, faults := delivery.Plan(delivery.NewCatalogue(all), w)
	if len(faults) == 0 || faults[0].Slug != "dependency_conflict" || faults[0].Cure == "" {
		t.Errorf("got %s", planTold(nil, faults))
	}
}

// thicket is a catalogue of apps that need one another in so many versions, and in the end what is not there, that no
// search comes to its end.
func thicket() []delivery.Outline {
	var out []delivery.Outline
	for k := range 9 {
		for v := range 25 {
			out = append(out, outline(fmt.Sprintf("a%d 1.0.%d: a%d", k, v, k+1)))
		}
	}
	return append(out, outline("a9 1.0.0: gone"))
}

// What is not found within the bound of a search for a cure is not called impossible, and the vendor is not blamed.
func TestACureThatIsNotFoundInTime(t *testing.T) {
	t.Parallel()
	catalogue := thicket()
	_, faults := delivery.Plan(delivery.NewCatalogue(catalogue), wish(catalogue, "a0 1.0.0", nil))
	if len(faults) == 0 || faults[0].Slug != "dependency_missing" || !strings.HasPrefix(faults[0].Cure, "install a1 ") {
		t.Fatalf("%+v", faults)
	}
}

// BenchmarkACureInAThicket is the worst that one app costs a list.
func BenchmarkACureInAThicket(b *testing.B) {
	catalogue := thicket()
	c, w := delivery.NewCatalogue(catalogue), wish(catalogue, "a0 1.0.0", nil)
	for b.Loop() {
		delivery.Plan(c, w)
	}
}
