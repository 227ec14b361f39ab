package delivery

import (
	"maps"
	"slices"
	"strings"

	"berth/domain/fault"
)

// Wish is what is to be in a deployment.
type Wish struct {
	Want      []Choice          // each app once; without a version: the highest that is allowed and goes with the rest
	Installed map[string]string // versions by app of what is there; it stays as it is, but for what is wanted
	Above     map[string]string // by app, the version above which one is chosen where none is named

	// Allowed returns the range within which an app's versions may be chosen; false where the app may not be chosen.
	Allowed func(app string) (versions string, ok bool)
}

// Plan chooses a version for each app that is wanted and orders them, what is needed before what needs it. Whatever they
// require has to be wanted or installed: nothing is added that nobody asked for (E4). The same wish has the same answer,
// in whatever order it is put, and takes a bounded time.
//
// Faults, all of them: version_unknown; dependency_missing, with what to install first where that would do;
// dependency_conflict; dependency_cycle. The field is the app.
func Plan(c *Catalogue, w Wish) ([]Choice, []*fault.Error) {
	p := plan{Catalogue: c, wish: w, want: make(map[string]Choice), fixed: make(map[string]*outlined)}
	for _, choice := range w.Want {
		p.want[choice.App] = choice
	}
	for app, version := range w.Installed {
		if _, wanted := p.want[app]; !wanted {
			p.fixed[app] = c.release(app, version)
		}
	}
	open, unknown := p.candidates()
	if len(unknown) == 0 {
		s := search{catalogue: c, chosen: maps.Clone(p.fixed), open: maps.Clone(open), most: searchSteps}
		if s.solve() {
			return p.order(s.chosen), nil
		}
		if s.exhausted() {
			return nil, []*fault.Error{tooManyWays()}
		}
	}
	return nil, append(unknown, p.diagnose(open)...)
}

type plan struct {
	*Catalogue
	wish  Wish
	want  map[string]Choice
	fixed map[string]*outlined // what is installed and stays
}

// candidates are the versions that may be chosen, by app.
func (p plan) candidates() (map[string][]*outlined, []*fault.Error) {
	open := make(map[string][]*outlined)
	var unknown []*fault.Error
	for _, app := range slices.Sorted(maps.Keys(p.want)) {
		allowed, version := p.allowed(app), p.want[app].Version
		allowed = slices.DeleteFunc(allowed, func(r *outlined) bool {
			if version != "" {
				return r.Version != version
			}
			return p.wish.Above[app] != "" && !higher(r.Version, p.wish.Above[app])
		})
		if len(allowed) == 0 {
			unknown = append(unknown, p.versionUnknown(app, version))
			continue
		}
		open[app] = allowed
	}
	return open, unknown
}

func (p plan) allowed(app string) []*outlined {
	versions, ok := p.wish.Allowed(app)
	if !ok {
		return nil
	}
	return p.within(app, versions)
}

// versionUnknown does not say whether there is such a release that is not for this customer.
func (p plan) versionUnknown(app, version string) *fault.Error {
	f := fault.New(fault.Invalid, "version_unknown", "there is no version %s of %s for this license", version, app)
	if version == "" {
		f = fault.New(fault.Invalid, "version_unknown", "there is no version of %s for this license", app)
	}
	const most = 5
	var known []string
	for _, r := range p.allowed(app) {
		if known = append(known, r.Version); len(known) == most {
			break
		}
	}
	if len(known) == 0 {
		return f.At(app).Curable("ask the vendor for a version of %s", app)
	}
	return f.At(app).Curable("ask for one of the versions that there are, such as %s", strings.Join(known, ", "))
}

func tooManyWays() *fault.Error {
	return fault.New(fault.Invalid, "dependency_conflict", "no versions that go together were found").
		Curable("name the versions")
}

// order puts what is needed before what needs it, by name where that leaves it open.
func (p plan) order(chosen map[string]*outlined) []Choice {
	var out []Choice
	done := map[string]bool{}
	var visit func(app string)
	visit = func(app string) {
		choice, wanted := p.want[app]
		if !wanted || done[app] {
			return
		}
		done[app] = true
		for _, q := range sortedRequirements(chosen[app]) {
			visit(q.App)
		}
		choice.Version = chosen[app].Version
		out = append(out, choice)
	}
	for _, app := range slices.Sorted(maps.Keys(p.want)) {
		visit(app)
	}
	return out
}

// diagnose says what is wrong with what would be preferred: the version asked for, or else the highest of each app.
func (p plan) diagnose(open map[string][]*outlined) []*fault.Error {
	chosen := maps.Clone(p.fixed)
	for app, candidates := range open {
		chosen[app] = candidates[0]
	}
	var out []*fault.Error
	for _, app := range slices.Sorted(maps.Keys(open)) {
		r := chosen[app]
		for _, q := range sortedRequirements(r) {
			out = append(out, p.unmet(chosen, r, q))
		}
		out = append(out, p.refusedBy(r)...)
		if way := cycle(chosen, r); way != nil {
			out = append(out, cyclic(app, way))
		}
	}
	return slices.DeleteFunc(out, func(f *fault.Error) bool { return f == nil })
}

// unmet says what is wrong with one requirement of what is wanted; nil where nothing is.
func (p plan) unmet(chosen map[string]*outlined, r *outlined, q Requirement) *fault.Error {
	if q.App == r.App {
		return nil // told as a cycle
	}
	have, ok := chosen[q.App]
	_, wanted := p.want[q.App]
	switch {
	case ok && p.matches(q.Versions, have.at):
		return nil
	case ok:
		return conflict(r, q, have.Version).At(r.App)
	case wanted:
		return nil // told as version_unknown
	}
	return p.missing(chosen, r, q)
}

func conflict(r *outlined, q Requirement, have string) *fault.Error {
	return fault.New(fault.Invalid, "dependency_conflict", "%s %s needs %s in a version within %q, and has %s",
		r.App, r.Version, q.App, anyVersion(q.Versions), have).
		Curable("bring %s to a version within %q first, or choose another version of %s", q.App, anyVersion(q.Versions), r.App)
}

// refusedBy says which of what stays would not go with a version that is wanted.
func (p plan) refusedBy(r *outlined) []*fault.Error {
	var out []*fault.Error
	for _, app := range slices.Sorted(maps.Keys(p.fixed)) {
		for _, q := range sortedRequirements(p.fixed[app]) {
			if q.App == r.App && !p.matches(q.Versions, r.at) {
				f := fault.New(fault.Invalid, "dependency_conflict", "%s %s, which is installed, needs %s in a version within %q, not %s",
					app, p.fixed[app].Version, r.App, anyVersion(q.Versions), r.Version)
				out = append(out, f.At(r.App).Curable("choose a version of %s within %q, or change %s first", r.App, anyVersion(q.Versions), app))
			}
		}
	}
	return out
}

func cyclic(app string, way []string) *fault.Error {
	return fault.New(fault.Invalid, "dependency_cycle", "apps need one another in a circle: %s", strings.Join(way, " → ")).
		At(app).Curable("choose another version of one of them, or ask the vendor to break the circle")
}

// missing says what would have to be installed first.
func (p plan) missing(chosen map[string]*outlined, r *outlined, q Requirement) *fault.Error {
	f := fault.New(fault.Invalid, "dependency_missing", "%s %s needs %s in a version within %q, which is not installed",
		r.App, r.Version, q.App, anyVersion(q.Versions)).At(r.App)
	s, found := p.complete(chosen, q.App, false)
	if found {
		return f.Curable("install %s first", strings.Join(p.added(chosen, s.chosen), ", then "))
	}
	if s.exhausted() {
		return f.Curable("install %s in a version within %q first", q.App, anyVersion(q.Versions))
	}
	if s, found := p.complete(chosen, q.App, true); found {
		if way := cycle(s.chosen, r); way != nil {
			return cyclic(r.App, way)
		}
		return cyclic(r.App, circle(s.chosen))
	}
	return f.Curable("ask the vendor for %s in a version within %q, with all that it needs", q.App, anyVersion(q.Versions))
}

// complete looks for versions of an app that is missing, and of all that it needs, which go with what was chosen.
func (p plan) complete(chosen map[string]*outlined, app string, cycles bool) (s *search, found bool) {
	s = &search{
		catalogue: p.Catalogue, chosen: maps.Clone(chosen), open: map[string][]*outlined{app: p.allowed(app)}, extend: p.allowed,
		cycles: cycles, most: cureSteps,
	}
	return s, s.solve()
}

// added lists what was added to what was chosen, what is needed first.
func (p plan) added(before, after map[string]*outlined) []string {
	more := plan{Catalogue: p.Catalogue, want: make(map[string]Choice)}
	for app := range after {
		if _, there := before[app]; !there {
			more.want[app] = Choice{App: app}
		}
	}
	var out []string
	for _, c := range more.order(after) {
		out = append(out, c.App+" "+c.Version)
	}
	return out
}

// circle returns one circle among what was chosen.
func circle(chosen map[string]*outlined) []string {
	for _, app := range slices.Sorted(maps.Keys(chosen)) {
		if way := cycle(chosen, chosen[app]); way != nil {
			return way
		}
	}
	return nil
}
