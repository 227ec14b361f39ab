package settings

import (
	"slices"
	"strings"
)

// strangers tells of environment variables that look like settings and are none. They are not refused: other programs
// of Berth have theirs, and Kubernetes puts variables of such names into every pod beside a service named berth.
func (r reader) strangers() []string {
	known := r.byEnv()
	var out []string
	for _, pair := range r.Environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, ok := known[name]; ok || !strings.HasPrefix(name, r.prefix) || r.foreign(name) {
			continue
		}
		if cure := r.nearest(strings.ToLower(strings.TrimPrefix(name, r.prefix))); cure != "" {
			out = append(out, name+" is no setting; "+cure)
		}
	}
	slices.Sort(out)
	return out
}

// foreign says whether a variable is known to belong to somebody else.
func (r reader) foreign(name string) bool {
	return name == r.prefix+"CONFIG" || slices.ContainsFunc(r.others, func(other string) bool {
		return name == other || strings.HasSuffix(other, "_") && strings.HasPrefix(name, other)
	})
}

// nearest suggests the setting that a mistyped name is closest to; empty where none is close.
func (r reader) nearest(key string) string {
	best, least := "", 3
	for _, s := range r.fields {
		if d := distance(key, s.key); d < least {
			best, least = s.key, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is how many letters have to be put in, taken out or replaced (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
