package config

import (
	"slices"
	"strings"
)

// strangers tells of environment variables that look like settings and are none. They are not refused: other programs
// of Berth have theirs, and Kubernetes puts variables of such names into every pod beside a service named berth.
func (s Sources) strangers() []string {
	known := byEnv()
	var out []string
	for _, pair := range s.Environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, ok := known[name]; ok || !strings.HasPrefix(name, envPrefix) || others(name) {
			continue
		}
		if cure := nearest(strings.ToLower(strings.TrimPrefix(name, envPrefix))); cure != "" {
			out = append(out, name+" is no setting; "+cure)
		}
	}
	slices.Sort(out)
	return out
}

func others(name string) bool {
	for _, prefix := range []string{"BERTH_INGRESS_", "BERTH_RELAY_", "BERTH_AGENT_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"BERTH_CONFIG", "BERTH_URL", "BERTH_TOKEN"}, name)
}

// nearest suggests the setting that a mistyped name is closest to; empty where none is close.
func nearest(key string) string {
	best, least := "", 3
	for _, s := range settings() {
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
