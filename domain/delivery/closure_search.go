package delivery

import (
	"cmp"
	"maps"
	"slices"
)

// searchSteps bounds how many versions are tried before a plan is given up: real catalogues need a handful.
const searchSteps = 10_000

// cureSteps bounds the search for what would help where something is missing: a list of apps makes it for each of them,
// twice for each that they need.
const cureSteps = 500

// search chooses versions one app after the other, and takes back what leads nowhere. Apps are taken by name and
// versions from the highest, so that the same question always has the same answer.
type search struct {
	catalogue *Catalogue
	chosen    map[string]*outlined
	open      map[string][]*outlined // apps to be decided on, with what may be chosen
	extend    func(app string) []*outlined
	cycles    bool // whether cycles are let pass: to tell them from conflicts
	most      int  // how many steps it may take
	steps     int
}

// solve decides on every open app; false where there is no way, or none was found within the bound.
func (s *search) solve() bool {
	app, candidates := s.next()
	if app == "" {
		return true
	}
	delete(s.open, app)
	for _, r := range candidates {
		if s.steps++; s.steps > s.most {
			break
		}
		if !s.fits(r) {
			continue
		}
		s.chosen[app] = r
		opened := s.reach(r)
		if s.solve() {
			return true
		}
		delete(s.chosen, app)
		for _, o := range opened {
			delete(s.open, o)
		}
	}
	s.open[app] = candidates
	return false
}

func (s *search) exhausted() bool { return s.steps > s.most }

func (s *search) next() (string, []*outlined) {
	if len(s.open) == 0 {
		return "", nil
	}
	app := slices.Min(slices.Collect(maps.Keys(s.open)))
	return app, s.open[app]
}

// reach opens what a release needs and nothing was decided on, where the search may add apps.
func (s *search) reach(r *outlined) []string {
	if s.extend == nil {
		return nil
	}
	var opened []string
	for _, q := range r.Requires {
		_, decided := s.chosen[q.App]
		_, waiting := s.open[q.App]
		if !decided && !waiting {
			s.open[q.App] = s.extend(q.App)
			opened = append(opened, q.App)
		}
	}
	return opened
}

// fits says whether a release goes with all that was chosen before it.
func (s *search) fits(r *outlined) bool {
	for _, other := range s.chosen {
		for _, q := range other.Requires {
			if q.App == r.App && other.App != r.App && !s.catalogue.matches(q.Versions, r.at) {
				return false
			}
		}
	}
	return s.provided(r) && (s.cycles || cycle(s.chosen, r) == nil)
}

// provided says whether all that a release needs is there in a fitting version, or may still come.
func (s *search) provided(r *outlined) bool {
	for _, q := range r.Requires {
		have, decided := s.chosen[q.App]
		candidates, waiting := s.open[q.App]
		switch {
		case q.App == r.App:
			if !s.cycles {
				return false
			}
		case decided:
			if !s.catalogue.matches(q.Versions, have.at) {
				return false
			}
		case waiting:
			if !slices.ContainsFunc(candidates, func(c *outlined) bool { return s.catalogue.matches(q.Versions, c.at) }) {
				return false
			}
		case s.extend == nil:
			return false
		}
	}
	return true
}

// cycle returns the way from a release back to its own app, along what the chosen ones need; nil where there is none.
func cycle(chosen map[string]*outlined, from *outlined) []string {
	seen := map[string]bool{}
	var walk func(r *outlined, way []string) []string
	walk = func(r *outlined, way []string) []string {
		for _, q := range sortedRequirements(r) {
			if q.App == from.App {
				return append(slices.Clip(way), q.App)
			}
			next, ok := chosen[q.App]
			if !ok || seen[q.App] {
				continue
			}
			seen[q.App] = true
			if found := walk(next, append(slices.Clip(way), q.App)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk(from, []string{from.App})
}

func sortedRequirements(r *outlined) []Requirement {
	return slices.SortedFunc(slices.Values(r.Requires), func(a, b Requirement) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Versions, b.Versions))
	})
}
